package links

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	cacheHits, redisHits, streamHits, stale prometheus.Counter
	redisErrors, streamErrors               prometheus.Counter
	events, badEvents                       prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, s *Store) *metrics {
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "linkfold_redirector_lookups_total", Help: "Lookups by the source that answered; stale: an old answer because none could be asked.",
	}, []string{"source"})
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "linkfold_redirector_lookup_errors_total", Help: "Failed reads by source.",
	}, []string{"source"})
	events := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "linkfold_redirector_events_total", Help: "LINKS events applied to the near cache, or skipped as undecodable.",
	}, []string{"result"})
	reg.MustRegister(answers, failures, events, prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "linkfold_redirector_cache_entries", Help: "Links and domains in the near cache."},
		func() float64 { return float64(s.cache.len()) }))
	return &metrics{
		cacheHits: answers.WithLabelValues("cache"), redisHits: answers.WithLabelValues("redis"),
		streamHits: answers.WithLabelValues("stream"), stale: answers.WithLabelValues("stale"),
		redisErrors: failures.WithLabelValues("redis"), streamErrors: failures.WithLabelValues("stream"),
		events: events.WithLabelValues("applied"), badEvents: events.WithLabelValues("skipped"),
	}
}
