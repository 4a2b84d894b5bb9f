package link

import "regexp"

// Variable is a place in a destination where the value of a rule's variable goes: {name} or {name=default}.
type Variable struct {
	// Start and End are the offsets of the braces and behind them, bytes.
	Start, End    int
	Name, Default string
	HasDefault    bool
}

// A default holds no braces and nothing that has to be encoded: it goes through the same escaping as a value.
var variable = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)(=[^{}\x00-\x20\x7f]*)?\}`)

// Variables finds the variables of a destination, in order. Other text in braces is none.
func Variables(destination string) []Variable {
	var out []Variable
	for _, m := range variable.FindAllStringSubmatchIndex(destination, -1) {
		v := Variable{Start: m[0], End: m[1], Name: destination[m[2]:m[3]]}
		if m[4] >= 0 {
			v.Default, v.HasDefault = destination[m[4]+1:m[5]], true
		}
		out = append(out, v)
	}
	return out
}
