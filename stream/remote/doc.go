// Package remote makes the passes over a matrix by tasks, which an engine runs wherever it likes: goroutines ([Local]),
// programs at the other end of a pipe ([Command]), and through them Dask or Ray.
//
// [Matrix] is a [solver.Matrix]. It cuts the blocks of a store into groups of about as many entries, and each pass is a
// [Task] a group: a record of names and no numbers. Numbers are in pieces, files of one folder that the driver and all
// workers see under the same path, or objects of a bucket of S3. Reads for the statistics of a view are tasks, too ([Matrix.Measure]),
// and so are the sweeps that make left vectors ([Left]). A [Worker] makes the pieces of a task from those that the task names and from the store.
//
// # Same bits
//
// What a group adds up is a function of the group (package stream), and sums of groups are formed in the order of the
// groups. So results depend on the matrix and the number of groups alone: not on the engine, the number of workers, or
// tasks that were done twice. The number of groups is a part of solver.Info.ID. Workers with instructions that round
// differently are refused: see [Answer].
//
// # Pieces
//
// A piece is some float64s, little endian, and a trailer of 16 bytes: "gdsvdpc1", the CRC-32C of the name of its run, "/",
// its own name and the numbers, as 4 bytes little endian, and 4 zero bytes. It is written under a name of its own and renamed:
// it is whole, or not there. Every run has a folder with a random name, so that nothing that an earlier run has left
// is taken for a piece of this one, and every pass has names of its own.
// Pieces last as long as the pass, and are not synced to the disk: what a crash leaves of one is not taken for it.
//
// # Faults
//
// An engine is not believed. After every stage all pieces must be there with the right size, and each reader of one checks its
// CRC-32C. A task of which pieces are missing is given to the engine again, some times, and so is one whose piece turns out
// to be damaged. An error that no other worker would mend, such as a damaged shard, ends the run at once (Answer.Kind).
package remote
