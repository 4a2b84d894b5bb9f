package rules

import (
	"fmt"
	"maps"
	"slices"

	"linkfold/schema/linkfoldv1"
)

// Site is one website ready to match: its rules and its policy for query parameters. The zero Site, and a nil one, is a website without rules:
// every URL matches, whatever its protocol and port, and the whole path is rest.
type Site struct {
	rules   *Rules // nil: none
	policy  linkfoldv1.UnknownQuery
	allowed *allowList // nil: the built-in list
}

// NewSite makes a website's configuration ready to match. It fails on rules that do not compile.
func NewSite(w *linkfoldv1.Website) (*Site, error) {
	s := &Site{policy: w.GetUnknownQuery()}
	if len(w.GetAllowedQuery()) > 0 {
		s.allowed = newAllowList(w.GetAllowedQuery())
	}
	if w.GetRules() == nil {
		return s, nil
	}
	loaded, err := Load(KindWebsite, w.GetRules())
	if err != nil {
		return nil, fmt.Errorf("load website %q: %w", w.GetKey(), err)
	}
	for _, r := range loaded.rules {
		r.query = newParameters(r, w.GetQueryNames())
	}
	s.rules = loaded
	return s, nil
}

// Policy is what to do with unknown query parameters; never unspecified.
func (s *Site) Policy() linkfoldv1.UnknownQuery {
	if s == nil || s.policy == linkfoldv1.UnknownQuery_UNKNOWN_QUERY_UNSPECIFIED {
		return linkfoldv1.UnknownQuery_UNKNOWN_QUERY_NOT_FOUND
	}
	return s.policy
}

// HasOfficial tells whether some rule of the website defines an official position.
func (s *Site) HasOfficial() bool { return s != nil && s.rules.HasOfficial() }

// allows tells whether a query parameter is on the allow-list.
func (s *Site) allows(name string) bool {
	if s == nil || s.allowed == nil {
		return defaultAllowList.has(name)
	}
	return s.allowed.has(name)
}

// parameters tells which query parameter is which variable of a rule.
type parameters struct {
	variables map[string]int // parameter to index in the rule's variables
	names     map[int]string // index to the parameter that canonical URLs use
}

// newParameters maps each query variable's own name, and the spellings that names gives (parameter to variable). Unless names says otherwise,
// "lang" is a spelling of "language" (seed, "URL Canonicalization": ?lang=en). A variable's own name is never a spelling of another.
func newParameters(r *rule, names map[string]string) parameters {
	p := parameters{map[string]int{}, map[int]string{}}
	own := map[string]int{}
	for _, i := range r.at[inQuery] {
		own[r.vars[i].name] = i
		p.variables[r.vars[i].name] = i
	}
	all := spellings(names)
	for _, spelled := range slices.Sorted(maps.Keys(all)) {
		i, declared := own[all[spelled]]
		if _, taken := own[spelled]; !declared || taken {
			continue
		}
		p.variables[spelled] = i
		if p.names[i] == "" {
			p.names[i] = spelled // the first in alphabetical order
		}
	}
	for name, i := range own {
		if p.names[i] == "" {
			p.names[i] = name
		}
	}
	return p
}

// spellings adds the built-in spelling to configured ones, unless they have their own for either word.
func spellings(names map[string]string) map[string]string {
	if _, ok := names["lang"]; ok || slices.Contains(slices.Collect(maps.Values(names)), "language") {
		return names
	}
	all := map[string]string{"lang": "language"}
	maps.Copy(all, names)
	return all
}
