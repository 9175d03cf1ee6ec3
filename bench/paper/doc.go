// Package paper reruns the experiments of "k-SVD with Gradient Descent" with the
// solvers of this project, and reports the paper's numbers beside ours.
//
// [Run] is one run: a list of cases, each one solve or a few, whose records go
// to a journal as they are finished. A run that is interrupted goes on from its
// journal. At its end, whichever it is, the records become tables (CSV), figures
// (SVG and PNG), paper.json, and report.md, which explains all of it.
//
// The counts of a report depend on the scale and the seed alone and are the same
// on every machine of one architecture; the seconds are those of the machine.
package paper
