package link_test

import (
	"slices"
	"testing"

	"linkfold/schema/link"
)

func TestPlaceholders(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want []link.Placeholder
	}{
		{"https://example.com/", nil},
		{"/{a}", []link.Placeholder{{1, 4, "a", "", false}}},
		{"/{_a1=en/x?y}", []link.Placeholder{{1, 13, "_a1", "en/x?y", true}}},
		{"{a=}{b}", []link.Placeholder{{0, 4, "a", "", true}, {4, 7, "b", "", false}}},
		{"{{a}}", []link.Placeholder{{1, 4, "a", "", false}}},
		{"{a=x{b}", []link.Placeholder{{4, 7, "b", "", false}}},
		{"{}{1a}{a b}{=x}{a-b}{a", nil},
		{"{é}{a=b c}{a=\t}", nil},
	} {
		if got := link.Placeholders(c.raw); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %+v, want %+v", c.raw, got, c.want)
		}
	}
}
