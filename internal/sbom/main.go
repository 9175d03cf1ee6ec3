// Command sbom writes the bill of materials of a Go program: the modules that its build
// information names, as CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/).
//
//	go run ./internal/sbom PROGRAM FILE
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

type document struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component  component  `json:"component"`
	Properties []property `json:"properties"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	URL        string     `json:"purl"` // https://github.com/package-url/purl-spec
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

func write(program, file string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	main := module("application", &info.Main)
	main.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	d := document{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{Component: main}, Components: []component{}}
	for _, s := range info.Settings {
		d.Metadata.Properties = append(d.Metadata.Properties, property{"gdsvd:build:" + s.Key, s.Value})
	}
	needs := dependency{main.Ref, []string{}}
	add := func(c component) {
		d.Components = append(d.Components, c)
		needs.DependsOn = append(needs.DependsOn, c.Ref)
	}
	add(module("library", &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}))
	for _, m := range info.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		add(module("library", m))
	}
	d.Dependencies = []dependency{needs}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o666)
}

func module(kind string, m *debug.Module) component {
	url := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	c := component{Type: kind, Ref: url, Name: m.Path, Version: m.Version, URL: url}
	if m.Sum != "" {
		c.Properties = []property{{"gdsvd:go.sum", m.Sum}}
	}
	return c
}
