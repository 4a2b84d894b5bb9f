package audit

import (
	"context"
	"errors"
	"fmt"
)

// Seen checks that every request that was redirected is in hits exactly once, with the destination that its visitor was sent to. It
// looks at all of them.
func (a *Audit) Seen(ctx context.Context, redirected map[uint64]string) error {
	rows, err := a.db.Query(ctx, "SELECT toUInt64OrZero(extractURLParameter(concat('?', query), 'id')) AS id, count(), any(destination) FROM hits GROUP BY id")
	if err != nil {
		return fmt.Errorf("list hits: %w", err)
	}
	defer rows.Close()
	found, twice, elsewhere := 0, 0, 0
	for rows.Next() {
		var id, n uint64
		var destination string
		if err := rows.Scan(&id, &n, &destination); err != nil {
			return fmt.Errorf("list hits: %w", err)
		}
		want, seen := redirected[id]
		if !seen {
			continue // Its visitor got no answer, or another one.
		}
		found++
		if n > 1 {
			twice++
		}
		if destination != want {
			elsewhere++
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("list hits: %w", err)
	}
	if found != len(redirected) || twice > 0 || elsewhere > 0 {
		return fmt.Errorf("of %d redirected requests %d are missing, %d stored twice, %d with another destination",
			len(redirected), len(redirected)-found, twice, elsewhere)
	}
	return nil
}

// questions each have the answer 0 when all is well.
var questions = []struct{ what, sql string }{
	{"hit ids stored more than once", "SELECT count() FROM (SELECT id FROM hits GROUP BY id HAVING count() > 1)"},
	{"request ids stored more than once", "SELECT count() FROM (SELECT extractURLParameter(concat('?', query), 'id') AS r FROM hits WHERE r != '' GROUP BY r HAVING count() > 1)"},
	{"messages that cannot be decoded", "SELECT count() FROM quarantine WHERE reason != 'duplicate'"},
	{"redirects whose destination is not that of their link's revision with the visitor's query", `SELECT count() FROM hits AS h
LEFT JOIN link_events AS e ON h.link_rev = e._seq AND h.domain = e.domain AND h.key = e.key
WHERE h.outcome = 'redirected' AND h.destination != concat(e.destination, if(h.query = '', '', concat('?', h.query)))`},
	{"gaps", "SELECT count() FROM ingest_gaps FINAL"},
}

// Rows checks what must hold of the tables alone.
func (a *Audit) Rows(ctx context.Context) error {
	var errs []error
	for _, q := range questions {
		var n uint64
		if err := a.db.QueryRow(ctx, q.sql).Scan(&n); err != nil {
			errs = append(errs, fmt.Errorf("count %s: %w", q.what, err))
		} else if n > 0 {
			errs = append(errs, fmt.Errorf("%d %s", n, q.what))
		}
	}
	return errors.Join(errs...)
}

// Counts is what the tables hold.
type Counts struct{ Hits, Redirected, Copies, LinkEvents uint64 }

// Counts counts rows.
func (a *Audit) Counts(ctx context.Context) (c Counts, err error) {
	err = a.db.QueryRow(ctx, `SELECT (SELECT count() FROM hits), (SELECT count() FROM hits WHERE outcome = 'redirected'),
(SELECT count() FROM quarantine WHERE reason = 'duplicate'), (SELECT count() FROM link_events)`).Scan(&c.Hits, &c.Redirected, &c.Copies, &c.LinkEvents)
	if err != nil {
		return c, fmt.Errorf("count rows: %w", err)
	}
	return c, nil
}

// Balance is the ledger over all redirectors that ever lived.
type Balance struct {
	Accepted, Stored, Quarantined, Dropped uint64
	Pending                                int64
	// Unanswered is the part of Pending that was in the memory of redirectors when they reported last and were killed before it was
	// durable: those visitors got no answer.
	Unanswered int64
}

// Reported checks that the ledger has the newest report of a redirector that has taken on this many hits.
func (a *Audit) Reported(ctx context.Context, accepted uint64) error {
	var n uint64
	if err := a.db.QueryRow(ctx, "SELECT count() FROM ledger WHERE accepted_reported = ?", accepted).Scan(&n); err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	if n == 0 {
		return fmt.Errorf("no redirector has reported %d hits", accepted)
	}
	return nil
}

// Ledger reads the balance.
func (a *Audit) Ledger(ctx context.Context) (b Balance, err error) {
	err = a.db.QueryRow(ctx, `SELECT sum(accepted), sum(stored), sum(quarantined), sum(dropped), sum(pending), sum(if(final, 0, greatest(0, least(pending, toInt64(buffered)))))
FROM ledger`).Scan(&b.Accepted, &b.Stored, &b.Quarantined, &b.Dropped, &b.Pending, &b.Unanswered)
	if err != nil {
		return b, fmt.Errorf("read ledger: %w", err)
	}
	return b, nil
}

// Balanced checks that the ledger leaves nothing out, once everything has arrived: seen is what the visitors know of.
func (a *Audit) Balanced(ctx context.Context, seen uint64) error {
	b, err := a.Ledger(ctx)
	if err != nil {
		return err
	}
	if b.Pending != b.Unanswered || b.Dropped != 0 || b.Accepted < seen {
		return fmt.Errorf("%d redirects seen: %+v", seen, b)
	}
	return nil
}
