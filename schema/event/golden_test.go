package event_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
)

var update = flag.Bool("update", false, "write golden files that do not exist yet; existing ones are never rewritten")

// golden lists one event of each type and version. Never change an entry: add a new one. The files prove that bytes written
// by older versions still decode to the same meaning.
func golden() map[string]proto.Message {
	link := &linkfoldv1.Link{
		Domain: "0x1f.ie", Key: "H83if", Destination: "http://innerfunction.com/wp/whelans/?p=14",
		CreatedUs: 1331923247000000, Title: "Whelan's", Tags: []string{"music", "dublin"},
	}
	with := func(f func(*linkfoldv1.Link)) *linkfoldv1.Link { l := proto.CloneOf(link); f(l); return l }
	ev := func(t linkfoldv1.EventType, prev uint64, l *linkfoldv1.Link) *linkfoldv1.Event {
		return &linkfoldv1.Event{
			Type: t, CommandId: "01933a7e-0000-7000-8000-000000000001", Actor: "admin", Reason: "because", PreviousRevision: prev,
			TimeUs: 1331923247123456, State: &linkfoldv1.Event_Link{Link: l},
		}
	}
	domain := &linkfoldv1.Event{
		Type: linkfoldv1.EventType_EVENT_TYPE_DOMAIN_CONFIGURED, CommandId: "c", Actor: "system", TimeUs: 1,
		State: &linkfoldv1.Event_Domain{Domain: &linkfoldv1.Domain{Name: "0x1f.ie", Tracking: linkfoldv1.Tracking_TRACKING_HASH, CreatedUs: 1}},
	}
	ruled := proto.CloneOf(domain)
	ruled.State = &linkfoldv1.Event_Domain{Domain: &linkfoldv1.Domain{
		Name: "example.org", CreatedUs: 1, RedirectStatus: 307, Fallback: "https://example.org/404", MaxHops: 9, DefaultWebsite: "www.example.org",
		Rules: &linkfoldv1.RuleScript{Source: `main { required host = "www\."; };`, Compiler: 1, Rules: []*linkfoldv1.CompiledRule{{
			Name: "main", Patterns: []string{`www\.`}, Protocol: "http", Port: "80", Variables: []*linkfoldv1.CompiledVariable{{
				Name: "host", Namespace: "canonalize", Part: linkfoldv1.VariablePart_VARIABLE_PART_SUBDOMAIN,
				Kind: linkfoldv1.VariableKind_VARIABLE_KIND_WEBSITE, Required: true, Pattern: `www\.`, Second: proto.String("www"),
			}},
		}}},
		Websites: []*linkfoldv1.Website{{
			Key: "*", UnknownQuery: linkfoldv1.UnknownQuery_UNKNOWN_QUERY_STRIP, AllowedQuery: []string{"utm_*"}, QueryNames: map[string]string{"lang": "language"},
		}},
	}}
	codes := proto.CloneOf(domain)
	codes.GetDomain().Generator, codes.GetDomain().CodeLength = linkfoldv1.Generator_GENERATOR_QR, 6
	removed := proto.CloneOf(domain)
	removed.Type = linkfoldv1.EventType_EVENT_TYPE_DOMAIN_REMOVED
	removed.GetDomain().Removed = true
	return map[string]proto.Message{
		"link_created.v1":      ev(linkfoldv1.EventType_EVENT_TYPE_LINK_CREATED, 0, link),
		"link_retargeted.v1":   ev(linkfoldv1.EventType_EVENT_TYPE_LINK_RETARGETED, 7, with(func(l *linkfoldv1.Link) { l.Destination = "https://example.com/" })),
		"link_changed.v1":      ev(linkfoldv1.EventType_EVENT_TYPE_LINK_CHANGED, 8, with(func(l *linkfoldv1.Link) { l.Tags = nil })),
		"link_deactivated.v1":  ev(linkfoldv1.EventType_EVENT_TYPE_LINK_DEACTIVATED, 9, with(func(l *linkfoldv1.Link) { l.Inactive = true })),
		"link_reactivated.v1":  ev(linkfoldv1.EventType_EVENT_TYPE_LINK_REACTIVATED, 10, link),
		"link_deleted.v1":      ev(linkfoldv1.EventType_EVENT_TYPE_LINK_DELETED, 11, with(func(l *linkfoldv1.Link) { l.Deleted = true })),
		"domain_configured.v1": domain,
		"domain_configured.v2": ruled,
		"domain_configured.v3": codes,
		"domain_removed.v1":    removed,
		"link_locked.v1":       ev(linkfoldv1.EventType_EVENT_TYPE_LINK_CHANGED, 8, with(func(l *linkfoldv1.Link) { l.LockQuery = true })),
		"hit.v1": &linkfoldv1.Hit{
			Id: bytes.Repeat([]byte{7}, 16), TimeUs: 1331923247123456, Domain: "0x1f.ie", Key: "H83if", LinkRev: 42,
			Outcome: linkfoldv1.Outcome_OUTCOME_REDIRECTED, Status: 302, Destination: "https://example.com/", Method: "GET",
			Host: "0x1f.ie", Path: "/H83if", Query: "a=1", Referrer: "http://t.co/x", UserAgent: "Mozilla/5.0", AcceptLanguage: "en",
			Source: linkfoldv1.Source_SOURCE_LINK, LatencyUs: 12, Redirector: "r1", VisitorDay: 99, Tracking: linkfoldv1.Tracking_TRACKING_COOKIE,
			Hints:  &linkfoldv1.FetchHints{SecPurpose: "prefetch", Purpose: "p", SecFetchSite: "none", SecFetchMode: "navigate", SecFetchDest: "document", SecFetchUser: "?1", Range: "bytes=0-", Gpc: true},
			Person: &linkfoldv1.Person{ClientIp: []byte{192, 0, 2, 1}, CookieId: "1331923247123aabb"},
		},
		"hit.v2": &linkfoldv1.Hit{
			Id: bytes.Repeat([]byte{8}, 16), TimeUs: 2, Domain: "www.example.org", Key: "a", LinkRev: 3, Scheme: "https", Website: "www.example.org",
			Rule: "main", Options: map[string]string{"language": "en"}, PageKey: []string{"N", "example.org", "", "a"},
			BaseKey: []string{"B", "example.org", ""}, UnknownQuery: []string{"test"}, Hops: 2, Detail: "too many internal redirects",
			Chain: []*linkfoldv1.Hop{{Key: "b", LinkRev: 4}, {Key: "c", LinkRev: 5}}, Outcome: linkfoldv1.Outcome_OUTCOME_UNRESOLVABLE, Status: 404,
		},
		"totals.v1": &linkfoldv1.Totals{
			Redirector: "r1", StartedUs: 1, TimeUs: 2, Accepted: 10, Acknowledged: 5, Dropped: 1, Buffered: 2, Spilled: 2, Recovered: 3, Resent: 4, Final: true,
		},
	}
}

