package live

import (
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/vfs"
)

// TextfileEvery is the time between two writes of a file of metrics; node_exporter reads its own at every scrape.
const TextfileEvery = 10 * time.Second

// Textfile keeps the metrics of a run in a file for the textfile collector of Prometheus' node_exporter, which reads
// *.prom. The file is replaced in one step, so that a reader never sees half of it.
// It is written before Textfile returns: a name that cannot be written is an error at once. Later ones that fail are made
// up for by the next. end writes it for the last time.
func Textfile(fsys vfs.FS, name string, every time.Duration, state func() *State) (end func() error, err error) {
	write := func() error {
		return durable.Replace(fsys, name, name+vfs.PartialSuffix, durable.Bytes(Metrics([]*State{state()})))
	}
	if err := write(); err != nil {
		return nil, err
	}
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				_ = write() // the next one, or end, says more
			}
		}
	})
	return func() error {
		close(stop)
		done.Wait()
		return write()
	}, nil
}
