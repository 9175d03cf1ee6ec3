package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/vfs"
)

// maxConfig is the size in bytes up to which a configuration file is read.
const maxConfig = 1 << 20

// Standing are the flags that are not given but set, by name, and where: by a variable of the environment or a file.
type Standing map[string]standing

type standing struct {
	flag   *pflag.Flag
	source string
}

// ReadEnvironment sets the flags that are not given and have a variable. An empty variable is none.
func (s Standing) ReadEnvironment(cmd *cobra.Command) error {
	var wrong error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		variable := Variable(f.Name)
		value := os.Getenv(variable)
		if value == "" || f.Changed || !Settable(f) || wrong != nil {
			return
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			wrong = FlagError(cmd, fmt.Errorf("%s: %w", variable, err))
			return
		}
		s[f.Name] = standing{f, variable}
	})
	return wrong
}

// ReadConfig sets the flags that the file of --config names and neither the command
// line nor the environment does. One file may serve several commands: a key that only another
// command knows is passed over, a key that none knows is refused.
func (s Standing) ReadConfig(cmd *cobra.Command, fsys vfs.FS, file string) error {
	if file == "" {
		if cmd.Flags().Changed("config") {
			return Usagef(cmd, "--config: the name of the FILE is empty")
		}
		return nil
	}
	data, err := vfs.ReadFile(fsys, file, maxConfig)
	if err != nil {
		return Usagef(cmd, "read configuration: %w", err)
	}
	values, err := parseConfig(data)
	if err != nil {
		return Usagef(cmd, "read configuration %s: %w", file, err)
	}
	known := Flags(cmd.Root())
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if known[key] == nil || key == "config" {
			return Usagef(cmd, "read configuration %s: unknown key %q: keys are the long names of flags", file, key)
		}
		flag := cmd.Flags().Lookup(key)
		if flag == nil || flag.Changed {
			continue
		}
		if err := cmd.Flags().Set(key, values[key]); err != nil {
			return FlagError(cmd, fmt.Errorf("read configuration %s: %w", file, err))
		}
		s[key] = standing{flag, "configuration " + file}
	}
	return nil
}

// Whose says where the flags that a message names have been set, if not on the command line.
func (s Standing) Whose(message string) string {
	var told string
	words := strings.FieldsFunc(message, func(r rune) bool { return strings.ContainsRune(" :;,()\"", r) })
	for _, name := range slices.Sorted(maps.Keys(s)) {
		f := s[name]
		if slices.Contains(words, "--"+name) || f.flag.Shorthand != "" && slices.Contains(words, "-"+f.flag.Shorthand) {
			told += fmt.Sprintf("; --%s is set by %s", name, f.source)
		}
	}
	return told
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
