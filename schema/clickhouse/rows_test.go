package clickhouse

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"linkfold/deploy/devstack"
	"linkfold/schema/linkfoldv1"
)

func migrated(t *testing.T) driver.Conn {
	t.Helper()
	conn := open(t, devstack.ForTest(t, devstack.ClickHouse).Database(t))
	if _, err := Migrate(t.Context(), conn, Options{}); err != nil {
		t.Fatal(err)
	}
	return conn
}

func testAttempt(first, last uint64) Attempt {
	return Attempt{
		Range: Range{Stream: "HITS_0", Gen: "g1", First: first, Last: last},
		Until: time.Now().Add(time.Minute), MaxExecution: 10 * time.Second,
	}
}

var (
	hitTime    = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	streamTime = time.Now().UTC().Truncate(time.Microsecond) // recent, or the TTL of personal columns takes effect at once
)

const micros = "2006-01-02 15:04:05.000000"

func fullHit() *linkfoldv1.Hit {
	id := uuid.MustParse("0198c0de-0000-7000-8000-000000000001")
	return &linkfoldv1.Hit{
		Id: id[:], TimeUs: hitTime.UnixMicro(), Domain: "0x1f.ie", Key: "H83if", LinkRev: 42,
		Outcome: linkfoldv1.Outcome_OUTCOME_REDIRECTED, Status: 302, Destination: "https://example.com/?a=1", Method: "GET",
		Host: "0X1F.IE", Path: "/H83if", Query: "x=1", Referrer: "https://t.co/", UserAgent: "agent/1", AcceptLanguage: "de",
		Source: linkfoldv1.Source_SOURCE_QR, LatencyUs: 321, Redirector: "r-1", VisitorDay: 1<<63 + 5,
		Tracking: linkfoldv1.Tracking_TRACKING_COOKIE,
		Person:   &linkfoldv1.Person{ClientIp: []byte{192, 0, 2, 7}, CookieId: "cookie"},
		Hints: &linkfoldv1.FetchHints{
			SecPurpose: "prefetch", Purpose: "preview", SecFetchSite: "none", SecFetchMode: "navigate", SecFetchDest: "document",
			SecFetchUser: "?1", Range: "bytes=0-", Gpc: true,
		},
		Scheme: "https", Website: "www.0x1f.ie", Rule: "main", Options: map[string]string{"language": "en"}, Hops: 2,
		PageKey: []string{"N", "0x1f.ie", "www", "H83if"}, BaseKey: []string{"B", "0x1f.ie", "www"}, UnknownQuery: []string{"x"},
		Chain: []*linkfoldv1.Hop{{Key: "b", LinkRev: 43}}, Detail: "too many internal redirects",
	}
}

// TestHitRoundTrip writes a hit whose fields all differ from their zero values and reads every column back.
func TestHitRoundTrip(t *testing.T) {
	conn := migrated(t)
	var rows HitRows
	rows.Append(7, streamTime, fullHit(), &Enrichment{1, "t.co", "s", "m", "c", "te", "co"})
	a := testAttempt(7, 7)
	if err := Insert(t.Context(), conn, &rows, a); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"id": "0198c0de-0000-7000-8000-000000000001", "time": "2026-01-02 03:04:05.678901", "stream_time": streamTime.Format(micros),
		"domain": "0x1f.ie", "key": "H83if", "link_rev": "42", "outcome": "redirected", "status": "302", "method": "GET",
		"source": "qr", "tracking": "cookie", "destination": "https://example.com/?a=1", "host": "0X1F.IE", "path": "/H83if",
		"query": "x=1", "referrer": "https://t.co/", "referrer_host": "t.co", "utm_source": "s", "utm_medium": "m",
		"utm_campaign": "c", "utm_term": "te", "utm_content": "co", "user_agent": "agent/1", "accept_language": "de",
		"sec_purpose": "prefetch", "purpose": "preview", "sec_fetch_site": "none", "sec_fetch_mode": "navigate",
		"sec_fetch_dest": "document", "sec_fetch_user": "?1", "range": "bytes=0-", "gpc": "true", "latency_us": "321",
		"redirector": "r-1", "client_ip": "::ffff:192.0.2.7", "cookie_id": "cookie", "visitor_day": "9223372036854775813",
		"scheme": "https", "website": "www.0x1f.ie", "rule": "main", "options": "{'language':'en'}", "hops": "2",
		"page_key": "['N','0x1f.ie','www','H83if']", "base_key": "['B','0x1f.ie','www']", "unknown_query": "['x']",
		"chain_keys": "['b']", "chain_revs": "[43]", "detail": "too many internal redirects",
		"enrichment": "1", "_stream": "HITS_0", "_gen": "g1", "_seq": "7", "_until": a.Until.UTC().Format(time.DateTime),
	}
	if diff := cmp.Diff(want, readRow(t, conn, Hits)); diff != "" {
		t.Error(diff)
	}
}

// readRow is the one row of a table, every column as text.
func readRow(t *testing.T, conn driver.Conn, table string) map[string]string {
	t.Helper()
	rows, err := conn.Query(t.Context(), "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = ? AND default_kind = ''", table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	row := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(t.Context(), fmt.Sprintf("SELECT toString(`%s`) FROM %s", name, table)).Scan(&value); err != nil {
			t.Fatal(name, err)
		}
		row[name] = value
	}
	return row
}

