package script

import "testing"

// FuzzLexer: every token takes something, so the end is reached; positions only grow.
func FuzzLexer(f *testing.F) {
	for _, source := range []string{"a{}", "'\\x41\\u00e9\\101'", "/* é */ // x\r\n::=,;()", "\"\\", "\xff", "a::b", "\ufeffa"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		l := newLexer(source)
		last, at := -1, Position{}
		for {
			tok, err := l.next()
			if err != nil {
				return
			}
			if tok.Line < at.Line || tok.Line == at.Line && tok.Column <= at.Column {
				t.Fatalf("token %v at %v is not after %v", tok, tok.Position, at)
			}
			if tok.kind == tokenEnd {
				return
			}
			if l.offset <= last {
				t.Fatalf("token %v takes nothing", tok)
			}
			last, at = l.offset, tok.Position
		}
	})
}
