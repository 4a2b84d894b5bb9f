package redirector_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A domain's policy holds for visitors who are refused, too; and who sends what is no request at all is nobody's visitor.
func TestRefusalsKeepTheDomainsPolicy(t *testing.T) {
	t.Parallel()
	in := start(t)
	in.configure("localhost", `{"tracking":"none"}`)
	eventually(t, "policy none", func() bool { return in.get("/x").header.Get("Set-Cookie") == "" })
	before := len(in.hits())
	refused := []string{
		"POST /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"GET /" + strings.Repeat("a", 3000) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"GET /a\x01b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"no request\r\n\r\n",
	}
	for _, request := range refused {
		if got := in.raw(request); strings.Contains(got, "Set-Cookie") {
			t.Errorf("%.40q is answered with a cookie:\n%s", request, got)
		}
	}
	hits := in.hits()
	if len(hits) != before+len(refused) {
		t.Fatalf("%d hits, want %d", len(hits), before+len(refused))
	}
	for _, h := range hits[before:] {
		if h.GetPerson() != nil || h.GetVisitorDay() != 0 || h.GetTracking().String() != "TRACKING_NONE" {
			t.Errorf("hit remembers the visitor: %v", h)
		}
	}
	if err := in.stop(); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(in.cfg.AccessLog)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(log), "\n"), "\n")
	for _, line := range lines[len(lines)-len(refused):] {
		if !regexp.MustCompile(`^\S+ - - `).MatchString(line) {
			t.Errorf("access log remembers the visitor: %s", line)
		}
	}
}
