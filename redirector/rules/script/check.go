package script

// outer are the names of the namespace of official positions; the seed writes canonalize, its implementation global (B9).
var outer = map[string]bool{"canonalize": true, "canonicalize": true, "global": true}

// inner are the namespaces that tell the parts of a URL apart (seed, "URL Canonicalization"; B9).
var inner = map[string]bool{
	"domain": true, "website": true, "site": true, "path": true, "query": true, "options": true, "extension": true,
}

// check finds all that is wrong with the names of a script.
func check(s *Script) error {
	var all Errors
	seen := map[string]bool{}
	for _, r := range s.Rules {
		if seen[r.Name] {
			all.Add(r.Position, "found two rules named %q", r.Name)
		}
		seen[r.Name] = true
		checkVars(r, &all)
	}
	return all.Err()
}

func checkVars(r *Rule, all *Errors) {
	for i, v := range r.Vars {
		if !permitted(v.Namespace) {
			all.Add(v.Position, "incompatible qualified name %q: use canonalize (or global) for the official position, and one of %s",
				v.Prefix(), "domain, website, site, path, query, options, extension")
		}
		for _, before := range r.Vars[:i] {
			if before.Name == v.Name && !compatible(before, v) {
				all.Add(v.Position, "found two variables named %q", v.Qualified())
				break
			}
		}
	}
}

// permitted: nothing, an outer namespace, an inner one, or an inner one in an outer one.
func permitted(namespace []string) bool {
	switch len(namespace) {
	case 0:
		return true
	case 1:
		return outer[namespace[0]] || inner[namespace[0]]
	case 2:
		return outer[namespace[0]] && inner[namespace[1]]
	}
	return false
}

// compatible tells whether two variables of one name may stand in one rule: one thing that can be written at several places of a URL
// (language as a path segment, extension or query parameter), told apart by namespaces, with one official place at most.
func compatible(a, b *Var) bool {
	qualified := len(a.Namespace) > 0 || len(b.Namespace) > 0
	return qualified && a.Place() != b.Place() && !(a.Official() && b.Official())
}
