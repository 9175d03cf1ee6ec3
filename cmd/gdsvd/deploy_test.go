//go:build alltests

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/must"
)

const deploy = "../../docs/deploy"

// These types have the fields that docs/deploy/*.yaml uses (kubernetes.io/docs/reference/kubernetes-api).
// Other fields are refused.
type (
	kubeObject struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name string }
		Spec       struct {
			AccessModes []string `yaml:"accessModes"`
			Resources   resources
			kubeJob     `yaml:",inline"`

			Schedule                string
			ConcurrencyPolicy       string                 `yaml:"concurrencyPolicy"`
			StartingDeadlineSeconds int                    `yaml:"startingDeadlineSeconds"`
			SuccessfulHistory       int                    `yaml:"successfulJobsHistoryLimit"`
			FailedHistory           int                    `yaml:"failedJobsHistoryLimit"`
			JobTemplate             struct{ Spec kubeJob } `yaml:"jobTemplate"`
		}
	}
	resources struct{ Requests, Limits map[string]string }
	kubeJob   struct {
		BackoffLimit     int `yaml:"backoffLimit"`
		PodFailurePolicy struct {
			Rules []struct {
				Action          string
				OnPodConditions []struct{ Type string } `yaml:"onPodConditions"`
				OnExitCodes     struct {
					Operator string
					Values   []int
				} `yaml:"onExitCodes"`
			}
		} `yaml:"podFailurePolicy"`
		Template struct{ Spec kubePod }
	}
	kubePod struct {
		RestartPolicy   string `yaml:"restartPolicy"`
		Token           *bool  `yaml:"automountServiceAccountToken"`
		ServiceLinks    *bool  `yaml:"enableServiceLinks"`
		Grace           int    `yaml:"terminationGracePeriodSeconds"`
		SecurityContext struct {
			NonRoot bool                  `yaml:"runAsNonRoot"`
			User    int                   `yaml:"runAsUser"`
			Group   int                   `yaml:"runAsGroup"`
			FSGroup int                   `yaml:"fsGroup"`
			Seccomp struct{ Type string } `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
		Init       []container `yaml:"initContainers"`
		Containers []container
		Volumes    []struct {
			Name  string
			Claim struct {
				Name string `yaml:"claimName"`
			} `yaml:"persistentVolumeClaim"`
		}
	}
	container struct {
		Name, Image string
		Args        []string
		Env         []struct {
			Name, Value string
			From        struct {
				Field struct {
					ContainerName string `yaml:"containerName"`
					Resource      string
				} `yaml:"resourceFieldRef"`
			} `yaml:"valueFrom"`
		}
		Resources resources
		Security  struct {
			Escalation   *bool                   `yaml:"allowPrivilegeEscalation"`
			ReadOnly     bool                    `yaml:"readOnlyRootFilesystem"`
			Capabilities struct{ Drop []string } `yaml:"capabilities"`
		} `yaml:"securityContext"`
		Mounts []struct {
			Name string
			Path string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
)

// commandLine parses a command line and an environment as the program does, without running it.
func commandLine(t *testing.T, where string, args []string, env map[string]string) {
	t.Helper()
	root := newApp(nil, nil, nil).rootCommand()
	strictly(root)
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.Runnable() || !cmd.HasParent() {
		t.Fatalf("%s: gdsvd %q: %v", where, args, err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Fatalf("%s: gdsvd %q: %v", where, args, err)
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		t.Errorf("%s: gdsvd %q: %v", where, args, err)
	}
	for name, value := range env {
		found := false
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if found = found || ui.Variable(f.Name) == name; ui.Variable(f.Name) == name {
				if err := f.Value.Set(value); err != nil {
					t.Errorf("%s: %s=%s: %v", where, name, value, err)
				}
			}
		})
		if !found && strings.HasPrefix(name, "GDSVD_") {
			t.Errorf("%s: %s is no variable of a flag of %s", where, name, cmd.CommandPath())
		}
	}
}

func TestDeployKubernetes(t *testing.T) {
	jobs := 0
	for _, name := range []string{"job.yaml", "cronjob.yaml"} {
		data := must.Get(os.ReadFile(filepath.Join(deploy, name)))(t)
		d := yaml.NewDecoder(bytes.NewReader(data))
		d.KnownFields(true)
		for {
			var o kubeObject
			if err := d.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			job := o.Spec.kubeJob
			switch o.APIVersion + " " + o.Kind {
			case "v1 PersistentVolumeClaim":
				if len(o.Spec.AccessModes) != 1 || o.Spec.Resources.Requests["storage"] == "" || o.Metadata.Name != "gdsvd" {
					t.Errorf("%s: %+v", name, o)
				}
				continue
			case "batch/v1 Job":
			case "batch/v1 CronJob":
				job = o.Spec.JobTemplate.Spec
				if len(strings.Fields(o.Spec.Schedule)) != 5 || o.Spec.ConcurrencyPolicy != "Forbid" {
					t.Errorf("%s: schedule %q", name, o.Spec.Schedule)
				}
			default:
				t.Errorf("%s: %s %s", name, o.APIVersion, o.Kind)
			}
			jobs++
			checkJob(t, name, job)
		}
	}
	if jobs != 2 {
		t.Errorf("%d jobs", jobs)
	}
}

func checkJob(t *testing.T, name string, job kubeJob) {
	pod := job.Template.Spec
	// A pod failure policy requires restartPolicy Never. The next pod resumes from the volume.
	if pod.RestartPolicy != "Never" || job.BackoffLimit < 1 || pod.ServiceLinks == nil || *pod.ServiceLinks || pod.Token == nil || *pod.Token ||
		!pod.SecurityContext.NonRoot || pod.SecurityContext.User < 1 || pod.SecurityContext.FSGroup < 1 {
		t.Errorf("%s: %+v", name, pod)
	}
	var final []int
	for _, r := range job.PodFailurePolicy.Rules {
		if r.Action == "FailJob" && r.OnExitCodes.Operator == "In" {
			final = r.OnExitCodes.Values
		}
	}
	if !slices.Equal(final, []int{ui.ExitUsage, ui.ExitCorrupt, ui.ExitNotConverged}) {
		t.Errorf("%s: exit codes that end the job are %v", name, final)
	}
	for _, c := range slices.Concat(pod.Init, pod.Containers) {
		where := name + ": " + c.Name
		limit, err := memory.ParseSize(c.Resources.Limits["memory"])
		if err != nil {
			t.Errorf("%s: %v", where, err)
		}
		env := map[string]string{}
		for _, e := range c.Env {
			if env[e.Name] = e.Value; e.Name == "GDSVD_MEMORY" {
				if e.From.Field.Resource != "limits.memory" || e.From.Field.ContainerName != c.Name {
					t.Errorf("%s: the budget is not the limit: %+v", where, e)
				}
				env[e.Name] = "4294967296" // the value of 4Gi in Kubernetes
			}
		}
		if limit != 4<<30 || env["GDSVD_MEMORY"] == "" {
			t.Errorf("%s: a limit of %d bytes", where, limit)
		}
		commandLine(t, where, c.Args, env)
		if !slices.Contains(c.Args, "--resume") {
			t.Errorf("%s: another pod begins anew: %q", where, c.Args)
		}
		if !c.Security.ReadOnly || c.Security.Escalation == nil || *c.Security.Escalation || !slices.Equal(c.Security.Capabilities.Drop, []string{"ALL"}) {
			t.Errorf("%s: %+v", where, c.Security)
		}
		if len(c.Mounts) != 1 || len(pod.Volumes) != 1 || c.Mounts[0].Name != pod.Volumes[0].Name || pod.Volumes[0].Claim.Name != "gdsvd" || c.Mounts[0].Path != "/data" {
			t.Errorf("%s: mounts %+v of %+v", where, c.Mounts, pod.Volumes)
		}
	}
}

// TestDeploySystemd: the budget of the unit is its memory limit, and exit codes that are final prevent a restart.
func TestDeploySystemd(t *testing.T) {
	data := must.Get(os.ReadFile(filepath.Join(deploy, "gdsvd.service")))(t)
	value := func(key string) string {
		found := regexp.MustCompile(`(?m)^`+key+`=(.*)$`).FindAllSubmatch(data, -1)
		if len(found) != 1 {
			t.Fatalf("%d lines of %s", len(found), key)
		}
		return string(found[0][1])
	}
	env := map[string]string{}
	for _, e := range strings.Fields(value("Environment")) {
		k, v, _ := strings.Cut(e, "=")
		env[k] = v
	}
	words := strings.Fields(value("ExecStart"))
	commandLine(t, "gdsvd.service", words[1:], env)
	budget, err := memory.ParseSize(env["GDSVD_MEMORY"])
	limit, err2 := memory.ParseSize(value("MemoryMax")) // in systemd 4G is 4 GiB, as in gdsvd
	if err != nil || err2 != nil || budget != limit || filepath.Base(words[0]) != "gdsvd" || !slices.Contains(words, "--resume") {
		t.Errorf("budget %d, limit %d: %q", budget, limit, words)
	}
	if value("RestartPreventExitStatus") != "2 3 4" || value("SuccessExitStatus") != "130" || value("Restart") != "on-failure" {
		t.Error("other exit codes")
	}
}

// TestDeployDockerfile: the image holds only the program and does not run as root.
func TestDeployDockerfile(t *testing.T) {
	data := must.Get(os.ReadFile(filepath.Join(deploy, "Dockerfile")))(t)
	text := string(data)
	module := must.Get(os.ReadFile("../../go.mod"))(t)
	release := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	for _, want := range []string{"FROM golang:" + string(release[1]) + " AS build\n", "\nFROM scratch\n", "CGO_ENABLED=0", "\nUSER 65532:65532\n", "\nENTRYPOINT [\"/gdsvd\"]\n", " ./cmd/gdsvd"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("Dockerfile: want %q once", want)
		}
	}
}

// TestDeployPages: the gdsvd command lines in the pages about operation can be parsed.
func TestDeployPages(t *testing.T) {
	lines := 0
	for _, page := range []string{"README.md", "../operate.md"} {
		text := must.Get(os.ReadFile(filepath.Join(deploy, page)))(t)
		for _, block := range regexp.MustCompile("(?s)```sh[^\n]*\n(.*?)```").FindAllSubmatch(text, -1) {
			for line := range strings.Lines(strings.ReplaceAll(string(block[1]), "\\\n", " ")) {
				line, _, _ = strings.Cut(line, "#")
				words := strings.Fields(line)
				env := map[string]string{}
				for len(words) > 0 && strings.HasPrefix(words[0], "GDSVD_") {
					k, v, _ := strings.Cut(words[0], "=")
					env[k], words = v, words[1:]
				}
				if i := slices.Index(words, "gdsvd"); i > 0 && words[0] == "docker" && words[1] == "run" {
					words = words[i:]
				}
				if len(words) < 2 || words[0] != "gdsvd" {
					continue
				}
				if end := slices.IndexFunc(words, func(w string) bool { return strings.ContainsAny(w[:1], "|>;&") }); end > 0 {
					words = words[:end]
				}
				commandLine(t, page, words[1:], env)
				lines++
			}
		}
	}
	if lines < 7 {
		t.Errorf("only %d lines of gdsvd", lines)
	}
}
