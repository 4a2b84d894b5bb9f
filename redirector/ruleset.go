package redirector

import (
	"context"

	"linkfold/redirector/links"
	"linkfold/redirector/resolve"
	"linkfold/schema/link"
)

// ruleset is the links that one request may lead to, for package resolve. It also notes for the hit what the first lookup met.
type ruleset struct {
	store    *links.Store
	domain   string
	other    string // another name of the same website; may be empty
	anyCase  bool   // keys are in lower case, whatever the path is in
	lowerToo bool   // look for the request's path once more in lower case (snap-url-rules.txt, "Process" 5.1)

	asked          bool   // the first lookup is over
	first          string // domain of the link that it found
	inactive       resolve.Match
	inactiveDomain string
}

// Longest implements resolve.Ruleset.
func (s *ruleset) Longest(ctx context.Context, path string) (resolve.Match, bool, error) {
	if s.anyCase {
		path = link.LowerPath(path)
	}
	m, ok, err := s.find(ctx, path)
	if err == nil && !ok && s.lowerToo && !s.asked {
		if lowered := link.LowerPath(path); lowered != path {
			m, ok, err = s.find(ctx, lowered)
		}
	}
	s.asked = s.asked || err == nil
	return m, ok, err
}

// find looks under both names of the website; the longer key counts, and the first name of two equal ones.
func (s *ruleset) find(ctx context.Context, path string) (resolve.Match, bool, error) {
	domain := s.domain
	found, err := s.store.Longest(ctx, domain, path)
	if err != nil {
		return resolve.Match{}, false, err
	}
	if s.other != "" && len(found.Key) < len(path)-1 {
		other, err := s.store.Longest(ctx, s.other, path)
		if err != nil {
			return resolve.Match{}, false, err
		}
		if len(other.Key) > len(found.Key) || found.Key == "" && found.Inactive == "" {
			domain, found = s.other, other
		}
	}
	if !s.asked && s.inactive.Key == "" && found.Inactive != "" {
		s.inactive, s.inactiveDomain = resolve.Match{Key: found.Inactive, Revision: found.InactiveEntry.Revision}, domain
	}
	if found.Key == "" {
		return resolve.Match{}, false, nil
	}
	if !s.asked {
		s.first = domain
	}
	return resolve.Match{Key: found.Key, Value: found.Entry.Value, Locked: found.Entry.Link.GetLockQuery(), Revision: found.Entry.Revision}, true, nil
}
