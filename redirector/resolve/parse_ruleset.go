package resolve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ParseRuleset reads a JSON object of keys and values, both strings. Values are taken as they are, even those that can never resolve; of a
// key that is there twice the last value counts. Errors name line and column (in bytes, from 1), and the key if a value is at fault.
func ParseRuleset(r io.Reader) (Map, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read ruleset: %w", err)
	}
	p := rulesetParser{text: bytes.TrimPrefix(text, []byte("\uFEFF"))}
	p.tokens = json.NewDecoder(bytes.NewReader(p.text))
	p.tokens.UseNumber()
	return p.object()
}

type rulesetParser struct {
	text   []byte
	tokens *json.Decoder
}

func (p *rulesetParser) object() (Map, error) {
	first, err := p.next()
	if err != nil {
		return nil, err
	}
	if first != json.Delim('{') {
		return nil, p.fault(p.start(0), "the ruleset is %s: write a JSON object of keys and values, such as {\"docs\": \"https://example.com/\"}", kind(first))
	}
	rules := Map{}
	for p.tokens.More() {
		key, err := p.next()
		if err != nil {
			return nil, err
		}
		before := p.tokens.InputOffset()
		value, err := p.next()
		if err != nil {
			return nil, err
		}
		text, ok := value.(string)
		if !ok {
			return nil, p.fault(p.start(before), "the value of key %q is %s: write a string", key, kind(value))
		}
		rules[key.(string)] = ParseValue(text)
	}
	return rules, p.end()
}

// end takes the closing brace and makes sure that nothing follows it.
func (p *rulesetParser) end() error {
	if _, err := p.next(); err != nil {
		return err
	}
	if at := p.start(p.tokens.InputOffset()); at < int64(len(p.text)) {
		return p.fault(at, "text follows the end of the ruleset: leave it out")
	}
	return nil
}

// next is the next JSON token.
func (p *rulesetParser) next() (json.Token, error) {
	token, err := p.tokens.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return token, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, p.fault(int64(len(p.text)), "the ruleset ends too early: it is no complete JSON object")
	case errors.As(err, &syntax):
		return nil, p.fault(p.start(p.tokens.InputOffset()), "the ruleset is no valid JSON: %v", err)
	}
	return nil, fmt.Errorf("read ruleset: %w", err)
}

// start is the first place at or behind offset that is neither white space nor the punctuation between values.
func (p *rulesetParser) start(offset int64) int64 {
	rest := p.text[offset:]
	return offset + int64(len(rest)-len(bytes.TrimLeft(rest, " \t\r\n:,")))
}

// fault is an error at an offset of the text.
func (p *rulesetParser) fault(offset int64, format string, args ...any) error {
	before := p.text[:min(offset, int64(len(p.text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
}

// kind names what a token begins.
func kind(token json.Token) string {
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return "an array"
		}
		return "an object"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	case nil:
		return "null"
	}
	return "a string"
}
