// Package solvertest holds what tests of solvers and of matrices share: matrices that
// break solvers (Cases), matrices with exactly known singular values, an in-memory
// solver.Matrix that counts its passes and can be made to fail (Dense), and independent
// checks of a result (Check), of a solver.Matrix (CheckMatrix) and of resuming
// (CheckResume). The suite that every method must pass is in suite_test.go of solver.
package solvertest
