package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/escape"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/stream/view"
)

// sniffCommand returns gdsvd sniff, which is ingest --dry-run.
func (a *app) sniffCommand() *cobra.Command {
	cmd := a.ingestCommand()
	cmd.Use, cmd.Short = "sniff INPUT...", "Say what an input is and how ingest would read it"
	cmd.Long = `sniff reads the beginning of each INPUT, a file, a URL, a quoted pattern or - for standard
input, and prints the format, the compression, the role of every column and why, the first entries, the time
and space of an ingest (estimated from the sample), warnings, and the ingest command with
all recognised choices explicit. It writes nothing.

It takes the flags of ingest that are listed below. An input that can be read in several ways
is refused with exit code 2, the readings and the flag for each.` + "\n" + ui.ExitHelp
	cmd.Example = `  gdsvd sniff ratings.csv.gz
  zcat events.gz | gdsvd sniff - --value count --json`
	dryOnly(cmd)
	return cmd
}

// dryOnly turns a command made by ingestLike into one that writes nothing.
func dryOnly(cmd *cobra.Command) {
	f := cmd.Flags()
	dry := f.Lookup("dry-run")
	dry.DefValue = "true"
	_ = dry.Value.Set("true") // a bool: cannot fail
	for _, name := range []string{"dry-run", "force", "resume", "checkpoint-every", "ignore-space"} {
		f.Lookup(name).Hidden = true
	}
}

type sniffResult struct {
	*ingest.Description
	Command []string `json:"command"` // the gdsvd ingest command with these flags
}

func (a *app) sniff(cmd *cobra.Command, inputs []string, out string, o ingest.Options) error {
	o.FS, o.Stdin, o.Transport, o.Log = a.fsys, a.stdin, a.net, a.display.Logger()
	d, err := ingest.Sniff(cmd.Context(), inputs, o)
	if ambiguity := (*format.AmbiguityError)(nil); errors.As(err, &ambiguity) {
		err = toldIngest(cmd, err)
		command := escape.Command(explicitCommand(a.ingestCommand(), cmd.Flags(), inputs, out, nil)...)
		printed := a.print(sniffReadings{failure{ui.Message(err), ui.ExitUsage}, ambiguity.Readings}, nil, func(out *show.Printer) {
			for _, r := range ambiguity.Readings {
				out.Printf("reading\t%s\n\t%s %s\n", r.Text, command, r.Flag)
			}
		})
		return errors.Join(printed, err)
	}
	if err != nil {
		return toldIngest(cmd, err)
	}
	full := &ingest.SpaceError{Dir: filepath.Dir(out), Spool: d.Spool, Store: d.Store}
	if full.Free, err = a.fsys.FreeSpace(full.Dir); err == nil && d.Spool+d.Store > full.Free { // a failure to get the free space is left to ingest
		d.Warnings = append(d.Warnings, full.Error())
	}
	r := sniffResult{d, explicitCommand(a.ingestCommand(), cmd.Flags(), inputs, out, d.Flags)}
	return a.print(r, nil, func(out *show.Printer) { printSniffed(out, r, o.Memory) })
}

// sniffReadings is printed under --json for an ambiguous input: the fields of a failure, and the flag for each reading.
type sniffReadings struct {
	failure
	Readings []format.Reading `json:"readings"` // the ways in which the input can be read
}

// storeName returns out, or a name derived from the first input if out is "".
func storeName(out string, inputs []string) string {
	if out != "" {
		return out
	}
	if name := filepath.Base(ingest.DisplayName(inputs[0])); inputs[0] != "-" && !strings.ContainsAny(name, "*?[") {
		name, _, _ = strings.Cut(name, ".")
		if strings.HasPrefix(name, "-") {
			name = "./" + name // else it would be read as a flag
		}
		return name + ".csr"
	}
	return "ratings.csr"
}

// explicitCommand returns the ingest command with the given flags and those that state what has been recognised.
func explicitCommand(ingest *cobra.Command, given *pflag.FlagSet, inputs []string, out string, flags []format.Flag) []string {
	command := []string{"gdsvd", "ingest"}
	for _, in := range inputs {
		command = append(command, unsigned(in))
	}
	command = append(command, "-o", storeName(out, inputs))
	for _, f := range flags {
		command = append(command, "--"+f.Name, f.Value)
	}
	return append(command, givenFlags(ingest, given, func(name string) bool {
		return name == "dry-run" || slices.ContainsFunc(flags, func(said format.Flag) bool { return said.Name == name })
	})...)
}

