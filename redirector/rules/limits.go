package rules

import "linkfold/redirector/rules/script"

// Limits of what a script may compile to; the limits of its text are in packages script and pattern. Instructions are RE2's, about 40 bytes
// and at worst one step per byte of the URL each.
const (
	MaxRuleSize   = 5_000
	MaxScriptSize = 50_000
	// MaxSavedBytes bounds the compiled form in an event.
	MaxSavedBytes = 512 << 10
	// maxInput bounds how much of a URL an expression looks at, in bytes; longer paths and values match no expression.
	maxInput = 2048
	// maxPairs bounds how many parameters of a query rules look for their variables in.
	maxPairs = 256
	// maxHost is the same for sub-domains: longer names do not exist.
	maxHost = 255
	// maxSteps bounds what one request may cost at worst: a script so large that its size times maxInput exceeds it looks at shorter texts
	// alone. Scripts of up to 500 instructions, a dozen of usual rules, are not concerned.
	maxSteps = 1 << 20
)

// inputLimit is the longest text that a script of some size looks at.
func inputLimit(size, most int) int { return min(maxSteps/max(size, 1), most) }

// budget adds up compiled sizes and reports each limit once.
type budget struct {
	rule, script, saved int
	spent               bool
}

// charge counts an expression's instructions to the rule; it reports the limit where it is passed.
func (b *budget) charge(size int, r *script.Rule, at script.Position, all *script.Errors) {
	before := b.rule
	b.rule = min(b.rule+size, 1<<30)
	b.script = min(b.script+size, 1<<30)
	if before <= MaxRuleSize && b.rule > MaxRuleSize {
		all.Add(at, "rule %q is too large: its expressions compile to more than %d instructions; repeat less or split the rule", r.Name, MaxRuleSize)
	}
	if !b.spent && b.script > MaxScriptSize {
		b.spent = true
		all.Add(at, "script too large: its expressions compile to more than %d instructions; use fewer or smaller repetitions", MaxScriptSize)
	}
}

// keep counts bytes of the compiled form.
func (b *budget) keep(text string, at script.Position, all *script.Errors) {
	if b.saved += len(text); !b.spent && b.saved > MaxSavedBytes {
		b.spent = true
		all.Add(at, "script too large: its compiled form has more than %d bytes; use smaller character classes", MaxSavedBytes)
	}
}
