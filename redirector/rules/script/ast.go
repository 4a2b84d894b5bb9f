// Package script reads rule scripts: the text in which an administrator says which sub-domains, protocols, ports, paths and query
// parameters make up which website (snap-url-rules.txt, "Domain Table" and "Website Table", as RULINGS B decides it).
//
// Parse turns a script into rules with variables, each with its position. Names are checked here; expressions are only carried along: what
// they mean is the business of package rules. There are two grammars, one for domains and one for websites, which differ in their keywords.
package script

import "strings"

// Kind is the grammar of a script.
type Kind int

const (
	// Domain scripts look at sub-domains.
	Domain Kind = iota
	// Website scripts look at protocol, port, path and query.
	Website
)

// Position is a place in a script. Lines and columns count from 1, columns in characters.
type Position struct{ Line, Column int }

// Script is a whole script, at least one rule.
type Script struct{ Rules []*Rule }

// Rule is one named rule with at least one variable.
type Rule struct {
	Position
	Name string
	Vars []*Var
}

// Part is where in a URL a variable stands.
type Part string

// The parts, as the printed parse names them.
const (
	PartSubdomain Part = "subdomain"
	PartPath      Part = "path"
	PartQuery     Part = "query"
	PartProtocol  Part = "protocol"
	PartPort      Part = "port"
)

// Type is what a variable is for.
type Type string

// The types: a plain string, website() and flag().
const (
	TypeGroup   Type = "group"
	TypeWebsite Type = "website"
	TypeFlag    Type = "flag"
)

// Var is one variable of a rule. The lines protocol and port are variables too, of those names.
type Var struct {
	Position  // of the name
	Part      Part
	Namespace []string // what stands before the last "::", namespace block included
	Name      string   // the last component
	Type      Type
	Required  bool
	Regex     string // as typed, string escapes resolved (B1)
	RegexAt   Position
	Second    *string // second string of website() or flag(); nil without one
	SecondAt  Position
}

// Prefix is the namespace as it is written, without the name; "" for a plain name.
func (v *Var) Prefix() string { return strings.Join(v.Namespace, "::") }

// Qualified is the whole name.
func (v *Var) Qualified() string {
	if len(v.Namespace) == 0 {
		return v.Name
	}
	return v.Prefix() + "::" + v.Name
}

// Official tells whether the variable's place is the official one of its name: it is in the outer namespace (B9).
func (v *Var) Official() bool { return len(v.Namespace) > 0 && outer[v.Namespace[0]] }

// Scope is the inner namespace (extension, options, …), "" without one.
func (v *Var) Scope() string {
	if len(v.Namespace) == 0 {
		return ""
	}
	if last := v.Namespace[len(v.Namespace)-1]; !outer[last] {
		return last
	}
	return ""
}

// Place is where in a URL the variable is looked for: its part, except that the namespace "extension" moves a path variable to the end of
// the last path segment (seed, "URL Canonicalization").
func (v *Var) Place() string {
	if v.Part == PartPath && v.Scope() == "extension" {
		return "extension"
	}
	return string(v.Part)
}