// TestPersonalColumnsExpire: after 90 days the row stays and what identifies a person is gone.
func TestPersonalColumnsExpire(t *testing.T) {
	conn := migrated(t)
	var rows HitRows
	rows.Append(1, time.Now().AddDate(0, 0, -91), fullHit(), &Enrichment{})
	if err := Insert(t.Context(), conn, &rows, testAttempt(1, 1)); err != nil {
		t.Fatal(err)
	}
	if err := conn.Exec(t.Context(), "OPTIMIZE TABLE hits FINAL"); err != nil {
		t.Fatal(err)
	}
	got := readRow(t, conn, Hits)
	if got["client_ip"] != "::" || got["cookie_id"] != "" || got["user_agent"] != "agent/1" {
		t.Errorf("client_ip %s, cookie_id %q, user_agent %q", got["client_ip"], got["cookie_id"], got["user_agent"])
	}
}

// TestEmptyHit: every field may be missing, and unknown enum values do not get lost.
func TestEmptyHit(t *testing.T) {
	conn := migrated(t)
	var rows HitRows
	id := uuid.New()
	rows.Append(1, streamTime, &linkfoldv1.Hit{Id: id[:], TimeUs: 1, Outcome: 99, Status: 1 << 20}, &Enrichment{})
	if err := Insert(t.Context(), conn, &rows, testAttempt(1, 1)); err != nil {
		t.Fatal(err)
	}
	got := readRow(t, conn, Hits)
	if got["outcome"] != "outcome99" || got["client_ip"] != "::" || got["status"] != "65535" {
		t.Errorf("outcome %s, client_ip %s, status %s", got["outcome"], got["client_ip"], got["status"])
	}
}

func TestOtherTablesRoundTrip(t *testing.T) {
	conn := migrated(t)
	us := hitTime.UnixMicro()
	ev := &linkfoldv1.Event{
		Type: linkfoldv1.EventType_EVENT_TYPE_LINK_CHANGED, CommandId: "cmd", Actor: "ann", Reason: "why", PreviousRevision: 3, TimeUs: us,
		State: &linkfoldv1.Event_Link{Link: &linkfoldv1.Link{
			Domain: "0x1f.ie", Key: "k", Destination: "https://example.com/", LockQuery: true, Inactive: true, Deleted: true, Title: "T", Tags: []string{"a", "b"}, CreatedUs: us}},
	}
	var links LinkRows
	links.Append(4, streamTime, ev)
	ev.Type = linkfoldv1.EventType_EVENT_TYPE_DOMAIN_REMOVED
	ev.State = &linkfoldv1.Event_Domain{Domain: &linkfoldv1.Domain{Name: "d", Tracking: linkfoldv1.Tracking_TRACKING_NONE, Removed: true, CreatedUs: 5,
		Rules: &linkfoldv1.RuleScript{Source: "s", Compiler: 1, Rules: []*linkfoldv1.CompiledRule{{Name: "r"}}}}}
	var domains DomainRows
	domains.Append(5, streamTime, ev)
	var totals TotalsRows
	totals.Append(6, streamTime, &linkfoldv1.Totals{Redirector: "r", StartedUs: us, TimeUs: us, Accepted: 1, Acknowledged: 2, Dropped: 3,
		Buffered: 4, Spilled: 5, Recovered: 6, Resent: 7, Final: true})
	var aside QuarantineRows
	aside.Append(Quarantined{8, streamTime, ReasonUndecodable, "detail", "subject", "a: b\n", []byte("\x00\xff"), "r"})
	a := testAttempt(4, 8)
	at, sat := hitTime.Format(micros), streamTime.Format(micros)
	for _, c := range []struct {
		rows Rows
		want map[string]string
	}{
		{&links, map[string]string{"type": "LinkChanged", "time": at, "stream_time": sat, "actor": "ann", "reason": "why", "command_id": "cmd",
			"previous_revision": "3", "domain": "0x1f.ie", "key": "k", "destination": "https://example.com/", "lock_query": "true", "inactive": "true",
			"deleted": "true", "title": "T", "tags": "['a','b']", "created": at, "_seq": "4"}},
		{&domains, map[string]string{"type": "DomainRemoved", "time": at, "stream_time": sat, "actor": "ann", "reason": "why", "command_id": "cmd",
			"previous_revision": "3", "domain": "d", "tracking": "none", "removed": "true", "created": "1970-01-01 00:00:00.000005",
			"configuration": `{"name":"d","tracking":"TRACKING_NONE","removed":true,"created_us":"5","rules":{"source":"s"}}`, "_seq": "5"}},
		{&totals, map[string]string{"redirector": "r", "started": at, "time": at, "stream_time": sat, "accepted": "1", "acknowledged": "2",
			"dropped": "3", "buffered": "4", "spilled": "5", "recovered": "6", "resent": "7", "final": "true", "_seq": "6"}},
		{&aside, map[string]string{"reason": "undecodable", "detail": "detail", "subject": "subject", "headers": "a: b\n",
			"payload": "\x00\xff", "redirector": "r", "stream_time": sat, "_seq": "8"}},
	} {
		if err := Insert(t.Context(), conn, c.rows, a); err != nil {
			t.Fatal(err)
		}
		c.want["_stream"], c.want["_gen"], c.want["_until"] = "HITS_0", "g1", a.Until.UTC().Format(time.DateTime)
		if diff := cmp.Diff(c.want, readRow(t, conn, c.rows.Table())); diff != "" {
			t.Errorf("%s: %s", c.rows.Table(), diff)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		in   []byte
		want string
	}{
		{nil, "::"}, {[]byte{1, 2, 3}, "::"}, {[]byte{192, 0, 2, 1}, "::ffff:192.0.2.1"},
		{netip.MustParseAddr("2001:db8::1").AsSlice(), "2001:db8::1"},
	} {
		if got := netip.AddrFrom16(ipv6Of(c.in)).String(); got != c.want {
			t.Errorf("%v is %s, want %s", c.in, got, c.want)
		}
	}
}
