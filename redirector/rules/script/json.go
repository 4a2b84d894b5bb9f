package script

import (
	"bytes"
	"encoding/json"
	"fmt"
)

type jsonRule struct {
	Name string    `json:"name"`
	Vars []jsonVar `json:"vars"`
}

type jsonVar struct {
	Part     Part    `json:"part"`
	Name     string  `json:"name"`
	Type     Type    `json:"type"`
	Required bool    `json:"required"`
	Regex    string  `json:"regex"`
	Second   *string `json:"second,omitempty"`
}

// MarshalJSON prints the parse: an array of rules with their variables, names qualified, expressions as typed.
func (s *Script) MarshalJSON() ([]byte, error) {
	rules := make([]jsonRule, len(s.Rules))
	for i, r := range s.Rules {
		rules[i] = jsonRule{Name: r.Name, Vars: make([]jsonVar, len(r.Vars))}
		for j, v := range r.Vars {
			rules[i].Vars[j] = jsonVar{v.Part, v.Qualified(), v.Type, v.Required, v.Regex, v.Second}
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(rules); err != nil {
		return nil, fmt.Errorf("print parse: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}
