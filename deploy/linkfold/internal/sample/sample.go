// Package sample holds an hour of real clicks to try Linkfold on; README.md tells their origin and licence.
package sample

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed usagov.jsonl
var usagov []byte

// Domain is the short-link host that most of the clicks went to.
const Domain = "1.usa.gov"

// Click is one line of the file.
type Click struct {
	Key       string `json:"g"`
	URL       string `json:"u"`
	Time      int64  `json:"t"` // Unix seconds
	Agent     string `json:"a"`
	Referrer  string `json:"r"`
	Languages string `json:"al"`
}

// Clicks reads the file. Heartbeat lines are left out; referrer "direct" means none.
func Clicks() ([]Click, error) {
	var out []Click
	n := 0
	for line := range bytes.Lines(usagov) {
		n++
		var c struct {
			Click
			Heartbeat int64 `json:"_heartbeat_"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, fmt.Errorf("read sample line %d: %w", n, err)
		}
		if c.Heartbeat != 0 {
			continue
		}
		if c.Referrer == "direct" {
			c.Referrer = ""
		}
		out = append(out, c.Click)
	}
	return out, nil
}
