package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"linkfold/redirector/rules"
	"linkfold/schema/linkfoldv1"
)

// rulesMatchCmd applies scripts to URLs with the redirector's own code.
type rulesMatchCmd struct {
	URLs         []string `arg:"" optional:"" name:"url" help:"URLs to match; none: one per line of standard input."`
	DomainRules  string   `placeholder:"FILE" type:"path" help:"Domain script: which sub-domains are which website."`
	WebsiteRules string   `placeholder:"FILE" type:"path" help:"Website script: protocol, port, path and query."`
	Domain       string   `placeholder:"NAME" help:"Domain that hosts are to be below; without it, the registrable domain of each host."`
	WebsiteKey   string   `placeholder:"KEY" help:"Apply the website rules alone, as those of this website."`
	AllowQuery   []string `placeholder:"NAME" help:"Query parameter that is known without a rule; * at its end or start stands for any text. Those given replace the built-in list (q, page, *_page, utm_*, click ids), as on a domain."`
}

// Validate implements the check of service.Parse.
func (c *rulesMatchCmd) Validate() error {
	if c.DomainRules == "" && c.WebsiteRules == "" {
		return errors.New("give --domain-rules FILE, --website-rules FILE or both")
	}
	if c.WebsiteKey != "" && c.WebsiteRules == "" {
		return errors.New("--website-key needs --website-rules FILE")
	}
	return nil
}

// Run implements the command. URLs that no rule matches are lines with an error, not an error of the command.
func (c *rulesMatchCmd) Run(e *env) error {
	m, err := c.load(e.in)
	if err != nil {
		return err
	}
	m.out = bufio.NewWriterSize(e.out, 1<<16)
	m.json = json.NewEncoder(m.out)
	m.json.SetEscapeHTML(false)
	if len(c.URLs) > 0 {
		for _, u := range c.URLs {
			if err := m.print(u); err != nil {
				return err
			}
		}
		return m.flush()
	}
	// A read from a terminal cannot be interrupted: when the user ends the command, this goroutine is left to the end of the process. What it
	// has answered was flushed before it began to wait.
	ended := make(chan error, 1)
	go func() { ended <- m.lines(e.ctx, bufio.NewReaderSize(e.in, 1<<16)) }()
	select {
	case err := <-ended:
		return err
	case <-e.ctx.Done():
		return fmt.Errorf("match: %w", context.Cause(e.ctx))
	}
}

// ruleMatcher prints one JSON object per URL.
type ruleMatcher struct {
	domain     string
	rules      *rules.Rules // nil: the website key is given, or the host itself
	site       *rules.Site
	websiteKey string
	hasWebsite bool
	out        *bufio.Writer
	json       *json.Encoder
}

func (c *rulesMatchCmd) load(in io.Reader) (*ruleMatcher, error) {
	m := &ruleMatcher{hasWebsite: c.WebsiteRules != ""}
	var err error
	if m.domain, err = hostOption("--domain", c.Domain); err != nil {
		return nil, err
	}
	if m.websiteKey, err = hostOption("--website-key", c.WebsiteKey); err != nil {
		return nil, err
	}
	website := &linkfoldv1.Website{Key: m.websiteKey}
	if len(c.AllowQuery) > 0 {
		website.AllowedQuery = c.AllowQuery
	}
	if m.hasWebsite {
		if website.Rules, err = compileFile(rules.KindWebsite, c.WebsiteRules, in); err != nil {
			return nil, err
		}
	}
	if m.site, err = rules.NewSite(website); err != nil {
		return nil, err
	}
	if c.DomainRules == "" || c.WebsiteKey != "" {
		return m, nil
	}
	compiled, err := compileFile(rules.KindDomain, c.DomainRules, in)
	if err != nil {
		return nil, err
	}
	m.rules, err = rules.Load(rules.KindDomain, compiled)
	return m, err
}

// hostOption is a host name in the form that hosts of parsed URLs have: lower case, international names in ASCII.
func hostOption(option, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	u, err := rules.ParseURL("http://" + name)
	if err != nil || u.Path != "/" || u.Query != "" || u.Port != 0 {
		return "", fmt.Errorf("%s %q: give a host name", option, name)
	}
	return u.Host, nil
}

