package rules

// held is one variable of the domain or website rule that matched, with what the URL has at its place.
type held struct {
	*variable
	found *found
}

// held gives all variables, those of the sub-domain first.
func (m *Match) held() []held {
	n := len(m.domain.found) + len(m.found)
	if n == 0 {
		return nil
	}
	all := make([]held, 0, n)
	for i := range m.domain.found {
		all = append(all, held{&m.domain.rule.vars[i], &m.domain.found[i]})
	}
	for i := range m.found {
		all = append(all, held{&m.rule.vars[i], &m.found[i]})
	}
	return all
}

// setOptions merges the variables of both rules. One name is one variable wherever it stands, and the best place decides its value: what the URL
// says at the official place, in the path, the sub-domain, the extension, the query, then a default in the same order (B17).
func (m *Match) setOptions() {
	m.Options = m.domain.Options
	if len(m.found) == 0 {
		return
	}
	all := m.held()
	options := make(Options, 0, len(all))
	for i := range all {
		if seenBefore(all[:i], all[i].name) {
			continue
		}
		value, set, conflict := settle(all[i:], all[i].name)
		if set {
			options = append(options, Option{all[i].name, value})
		}
		m.conflict = m.conflict || conflict
	}
	m.Options = options
}

func seenBefore(all []held, name string) bool {
	for i := range all {
		if all[i].name == name {
			return true
		}
	}
	return false
}

// settle gives the value of a name, and whether the URL says different ones.
func settle(all []held, name string) (value string, set, conflict bool) {
	if best := winner(all, name); best != nil {
		for i := range all {
			conflict = conflict || all[i].name == name && all[i].found.ok && all[i].found.value != best.found.value
		}
		return best.found.value, true, conflict
	}
	var best *held
	for i := range all {
		if all[i].name == name && all[i].hasSecond && (best == nil || all[i].rank < best.rank) {
			best = &all[i]
		}
	}
	if best == nil {
		return "", false, false
	}
	return best.second, true, false
}

// winner is the best place where the URL has a name; nil when it has it nowhere.
func winner(all []held, name string) *held {
	var best *held
	for i := range all {
		if all[i].name == name && all[i].found.ok && (best == nil || all[i].rank < best.rank) {
			best = &all[i]
		}
	}
	return best
}

// Variable gives the value of a variable, and whether the rules that matched declare it at all; a declared one without value is "".
func (m *Match) Variable(name string) (value string, declared bool) {
	if value, ok := m.Options.Get(name); ok {
		return value, true
	}
	return "", seenBefore(m.held(), name)
}

// Declared are the names of all variables that the rules that matched declare, set or not, each once.
func (m *Match) Declared() []string {
	all := m.held()
	names := make([]string, 0, len(all))
	for i := range all {
		if !seenBefore(all[:i], all[i].name) {
			names = append(names, all[i].name)
		}
	}
	return names
}
