package service

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestCheckNames(t *testing.T) {
	for _, c := range []struct {
		name, label string
		bad         string
	}{
		{"linkfold_redirector_requests_total", "outcome", ""},
		{"linkfold_ingest_insert_seconds", "stream", ""},
		{"linkfold_redirector_spill_pending_bytes", "", ""},
		{"linkfold_ingest_pending_hits", "", ""},
		{"redirector_requests_total", "", "name it"},
		{"linkfold_requests", "", "name it"},
		{"linkfold_redirector_requests_total", "path", "path must not be a label"},
	} {
		r := NewRegistry()
		var labels []string
		var values []string
		if c.label != "" {
			labels, values = []string{c.label}, []string{"x"}
		}
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: c.name, Help: "h"}, labels)
		r.MustRegister(v)
		v.WithLabelValues(values...).Inc()
		err := CheckNames(r)
		if (err == nil) != (c.bad == "") || err != nil && !strings.Contains(err.Error(), c.bad) {
			t.Errorf("%s{%s}: %v", c.name, c.label, err)
		}
	}
}
