// Package eigen finds the eigenvalues and eigenvectors of the small symmetric matrices to which the block methods of package
// solver project an operator, of some tens to hundreds of rows.
//
// The matrix is reduced to a tridiagonal one by Householder reflections, which is diagonalised by the implicit QL and QR
// algorithms (Golub, Van Loan, Matrix Computations, §8.3; Dubrulle, Martin, Wilkinson 1968, "The implicit QL algorithm").
// Both use the kernels of package panel: a reflection is a product of panels of one and two columns, and the rotations of a
// whole sweep are applied to neighbouring rows of the eigenvectors, which are stored in rows.
//
// Errors are of the size of the rounding errors of the largest entry, whatever the scale of the other entries. The bits do
// not depend on the set of kernels.
package eigen
