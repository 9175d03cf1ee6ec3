package ui

import (
	"context"
	"errors"
	"fmt"

	"github.com/gdsvd/gdsvd/csr"
)

// Unfinished says what to do about an interrupted store or ingest in the words of the command line.
func Unfinished(err error) error {
	var (
		unfinished *csr.UnfinishedError
		resume     *csr.ResumeError
	)
	switch {
	case errors.As(err, &resume):
		return fmt.Errorf("%s cannot be resumed: %w (--force begins anew)", resume.Dir, resume.Err)
	case !errors.As(err, &unfinished):
		return err
	case unfinished.Err == nil:
		return fmt.Errorf("%s holds an unfinished %s: --resume goes on from it, --force begins anew", unfinished.Dir, unfinished.What)
	case errors.Is(err, context.Canceled):
		return Outcome(err, "interrupted; %s holds what is done: --resume goes on from there", unfinished.Dir)
	}
	return fmt.Errorf("%w; %s holds what is done: --resume goes on from there", unfinished.Err, unfinished.Dir)
}
