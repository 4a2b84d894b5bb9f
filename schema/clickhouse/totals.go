package clickhouse

import (
	"time"

	"linkfold/schema/linkfoldv1"
)

// TotalsRows is a block of the redirector_totals table.
type TotalsRows struct {
	seqs
	redirector                                                            col[string]
	started, time, streamTime                                             col[time.Time]
	accepted, acknowledged, dropped, buffered, spilled, recovered, resent col[uint64]
	final                                                                 col[bool]
}

// Table implements Rows.
func (r *TotalsRows) Table() string { return Totals }

// Truncate implements Rows.
func (r *TotalsRows) Truncate(n int) { truncate(r.columns(), n) }

// Append adds the row of one report of a redirector.
func (r *TotalsRows) Append(seq uint64, streamTime time.Time, t *linkfoldv1.Totals) {
	r.seq.add(seq)
	r.redirector.add(t.GetRedirector())
	r.started.add(time.UnixMicro(t.GetStartedUs()))
	r.time.add(time.UnixMicro(t.GetTimeUs()))
	r.streamTime.add(streamTime)
	r.accepted.add(t.GetAccepted())
	r.acknowledged.add(t.GetAcknowledged())
	r.dropped.add(t.GetDropped())
	r.buffered.add(t.GetBuffered())
	r.spilled.add(t.GetSpilled())
	r.recovered.add(t.GetRecovered())
	r.resent.add(t.GetResent())
	r.final.add(t.GetFinal())
}

func (r *TotalsRows) columns() []column {
	return []column{
		{"redirector", &r.redirector}, {"started", &r.started}, {"time", &r.time}, {"stream_time", &r.streamTime},
		{"accepted", &r.accepted}, {"acknowledged", &r.acknowledged}, {"dropped", &r.dropped},
		{"buffered", &r.buffered}, {"spilled", &r.spilled}, {"recovered", &r.recovered},
		{"resent", &r.resent}, {"final", &r.final}, {"_seq", &r.seq},
	}
}
