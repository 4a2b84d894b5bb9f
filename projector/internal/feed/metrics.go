package feed

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are shared by all feeders of a process.
type Metrics struct {
	events  prometheus.Counter
	bad     prometheus.Counter
	gaps    prometheus.Counter
	rewinds prometheus.Counter
	batch   prometheus.Histogram
	seconds prometheus.Histogram
}

// NewMetrics makes the metrics and registers them with reg, which may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "linkfold_projector_" + name, Help: help})
	}
	m := &Metrics{
		events:  counter("events_applied_total", "Events written to Redis."),
		bad:     counter("events_skipped_total", "LINKS messages that are not events."),
		gaps:    counter("gaps_total", "Times that a partition had lost events."),
		rewinds: counter("rewinds_total", "Times that reading started again from the cursors."),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "linkfold_projector_batch_events",
			Help: "Events in one round trip to Redis.", Buckets: prometheus.ExponentialBuckets(1, 4, 8)}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "linkfold_projector_apply_seconds",
			Help: "Time of one round trip to Redis with events.", Buckets: prometheus.ExponentialBuckets(0.0002, 3, 9)}),
	}
	if reg != nil {
		reg.MustRegister(m.events, m.bad, m.gaps, m.rewinds, m.batch, m.seconds)
	}
	return m
}

func (m *Metrics) flushed(applied int, took time.Duration) {
	if applied == 0 {
		return
	}
	m.events.Add(float64(applied))
	m.batch.Observe(float64(applied))
	m.seconds.Observe(took.Seconds())
}
