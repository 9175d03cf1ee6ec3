// Package solvertest holds what any method.Method must pass: a suite of
// matrices that break solvers (Run), matrices with exactly known singular
// values, an in-memory solver.Matrix that counts its passes and can be made to
// fail (Dense), and an independent check of a result (Check).
package solvertest
