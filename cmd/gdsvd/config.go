package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// maxConfig is the size in bytes up to which a configuration file is read.
const maxConfig = 1 << 20

// readConfig sets the flags that the file of --config names and the command
// line does not. One file may serve several commands: a key that only another
// command knows is passed over, a key that none knows is refused.
func (a *app) readConfig(cmd *cobra.Command) error {
	a.fromConfig = map[string]bool{}
	if a.configFile == "" {
		if cmd.Flags().Changed("config") {
			return ui.Usagef(cmd, "--config: the name of the FILE is empty")
		}
		return nil
	}
	data, err := vfs.ReadFile(a.fsys, a.configFile, maxConfig)
	if err != nil {
		return ui.Usagef(cmd, "read configuration: %w", err)
	}
	values, err := parseConfig(data)
	if err != nil {
		return ui.Usagef(cmd, "read configuration %s: %w", a.configFile, err)
	}
	known := map[string]bool{}
	allFlags(cmd.Root(), known)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !known[key] || key == "config" || key == "help" {
			return ui.Usagef(cmd, "read configuration %s: unknown key %q: keys are the long names of flags", a.configFile, key)
		}
		flag := cmd.Flags().Lookup(key)
		if flag == nil || flag.Changed {
			continue
		}
		if err := cmd.Flags().Set(key, values[key]); err != nil {
			return ui.Usagef(cmd, "read configuration %s: %w", a.configFile, err)
		}
		a.fromConfig[key] = true
	}
	return nil
}

// allFlags collects the names of the flags of a command and of those below it.
func allFlags(cmd *cobra.Command, names map[string]bool) {
	add := func(f *pflag.Flag) { names[f.Name] = true }
	cmd.LocalFlags().VisitAll(add)
	for _, c := range cmd.Commands() {
		if c.Name() != "completion" && c.Name() != "help" {
			allFlags(c, names)
		}
	}
}

// parseConfig reads a JSON object of texts, numbers, truth values and lists of them as the values of flags.
func parseConfig(data []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // a number reaches its flag as it was written
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return nil, fmt.Errorf("want one JSON object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("want one JSON object and nothing after it")
	}
	values := map[string]string{}
	for key, v := range object {
		text, err := flagText(v)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		values[key] = text
	}
	return values, nil
}

func flagText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number, bool:
		return fmt.Sprint(v), nil
	case []any:
		var parts []string
		for _, e := range v {
			part, err := flagText(e)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ","), nil
	default:
		return "", errors.New("want a text, a number, true, false or a list of them")
	}
}
