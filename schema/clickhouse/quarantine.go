package clickhouse

import "time"

// QuarantineRows is a block of the quarantine table.
type QuarantineRows struct {
	seqs
	reason, detail, subject, headers, payload, redirector col[string]
	streamTime                                            col[time.Time]
}

// Quarantined is one message that was set aside.
type Quarantined struct {
	Seq        uint64
	StreamTime time.Time
	Reason     string // one of the Reason constants
	Detail     string
	Subject    string
	Headers    string // one "name: value" per line
	Payload    []byte
	Redirector string // empty when not known
}

// Table implements Rows.
func (r *QuarantineRows) Table() string { return Quarantine }

// Truncate implements Rows.
func (r *QuarantineRows) Truncate(n int) { truncate(r.columns(), n) }

// Append adds the row of a message; the payload is copied.
func (r *QuarantineRows) Append(q Quarantined) {
	r.seq.add(q.Seq)
	r.streamTime.add(q.StreamTime)
	r.reason.add(q.Reason)
	r.detail.add(q.Detail)
	r.subject.add(q.Subject)
	r.headers.add(q.Headers)
	r.payload.add(string(q.Payload))
	r.redirector.add(q.Redirector)
}

// Reasons are the reasons of the rows, in the order of the rows. The slice is the block's own.
func (r *QuarantineRows) Reasons() []string { return r.reason }

func (r *QuarantineRows) columns() []column {
	return []column{
		{"reason", &r.reason}, {"detail", &r.detail}, {"subject", &r.subject}, {"headers", &r.headers},
		{"payload", &r.payload}, {"redirector", &r.redirector}, {"stream_time", &r.streamTime}, {"_seq", &r.seq},
	}
}
