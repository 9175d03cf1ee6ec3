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
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
)

func main() {
	log.SetOutput(io.Discard) // net/http writes to it what a server sends unasked
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	go func() {
		<-signals
		a.say("gdsvd: interrupted, cleaning up (once more to stop at once)")
		cancel()
		<-signals
		os.Exit(ui.ExitInterrupted)
	}()
	os.Exit(a.run(ctx, os.Args[1:]))
}
