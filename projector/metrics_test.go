package projector_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"linkfold/deploy/service"
	"linkfold/projector"
)

func TestMetricsAndReadiness(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	registry := prometheus.NewRegistry()
	var check atomic.Pointer[func(context.Context) error]
	w.deps.Registry = registry
	w.deps.Check = func(_ string, c func(context.Context) error) { check.Store(&c) }
	w.some(12)
	w.start(projector.Config{})
	w.whole("fill")
	w.eventually("ready", func() string {
		c := check.Load()
		if c == nil {
			return "no check registered"
		}
		if err := (*c)(t.Context()); err != nil {
			return err.Error()
		}
		return ""
	})
	if err := service.CheckNames(registry); err != nil {
		t.Error(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		m := f.GetMetric()[0]
		got[f.GetName()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	for name, want := range map[string]float64{
		"linkfold_projector_generation_info": 1, "linkfold_projector_lag_events": 0, "linkfold_projector_cursor_events": 16,
		"linkfold_projector_gaps_total": 0, "linkfold_projector_events_applied_total": 12,
	} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
}