// compileFile compiles a script; its error has one line per error in the script.
func compileFile(kind rules.Kind, file string, in io.Reader) (*linkfoldv1.RuleScript, error) {
	source, err := readScript(file, in)
	if err != nil {
		return nil, err
	}
	compiled, warnings, err := rules.Compile(kind, source)
	if err == nil {
		return compiled, nil
	}
	var text strings.Builder
	printFindings(&text, newCheckReport(file, compiled, warnings, err))
	return nil, fmt.Errorf("rules cannot be used:\n%s", strings.TrimSuffix(text.String(), "\n"))
}

// lines matches every line that is not blank. Answers are flushed whenever the next line is not there yet.
func (m *ruleMatcher) lines(ctx context.Context, in *bufio.Reader) error {
	for ctx.Err() == nil {
		line, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read URLs: %w", err)
		}
		if line = strings.TrimSpace(line); line != "" {
			if err := m.print(line); err != nil {
				return err
			}
		}
		if err != nil {
			break
		}
		if in.Buffered() == 0 {
			if err := m.flush(); err != nil {
				return err
			}
		}
	}
	return m.flush()
}

func (m *ruleMatcher) flush() error {
	if err := m.out.Flush(); err != nil {
		return fmt.Errorf("print answer: %w", err)
	}
	return nil
}

// matchAnswer is the line of a URL that rules match.
type matchAnswer struct {
	Request      string            `json:"request"`
	Rule         string            `json:"rule"` // of the last script that was asked
	DomainRule   string            `json:"domain_rule,omitempty"`
	WebsiteRule  string            `json:"website_rule,omitempty"`
	WebsiteKey   string            `json:"website_key"`
	SiteKey      string            `json:"site_key"`
	Rest         string            `json:"rest"`
	Options      map[string]string `json:"options"`
	UnknownQuery []string          `json:"unknown_query"`
	Canonical    string            `json:"canonical"`
	Conflict     bool              `json:"conflict"`
	PageKey      []string          `json:"page_key"`
	BaseKey      []string          `json:"base_key"`
}

// matchRefusal is the line of a URL that rules do not match.
type matchRefusal struct {
	Request string `json:"request"`
	Status  int    `json:"status"`
	Error   string `json:"error"`
}

func (m *ruleMatcher) print(raw string) error {
	if err := m.json.Encode(m.answer(raw)); err != nil {
		return fmt.Errorf("print answer: %w", err)
	}
	return nil
}

func (m *ruleMatcher) answer(raw string) any {
	u, err := rules.ParseURL(raw)
	if err != nil {
		return matchRefusal{raw, http.StatusBadRequest, err.Error()}
	}
	d, reason := m.matchDomain(u.Host)
	if reason != "" {
		return matchRefusal{raw, http.StatusNotFound, reason}
	}
	match, ok := m.site.Match(u, d)
	if !ok {
		return matchRefusal{raw, http.StatusNotFound, rules.WebsiteNotFound}
	}
	answer := matchAnswer{
		Request: raw, Rule: d.Rule, DomainRule: d.Rule, WebsiteRule: match.Rule, WebsiteKey: match.Website, SiteKey: match.SiteKey,
		Rest: match.Rest, Options: match.Options.Map(), UnknownQuery: append([]string{}, match.UnknownQuery...),
		Canonical: match.Canonical(), Conflict: match.Conflict, PageKey: match.PageKey(), BaseKey: match.BaseKey(),
	}
	if m.hasWebsite {
		answer.Rule = match.Rule
	}
	return answer
}

// matchDomain is the way of a host to its website; reason says why there is none.
func (m *ruleMatcher) matchDomain(host string) (d rules.DomainMatch, reason string) {
	if m.websiteKey != "" {
		return rules.WebsiteKey(m.websiteKey), ""
	}
	domain, ok := m.domain, m.domain != ""
	if !ok {
		domain, ok = rules.Registrable(host)
	}
	if _, below := rules.SubDomain(domain, host); !ok || !below {
		return d, rules.UnknownDomain
	}
	if m.rules == nil {
		return rules.WebsiteKey(host), ""
	}
	if d, ok = m.rules.Domain(domain, host); !ok {
		return d, rules.DomainNotFound
	}
	return d, ""
}
