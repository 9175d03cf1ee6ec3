package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
)

// nothingToResume says that what is there already is what was asked for.
func (a *app) nothingToResume(what, path string) {
	a.display.Logger().Info("the "+what+" is finished: there is nothing to resume", what, path)
}

// cannotResume says in the words of the command line that what dir holds of an
// interrupted run cannot be gone on with.
func cannotResume(dir string, why error) error {
	return fmt.Errorf("%s cannot be resumed: %w (--force begins anew)", dir, why)
}

// leftUnfinished says that dir holds what is done of a store or an ingest: from
// before, if why is nil, else of the run that why has ended. err is all that is known.
func leftUnfinished(what, dir string, why, err error) error {
	switch {
	case why == nil:
		return fmt.Errorf("%s holds an unfinished %s: --resume goes on from it, --force begins anew", dir, what)
	case errors.Is(err, context.Canceled):
		return ui.Outcome(err, "interrupted; %s holds what is done: --resume goes on from there", dir)
	}
	return fmt.Errorf("%w; %s holds what is done: --resume goes on from there", why, dir)
}
