// Command gdsvd computes the k leading singular triplets of a sparse matrix
// that may be far larger than memory, with a certificate of their accuracy.
//
//	gdsvd ingest ratings.dat -o ratings.csr
//	gdsvd svd ratings.csr -k 10 -o ratings.svd
//
// gdsvd -h lists all commands, gdsvd COMMAND -h shows an example of each.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		fmt.Fprintln(os.Stderr, "gdsvd: interrupted, cleaning up (once more to stop at once)")
		cancel()
		<-signals
		os.Exit(exitInterrupted)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program but for signals and the end of the process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newApp(stdin, stdout, stderr).run(ctx, args)
}
