package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// ownRuleCase is one case of the rules package's testdata/own_cases.json.
type ownRuleCase struct {
	ID, Kind, Grammar, Script, Domain, Host, URL string
	DomainScript                                 string `json:"domain_script"`
	WebsiteScript                                string `json:"website_script"`
	WebsiteKey                                   string `json:"website_key"`
	Line                                         int
	Expect                                       any
}

// The cases of our own, through the commands.
func TestRulesOwnCases(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "redirector", "rules", "testdata", "own_cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []ownRuleCase
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		t.Run(c.ID, func(t *testing.T) {
			switch c.Kind {
			case "ast", "error":
				c.check(t)
			default:
				expect(t, ruleLines(t, c.matchArgs(t)...)[0], c.Expect.(map[string]any))
			}
		})
	}
}

func (c ownRuleCase) check(t *testing.T) {
	file := scriptFile(t, c.Script)
	var out, screen bytes.Buffer
	code := run([]string{"rules", "check", "--kind", c.Grammar, "--ast", file}, &out, &screen)
	want, fails := c.Expect.(string)
	if !fails {
		var got any
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || code != 0 || !reflect.DeepEqual(got, c.Expect) {
			t.Errorf("exit code %d, %v, printed\n%s%s", code, err, out.String(), screen.String())
		}
		return
	}
	place, message, _ := strings.Cut(out.String(), ": ")
	if code != 1 || !strings.HasPrefix(message, want) || c.Line != 0 && !strings.HasPrefix(place, fmt.Sprintf("%s:%d:", file, c.Line)) {
		t.Errorf("exit code %d\n%s%s", code, out.String(), screen.String())
	}
}

func (c ownRuleCase) matchArgs(t *testing.T) []string {
	args := []string{"match"}
	option := func(name, value string) {
		if value != "" {
			args = append(args, name, value)
		}
	}
	switch c.Kind {
	case "domain":
		c.DomainScript = c.Script
	case "website":
		c.WebsiteScript = c.Script
	}
	if c.DomainScript != "" {
		option("--domain-rules", scriptFile(t, c.DomainScript))
	}
	if c.WebsiteScript != "" {
		option("--website-rules", scriptFile(t, c.WebsiteScript))
	}
	option("--domain", c.Domain)
	option("--website-key", c.WebsiteKey)
	if c.URL == "" {
		return append(args, "http://"+c.Host+"/")
	}
	return append(args, c.URL)
}
