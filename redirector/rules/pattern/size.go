package pattern

import "regexp/syntax"

// tooBig stands for every size that is out of the question; sums of it do not overflow.
const tooBig = 1 << 30

// rangesPerUnit is how many ranges of a character class weigh as much as one instruction (about 40 bytes).
const rangesPerUnit = 5

// Size is about how many instructions an expression compiles to. The error is that of the regexp package.
func Size(expression string) (int, error) {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return size(tree), nil
}

// size estimates how many instructions a tree compiles to. It never exceeds tooBig.
func size(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n = min(n+size(sub), tooBig)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return max(len(re.Rune), 1)
	case syntax.OpCharClass:
		return 1 + len(re.Rune)/2/rangesPerUnit
	case syntax.OpConcat:
		return max(n, 1)
	case syntax.OpAlternate:
		return min(n+len(re.Sub)-1, tooBig)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		return min(n+1, tooBig)
	case syntax.OpRepeat:
		return repeated(n, re.Min, re.Max)
	}
	return n + 1
}

// repeated: x{2,4} compiles to xx(x(x)?)?, x{2,} to xx+. The parser has bounded both numbers at 1000.
func repeated(n, from, to int) int {
	if to < 0 {
		return min(n*max(from, 1)+1, tooBig)
	}
	return min(n*max(to, 1)+(to-from), tooBig)
}
