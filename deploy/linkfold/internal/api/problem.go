package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Problem is a refusal of the API (RFC 9457).
type Problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// Errors are the single fields that are wrong, when the API checked them one by one.
	Errors []FieldError `json:"errors"`
	// CurrentRevision is that of the newest event, when the change was based on an older one; 0 otherwise.
	CurrentRevision uint64 `json:"current_revision"`
}

// FieldError is one field that is wrong.
type FieldError struct {
	Message  string `json:"message"`
	Location string `json:"location"`
	Value    any    `json:"value"`
}

// Error is the detail, with a line for each field.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Detail)
	for _, e := range p.Errors {
		b.WriteString("\n" + e.String())
	}
	return b.String()
}

// String is "max_hops: expected number <= 255, not 256". Values that are objects are left out: they are what was sent.
func (e FieldError) String() string {
	s := e.Message
	if where := strings.TrimPrefix(e.Location, "body."); where != "" {
		s = where + ": " + s
	}
	switch e.Value.(type) {
	case string, float64, bool:
		s += fmt.Sprintf(", not %v", e.Value)
	}
	return s
}

// IsStatus reports whether err is a *Problem with one of the statuses.
func IsStatus(err error, statuses ...int) bool {
	var p *Problem
	if !errors.As(err, &p) {
		return false
	}
	for _, s := range statuses {
		if p.Status == s {
			return true
		}
	}
	return false
}

// shown is how much of an answer that is no problem document goes into the error, bytes.
const shown = 200

// readProblem makes a Problem of an answer, also of one that some other server sent.
func readProblem(resp *http.Response, body io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	p := &Problem{}
	if err := json.Unmarshal(b, p); err != nil || p.Detail == "" {
		text := strings.TrimSpace(string(b))
		p = &Problem{Detail: fmt.Sprintf("%s answered %s, which is no answer of Linkfold's admin API: %.*q", resp.Request.URL, resp.Status, shown, text)}
	}
	p.Status = resp.StatusCode
	return p
}
