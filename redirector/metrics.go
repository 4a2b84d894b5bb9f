package redirector

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"linkfold/schema/event"
	"linkfold/schema/linkfoldv1"
)

// metrics of the request path. Labels come from the closed set of outcomes, never from a request.
type metrics struct {
	requests [16]prometheus.Counter // by outcome
	limited  [16]prometheus.Counter // by the outcome that a limited request would have had
	latency  prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer) *metrics {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "linkfold_redirector_requests_total", Help: "Requests on the public listener by outcome.",
	}, []string{"outcome"})
	limited := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "linkfold_redirector_limited_total", Help: "Requests refused because their client had too many misses, by what they would have got; unknown_domain: it keeps asking for hosts that are not here.",
	}, []string{"outcome"})
	m := &metrics{latency: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "linkfold_redirector_request_seconds", Help: "From the first byte to the answer, the wait for durability included.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1},
	})}
	reg.MustRegister(requests, limited, m.latency)
	for n := range linkfoldv1.Outcome_name {
		m.requests[n] = requests.WithLabelValues(event.OutcomeName(linkfoldv1.Outcome(n)))
		if d := (decision{outcome: linkfoldv1.Outcome(n)}); d.miss() {
			m.limited[n] = limited.WithLabelValues(event.OutcomeName(d.outcome))
		}
	}
	return m
}

func (m *metrics) observe(o linkfoldv1.Outcome, d time.Duration) {
	m.requests[o].Inc()
	m.latency.Observe(d.Seconds())
}
