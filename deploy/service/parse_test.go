package service

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

type sample struct {
	NATSURL string `name:"nats-url" default:"nats://127.0.0.1:4222" help:"Where NATS is."`
	Workers int    `default:"2" help:"How many."`
}

func (s sample) Validate() error {
	if s.Workers < 1 {
		return fmt.Errorf("workers %d: give at least 1", s.Workers)
	}
	return nil
}

func TestParse(t *testing.T) {
	t.Setenv("LINKFOLD_NATS_URL", "nats://env:4222")
	t.Setenv("LINKFOLD_WORKERS", "5")
	var p program[sample]
	if _, err := Parse([]string{"--workers=7"}, &p, Program{Name: "sample"}); err != nil {
		t.Fatal(err)
	}
	if want := (sample{"nats://env:4222", 7}); p.Config != want {
		t.Errorf("got %+v, want %+v", p.Config, want)
	}
	if p.Flags.Debug != "127.0.0.1:0" {
		t.Errorf("debug listener %q", p.Flags.Debug)
	}
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		arg, want string
	}{
		{"--workers=many", "--workers"},
		{"--workers=0", "workers 0: give at least 1"},
		{"--wrkers=1", "--wrkers"},
		{"--log-format=xml", "--log-format"},
		{"stray", "stray"},
	} {
		var p program[sample]
		_, err := Parse([]string{c.arg}, &p, Program{Name: "sample"})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "sample --help") {
			t.Errorf("%s: %v", c.arg, err)
		}
	}
}

func TestParseRefusesNonsenseInTheEnvironment(t *testing.T) {
	t.Setenv("LINKFOLD_WORKERS", "-1")
	var p program[sample]
	if _, err := Parse(nil, &p, Program{Name: "sample"}); err == nil {
		t.Errorf("accepted %+v", p.Config)
	}
}

func TestParseHelp(t *testing.T) {
	var out bytes.Buffer
	var p program[sample]
	_, err := Parse([]string{"--help"}, &p, Program{Name: "sample", Description: "Does a thing.", Out: &out})
	if !errors.Is(err, ErrHelp) {
		t.Fatalf("parse: %v", err)
	}
	for _, want := range []string{"Does a thing.", "--nats-url", "LINKFOLD_NATS_URL", "Where NATS is"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, &out)
		}
	}
}
