package stream_test

import (
	"errors"
	"strings"
	"testing"

	"linkfold/schema/stream"
)

func TestSubjects(t *testing.T) {
	for _, c := range []struct {
		a       stream.Aggregate
		subject string
	}{
		{stream.LinkAggregate("0x1f.ie", "H83if"), "lf.link.0x1f=2Eie.H83if"},
		{stream.LinkAggregate("go", "a/b.c*>"), "lf.link.go.a=2Fb=2Ec=2A=3E"},
		{stream.LinkAggregate("go", "="), "lf.link.go.=3D"},
		{stream.LinkAggregate("go", ""), "lf.link.go.="},
		{stream.DomainAggregate("1.usa.gov"), "lf.domain.1=2Eusa=2Egov"},
	} {
		if got := c.a.Subject(); got != c.subject {
			t.Errorf("%v.Subject() = %q, want %q", c.a, got, c.subject)
		}
		if got, err := stream.ParseSubject(c.subject); err != nil || got != c.a {
			t.Errorf("ParseSubject(%q) = %v, %v; want %v", c.subject, got, err, c.a)
		}
	}
}

func TestParseSubjectRefusesOtherSpellings(t *testing.T) {
	for _, s := range []string{
		"", "lf.link.go", "lf.link.go.a.b", "lf.link.go.=41", "lf.link.go.=2f", "lf.link.go.=2", "lf.link.go.", "lf.link.go.=ZZ",
		"lf.hit.0", "other.link.go.a", "lf.domain.",
	} {
		if a, err := stream.ParseSubject(s); !errors.Is(err, stream.ErrSubject) {
			t.Errorf("ParseSubject(%q) = %v, %v; want ErrSubject", s, a, err)
		}
	}
}

func FuzzEscapeToken(f *testing.F) {
	for _, s := range []string{"", "a", "=", "a.b", "é", "\x00*> \t", "a=3D"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		token := stream.EscapeToken(s)
		if token == "" || strings.ContainsAny(token, ".*> \t\r\n\x00") {
			t.Fatalf("EscapeToken(%q) = %q is no subject token", s, token)
		}
		if got, err := stream.UnescapeToken(token); err != nil || got != s {
			t.Fatalf("UnescapeToken(%q) = %q, %v; want %q", token, got, err, s)
		}
	})
}
