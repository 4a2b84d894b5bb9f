package worker

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"linkfold/ingest/internal/sink"
)

// alertKind is the label of alerts: a closed set.
type alertKind string

const (
	alertDoubled      alertKind = "doubled"       // a message is stored twice
	alertGap          alertKind = "gap"           // messages left the stream before they were stored
	alertCursorLost   alertKind = "cursor_lost"   // there are rows and no cursor
	alertCursorBehind alertKind = "cursor_behind" // there are rows above the cursor
	alertEmptied      alertKind = "emptied"       // there is a cursor and no row
	alertRecreated    alertKind = "recreated"     // the stream was made again
	alertBehind       alertKind = "stream_behind" // the stream ends before its cursor
)

// Metrics are those of all workers of a process.
type Metrics struct {
	rows, batches, quarantined, recoveries, lost, alerts *prometheus.CounterVec
	insertSeconds, batchSeconds                          *prometheus.HistogramVec
	done, active                                         *prometheus.GaugeVec
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		rows:        counter("rows_total", "Messages stored, quarantined ones included.", "stream"),
		batches:     counter("batches_total", "Batches stored.", "stream"),
		quarantined: counter("quarantined_total", "Messages set aside, by reason.", "stream", "reason"),
		recoveries:  counter("recoveries_total", "Pending ranges whose outcome had to be read from the data.", "stream"),
		lost:        counter("lost_total", "Messages that left the stream before they were stored.", "stream"),
		alerts:      counter("alerts_total", "Things an operator must look at, by kind.", "stream", "kind"),
		insertSeconds: histogram("insert_seconds", "Time of one insert into ClickHouse, all tables of a batch.",
			"stream"),
		batchSeconds: histogram("batch_seconds", "Time from a full batch to its cursor.", "stream"),
		done:         gauge("done_seq", "Last sequence of the stored prefix.", "stream"),
		active:       gauge("active", "1 while this process stores the stream, 0 while it stands by.", "stream"),
	}
	r.MustRegister(m.rows, m.batches, m.quarantined, m.recoveries, m.lost, m.alerts, m.insertSeconds, m.batchSeconds,
		m.done, m.active)
	return m
}

// streamMetrics are those of one stream.
type streamMetrics struct {
	rows, batches, recoveries, lost prometheus.Counter
	quarantined                     *prometheus.CounterVec
	insertSeconds, batchSeconds     prometheus.Observer
	done, active                    prometheus.Gauge
}

func (m *Metrics) of(stream string) *streamMetrics {
	return &streamMetrics{
		rows: m.rows.WithLabelValues(stream), batches: m.batches.WithLabelValues(stream),
		recoveries: m.recoveries.WithLabelValues(stream), lost: m.lost.WithLabelValues(stream),
		quarantined:   m.quarantined.MustCurryWith(prometheus.Labels{"stream": stream}),
		insertSeconds: m.insertSeconds.WithLabelValues(stream), batchSeconds: m.batchSeconds.WithLabelValues(stream),
		done: m.done.WithLabelValues(stream), active: m.active.WithLabelValues(stream),
	}
}

// stored counts a batch.
func (m *streamMetrics) stored(b *sink.Batch, took time.Duration) {
	m.rows.Add(float64(b.Len()))
	m.batches.Inc()
	m.batchSeconds.Observe(took.Seconds())
	for reason, n := range b.Reasons() {
		m.quarantined.WithLabelValues(reason).Add(float64(n))
	}
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "linkfold", Subsystem: "ingest", Name: name, Help: help}, labels)
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "linkfold", Subsystem: "ingest", Name: name, Help: help}, labels)
}

func histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "linkfold", Subsystem: "ingest", Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.002, 2, 13),
	}, labels)
}
