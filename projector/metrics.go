package projector

import (
	"github.com/prometheus/client_golang/prometheus"

	"linkfold/projector/internal/feed"
)

// register adds the gauges of the active generation to those of the feeders.
func (s *supervisor) register(reg prometheus.Registerer) {
	if reg == nil {
		return
	}
	gauge := func(name, help string, value func(*feed.Feeder) float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "linkfold_projector_" + name, Help: help}, func() float64 {
			if f := s.active.Load(); f != nil {
				return value(f)
			}
			return 0
		}))
	}
	gauge("generation_info", "Number of the active generation.", func(f *feed.Feeder) float64 { return float64(f.Generation) })
	gauge("lag_events", "Events of LINKS that the active generation does not have yet.",
		func(f *feed.Feeder) float64 { return float64(f.Status().Lag()) })
	gauge("cursor_events", "LINKS sequence up to which every partition is complete.",
		func(f *feed.Feeder) float64 { return float64(f.Status().Cursor) })
}
