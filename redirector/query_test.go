package redirector

import "testing"

func TestStripQuery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query string
		names []string
		want  string
	}{
		{"", []string{"a"}, ""}, {"a=1&b=2", nil, "a=1&b=2"}, {"a=1&b=2&a=3", []string{"a"}, "b=2"}, {"%61=1&b", []string{"a"}, "b"},
		{"a+b=1&c", []string{"a b"}, "c"}, {"a=1", []string{"a"}, ""}, {"%zz=1&b=2", []string{"b"}, "%zz=1"}, {"a%61%zz=1&c", []string{"aa%zz"}, "c"}, {"b=\t\xff\"x", nil, "b=%09%FF%22x"},
	} {
		if got := stripQuery(c.query, c.names); got != c.want {
			t.Errorf("stripQuery(%q, %q) = %q, want %q", c.query, c.names, got, c.want)
		}
	}
}
