// Package ingest measures how a text of ratings larger than any memory is ingested. Its test makes the text, ingests it
// under a memory limit that the kernel enforces, kills the process midway, and resumes it:
//
//	go test ./bench/ingest -timeout 0 -v -size 20GB -memory 512MiB -limit 640MiB -dir /var/tmp/ingest -out results/20gb
//
// The text is in the format of MovieLens 10M and of its statistics, in many files: 10 million ratings (gdsvd generate ratings) over and
// over, with the users of eight countries and the films of one year after the other. So every user comes up again in each year, ids are
// far more than in one part, no pair of user and film is there twice, and runs of entries overlap: they have to be merged.
//
// With -again the text is ingested once more without a break, and the two stores are compared byte by byte. It writes NAME.json and NAME.md.
package ingest
