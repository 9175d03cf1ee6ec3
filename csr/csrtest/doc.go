// Package csrtest helps to test what reads or writes stores: it builds small
// stores, and wraps a file system so that any single operation can be made to
// fail.
package csrtest
