package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is what is wrong with a script, and where. Message begins with a fixed text for each kind of error ("parsing error", "found two
// rules named", …), so that it can be compared.
type Error struct {
	Line, Column int
	Message      string
}

// Error gives the message first and the position last.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (line %d, column %d)", e.Message, e.Line, e.Column)
}

// Errors is everything wrong with a script, in the order of its text; never empty when returned as an error.
type Errors []*Error

// Error gives one line per error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the single errors.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// Add appends an error at p.
func (e *Errors) Add(p Position, format string, args ...any) {
	*e = append(*e, &Error{Line: p.Line, Column: p.Column, Message: fmt.Sprintf(format, args...)})
}

// Err sorts by position and gives the list as an error; nil when it is empty.
func (e Errors) Err() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e
}

// syntaxError is an error that ends parsing.
func syntaxError(p Position, format string, args ...any) *Error {
	return &Error{Line: p.Line, Column: p.Column, Message: "parsing error: " + fmt.Sprintf(format, args...)}
}