func TestGoldenBytesStillDecode(t *testing.T) {
	for name, want := range golden() {
		path := filepath.Join("testdata", name+".bin")
		if _, err := os.Stat(path); *update && errors.Is(err, os.ErrNotExist) {
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := want.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(b, got); err != nil || !proto.Equal(got, want) {
			t.Errorf("%s decodes to %v, %v; want %v", name, got, err, want)
		}
	}
}

func TestEveryEventTypeHasGoldenBytes(t *testing.T) {
	seen := map[linkfoldv1.EventType]bool{linkfoldv1.EventType_EVENT_TYPE_UNSPECIFIED: true}
	for _, m := range golden() {
		if ev, ok := m.(*linkfoldv1.Event); ok {
			seen[ev.GetType()] = true
		}
	}
	for n := range linkfoldv1.EventType_name {
		if !seen[linkfoldv1.EventType(n)] {
			t.Errorf("no golden bytes for %s", event.TypeName(linkfoldv1.EventType(n)))
		}
	}
}

func TestMessageRoundTrip(t *testing.T) {
	for name, m := range golden() {
		ev, ok := m.(*linkfoldv1.Event)
		if !ok {
			continue
		}
		msg, err := event.Message(ev)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, got, err := event.Decode(msg.Subject, msg.Data)
		if err != nil || !proto.Equal(got, ev) {
			t.Errorf("%s: Decode = %v, %v", name, got, err)
		}
		if msg.Header.Get("ce-type") != "linkfold."+event.TypeName(ev.GetType()) || msg.Header.Get("ce-id") != ev.GetCommandId() {
			t.Errorf("%s: headers %v", name, msg.Header)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, err := event.Message(golden()["link_created.v1"].(*linkfoldv1.Event))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, subject string
		data          []byte
	}{
		{"other subject", "lf.link.go.other", good.Data},
		{"foreign subject", "x.y", good.Data},
		{"no state", good.Subject, nil},
		{"not protobuf", good.Subject, []byte{0xff, 0xff}},
	} {
		if _, _, err := event.Decode(c.subject, c.data); !errors.Is(err, event.ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", c.name, err)
		}
	}
	for _, h := range []*linkfoldv1.Hit{
		{Id: []byte("short"), TimeUs: 1},
		{Id: make([]byte, 16)},
		{Id: make([]byte, 16), TimeUs: 1, Person: &linkfoldv1.Person{ClientIp: []byte{1, 2, 3}}},
	} {
		b, err := proto.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := event.DecodeHit(b); !errors.Is(err, event.ErrMalformed) {
			t.Errorf("DecodeHit(%v) = %v, want ErrMalformed", h, err)
		}
	}
}
