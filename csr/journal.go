package csr

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

const (
	journalName    = "UNFINISHED.json"
	journalTmp     = journalName + ".tmp"
	journalFormat  = "gdsvd-unfinished"
	journalVersion = 1
	// maxJournal bounds what is loaded into memory.
	maxJournal = maxTruth + 16<<20
)

// journal mirrors UNFINISHED.json (FORMAT.md): how far a store that is being
// written has come. What it does not say of the shards they say themselves.
type journal struct {
	Format  string `json:"format"`
	Version int    `json:"version"`

	// What must be the same for another writer to go on.
	Cols       int64                      `json:"cols"`
	Transposed bool                       `json:"transposed"`
	Values     Values                     `json:"values"`
	ShardSize  int64                      `json:"shard_size"`
	Source     map[string]json.RawMessage `json:"source"`

	Shards  int64    `json:"shards"` // that are finished
	Rows    int64    `json:"rows"`   // in these
	NNZ     int64    `json:"nnz"`
	Footers crc.Sum  `json:"footers"`     // crc of the crcs of their footers
	Squares sumState `json:"sum_squares"` // up to their end
	Truth   *Truth   `json:"truth"`

	CRC crc.Sum `json:"crc"`
}

// sumState is the state of squares, to go on with.
type sumState struct {
	Sum          float64 `json:"sum"`
	Compensation float64 `json:"compensation"`
	Exponent     int     `json:"exponent,omitempty"`
}

// newJournal is the journal of a store with the options, before its first shard.
func newJournal(o *CreateOptions) (*journal, error) {
	j := &journal{
		Format: journalFormat, Version: journalVersion,
		Cols: o.Cols, Transposed: o.Transposed, Values: o.Values, ShardSize: o.ShardSize,
	}
	b, err := json.Marshal(o.Source)
	if err != nil {
		return nil, err
	}
	return j, json.Unmarshal(b, &j.Source)
}

// completeJournal is what the journal of a complete store was like at first.
// The wished size of its shards cannot be told from it.
func completeJournal(fsys vfs.FS, dir string, shardSize int64) (*journal, error) {
	b, err := vfs.ReadFile(fsys, filepath.Join(dir, manifestName), maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(dir, b)
	if err != nil {
		return nil, err
	}
	j := &journal{Cols: m.Cols, Transposed: m.Transposed, Values: m.Values, ShardSize: shardSize}
	return j, json.Unmarshal(b, &struct {
		Source *map[string]json.RawMessage `json:"source"` // digit by digit
	}{&j.Source})
}

// matches tells why a store of other options cannot be gone on with.
func (j *journal) matches(o *journal) error {
	had, has := j.parameters(), o.parameters()
	sources := slices.Collect(maps.Keys(j.Source))
	sources = slices.AppendSeq(sources, maps.Keys(o.Source))
	slices.Sort(sources)
	// What the store is made from comes before what follows from it.
	for _, name := range slices.Concat(sources, parameters) {
		if had[name] != has[name] {
			return fmt.Errorf("it had %.60s %.200s, this one has %.200s", name, cmp.Or(had[name], "none"), cmp.Or(has[name], "none"))
		}
	}
	return nil
}

var parameters = []string{"shard size", "number of columns", "transposition", "value coding"}

// parameters are what a store's bytes depend on, besides the code that makes
// its rows: those above and the source's.
func (j *journal) parameters() map[string]string {
	p := make(map[string]string)
	for key, v := range j.Source {
		var b bytes.Buffer
		_ = json.Compact(&b, v) // it has been parsed
		p[key] = b.String()
	}
	for i, v := range []any{j.ShardSize, j.Cols, j.Transposed, j.Values} {
		p[parameters[i]] = fmt.Sprint(v)
	}
	return p
}

// validate checks that the fields agree with each other and with the limits.
func (j *journal) validate() error {
	switch {
	case j.Cols < 0 || j.Cols > MaxCols || j.Rows < 0 || j.Rows > MaxRows:
		return fmt.Errorf("impossible shape %d × %d", j.Rows, j.Cols)
	case j.NNZ < 0 || tooMany(j.NNZ, j.Rows, j.Cols):
		return fmt.Errorf("impossible nnz %d for %d × %d", j.NNZ, j.Rows, j.Cols)
	case j.Shards < 1 || j.Shards > j.Rows || j.ShardSize < 1:
		return fmt.Errorf("impossible shards: %d for %d rows", j.Shards, j.Rows)
	case !finite(j.Squares.Sum) || !finite(j.Squares.Compensation):
		return errors.New("impossible sum of squares")
	case levelOf(j.Squares.Exponent) < 0:
		return fmt.Errorf("impossible exponent %d of the sum of squares", j.Squares.Exponent)
	case j.Truth != nil && j.Truth.Fingerprint != "":
		return errors.New("the truth is about another matrix")
	}
	if j.Truth != nil {
		if err := j.Truth.validate(); err != nil {
			return err
		}
	}
	return j.Values.validate()
}

var errJournal = errors.New("its journal is damaged")

// decodeJournal parses and checks a journal on its own, without the shards.
func decodeJournal(b []byte) (*journal, error) {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := checkSeal(b); err != nil {
		return nil, fmt.Errorf("%w: %w", errJournal, err)
	}
	if err := json.Unmarshal(b, &head); err != nil || head.Format != journalFormat {
		return nil, fmt.Errorf("%w: not of an unfinished store", errJournal)
	}
	if head.Version != journalVersion {
		return nil, fmt.Errorf("its journal has version %d, this program knows %d", head.Version, journalVersion)
	}
	j := new(journal)
	if err := decodeStrictly(b, j); err != nil {
		return nil, fmt.Errorf("%w: %w", errJournal, err)
	}
	return j, nil
}

func readJournal(fsys vfs.FS, dir string) (*journal, error) {
	b, err := vfs.ReadFile(fsys, filepath.Join(dir, journalName), maxJournal)
	if err != nil {
		return nil, err
	}
	return decodeJournal(b)
}

// write replaces the journal in dir; its name is not durable yet.
func (j *journal) write(fsys vfs.FS, dir string) error {
	b, err := durable.Seal(j, &j.CRC)
	if err != nil {
		return err
	}
	return writing(durable.Replace(fsys, filepath.Join(dir, journalName), filepath.Join(dir, journalTmp), durable.Bytes(b)))
}
