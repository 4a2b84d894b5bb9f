package resolve

// appendCombined appends the query that comes of setting the pairs of embedded and then of request (a query without "?") on own, as
// URLSearchParams.set does: a name keeps its first place and gets the last value, its other pairs go, new names follow in order.
func appendCombined(b []byte, own, embedded []param, request string) []byte {
	var space [8]param
	set := overrides{list: space[:0]}
	for _, p := range embedded {
		set = set.with(p)
	}
	for p, rest, ok := nextParam(request); ok; p, rest, ok = nextParam(rest) {
		set = set.with(p)
	}
	return set.appendOver(b, own)
}

// overrides is an ordered map of parameters.
type overrides struct {
	list  []param
	index map[string]int // places in list, once there are so many that searching would be slow
}

// searchLimit is how many names are searched one by one. Beyond it a map keeps hostile queries of thousands of names linear.
const searchLimit = 8

// with is o after setting p. It works on a copy, so that the list of a short query stays on the stack.
func (o overrides) with(p param) overrides {
	if i := o.find(p.name); i >= 0 {
		o.list[i].value = p.value
		return o
	}
	o.list = append(o.list, p)
	switch {
	case o.index != nil:
		o.index[p.name] = len(o.list) - 1
	case len(o.list) > searchLimit:
		o.index = make(map[string]int, 4*searchLimit)
		for i, q := range o.list {
			o.index[q.name] = i
		}
	}
	return o
}

// find is the place of name in the list, -1 when it is not there.
func (o overrides) find(name string) int {
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range o.list {
		if o.list[i].name == name {
			return i
		}
	}
	return -1
}

// appendOver appends own with the overrides set on it.
func (o overrides) appendOver(b []byte, own []param) []byte {
	var space [8]bool
	placed := append(space[:0], make([]bool, len(o.list))...)
	separator := byte('?')
	for _, p := range own {
		if i := o.find(p.name); i >= 0 {
			if placed[i] {
				continue
			}
			placed[i], p = true, o.list[i]
		}
		b = appendParam(b, separator, p)
		separator = '&'
	}
	for i, p := range o.list {
		if !placed[i] {
			b = appendParam(b, separator, p)
			separator = '&'
		}
	}
	return b
}
