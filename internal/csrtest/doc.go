// Package csrtest builds small stores for tests.
package csrtest
