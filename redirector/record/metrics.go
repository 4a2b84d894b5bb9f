package record

import (
	"github.com/prometheus/client_golang/prometheus"

	"linkfold/schema/linkfoldv1"
)

type metrics struct {
	batch        prometheus.Histogram
	spillErrors  prometheus.Counter
	totalsErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, r *Recorder) *metrics {
	m := &metrics{
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "linkfold_redirector_batch_hits", Help: "Hits in a batch acknowledged at the first attempt.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 500},
		}),
		spillErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "linkfold_redirector_spill_errors_total", Help: "Failures to write or read the spill directory.",
		}),
		totalsErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "linkfold_redirector_totals_errors_total", Help: "Totals that could not be published in time.",
		}),
	}
	reg.MustRegister(m.batch, m.spillErrors, m.totalsErrors)
	for _, g := range []struct {
		name, help string
		value      func(*linkfoldv1.Totals) uint64
	}{
		{"accepted_hits_total", "Requests that became hits and were answered.", (*linkfoldv1.Totals).GetAccepted},
		{"acknowledged_hits_total", "Hits of this instance that the stream has acknowledged.", (*linkfoldv1.Totals).GetAcknowledged},
		{"dropped_hits_total", "Hits lost because memory was full or at shutdown.", (*linkfoldv1.Totals).GetDropped},
		{"resent_hits_total", "Hits sent more than once.", (*linkfoldv1.Totals).GetResent},
		{"recovered_hits_total", "Hits of earlier instances sent from the spill directory.", (*linkfoldv1.Totals).GetRecovered},
	} {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "linkfold_redirector_" + g.name, Help: g.help},
			func() float64 { return float64(g.value(r.Totals())) }))
	}
	for _, g := range []struct {
		name, help string
		value      func(*linkfoldv1.Totals) uint64
	}{
		{"buffered_hits", "Hits in memory, without a durable copy, whose visitors were answered.", (*linkfoldv1.Totals).GetBuffered},
		{"spilled_hits", "Hits in the spill directory, not yet in the stream.", (*linkfoldv1.Totals).GetSpilled},
		{"inherited_hits", "Hits of earlier instances in the spill directory.", (*linkfoldv1.Totals).GetInherited},
	} {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "linkfold_redirector_" + g.name, Help: g.help},
			func() float64 { return float64(g.value(r.Totals())) }))
	}
	return m
}
