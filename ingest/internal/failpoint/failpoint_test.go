package failpoint

import "testing"

func TestParse(t *testing.T) {
	for _, bad := range []string{"x", "=exit", "a=explode", "a=exit@0", "a=exit@x", "a=exit,"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	s, err := Parse("")
	if s != nil || err != nil {
		t.Error(s, err)
	}
	s.Hit("anything")
	s, err = Parse("a=exit@3,b=block")
	if err != nil {
		t.Fatal(err)
	}
	s.Hit("a")
	s.Hit("a")
	s.Hit("c")
	if n := s.points["a"].hits.Load(); n != 2 {
		t.Errorf("reached %d times", n)
	}
}