// givenFlags returns the given flags of a command, except --out, the secret --token and those for which not is true.
func givenFlags(of *cobra.Command, given *pflag.FlagSet, not func(name string) bool) (flags []string) {
	given.Visit(func(f *pflag.Flag) {
		if f.Name == "out" || f.Name == "token" || of.Flags().Lookup(f.Name) == nil || not(f.Name) {
			return
		}
		value := strings.ReplaceAll(f.Value.String(), "\t", `\t`)
		if text := f.Value.String(); f.Name == "view" && strings.ContainsAny(text, "\n\t") && !strings.HasPrefix(text, "@") {
			steps, _ := view.Parse(text) // no error: the command has parsed it
			value = steps.String()       // a command in a message is a single line
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		flags = append(flags, "--"+f.Name+"="+unsigned(value))
	})
	return flags
}

// unsigned returns a word of a command. A URL is returned without the parts that may be secret.
func unsigned(word string) string {
	if word == "-" {
		return word
	}
	word, _, _ = strings.Cut(word, ";token=") // in the address of Spark Connect
	return ingest.DisplayName(word)
}

const shownInputs = 8

func printSniffed(w *show.Printer, r sniffResult, budget int64) {
	for i, in := range r.Inputs {
		if i == shownInputs {
			w.Printf("\tand %s\n", show.Plural(r.Of-shownInputs, "more input"))
			break
		}
		printInput(w, in, i > 0 && slices.Equal(in.Columns, r.Inputs[i-1].Columns))
	}
	for i, t := range r.First {
		w.Printf("%s\t%s\t%s\t%s\n", first(i == 0, "entries"), t.Row, t.Col, strconv.FormatFloat(t.Value, 'g', -1, 64))
	}
	printEstimate(w, r, budget)
	for _, text := range r.Warnings {
		w.Printf("warning\t%s\n", text)
	}
	w.Printf("\n%s\n", escape.Command(r.Command...))
}

func printInput(w *show.Printer, in ingest.InputDescription, sameColumns bool) {
	line := []string{in.Name}
	if in.Bytes >= 0 {
		line = append(line, memory.FormatSize(in.Bytes))
	}
	if in.Compression != "" {
		line = append(line, "compressed by "+in.Compression)
	}
	w.Printf("input\t%s\n", strings.Join(line, ", "))
	line = []string{in.Format}
	if in.Separator != "" {
		line = append(line, "fields separated by "+in.Separator)
	}
	switch in.Header {
	case "yes":
		line = append(line, "with a header")
	case "no":
		line = append(line, "without a header")
	}
	w.Printf("format\t%s\n", strings.Join(line, ", "))
	for i, c := range in.Columns {
		if !sameColumns {
			w.Printf("%s\t%s\t%s\t%s\n", first(i == 0, "columns"), c.Name, c.Role, c.Why)
		}
	}
	for _, note := range in.Notes {
		w.Printf("note\t%s\n", note)
	}
}

func printEstimate(w *show.Printer, r sniffResult, budget int64) {
	if r.ShapeKnown {
		w.Printf("shape\t%d × %d\n", r.Rows, r.Cols)
	} else if r.Rows > 0 {
		w.Printf("shape\tat least %d × %d\n", r.Rows, r.Cols)
	}
	if r.Entries == 0 {
		return
	}
	about := "about "
	if r.Exact {
		about = ""
	}
	w.Printf("number\t%s%d entries, from a sample of %d\n", about, r.Entries, r.Sampled)
	w.Printf("memory\tabout %s, of --memory %s\n", memory.FormatSize(min(r.Memory, budget)), memory.FormatSize(budget))
	w.Printf("disk\tabout %s for the store, %s for temporary files\n", memory.FormatSize(max(r.Store, 1<<10)), memory.FormatSize(r.Spool))
	if r.Seconds < 1 {
		w.Printf("time\tless than a second\n")
		return
	}
	w.Printf("time\tabout %s, at the speed of the sample\n", show.Clock(r.Seconds))
}

// first returns s if wanted, else "".
func first(wanted bool, s string) string {
	if wanted {
		return s
	}
	return ""
}
