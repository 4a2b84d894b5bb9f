package service

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewRegistry returns a metrics registry of its own, which has the metrics of the Go runtime and of the process.
// Services register theirs under linkfold_<service>_<noun>_<unit>; CheckNames tells.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// metricName is linkfold_<service>_<noun>_<unit>; the noun may have several words.
var metricName = regexp.MustCompile(`^linkfold_[a-z]+(_[a-z0-9]+)+_(total|seconds|bytes|ratio|info|[a-z]+s)$`)

// personalLabels must never be labels: any visitor could mint series with them, and some are personal.
var personalLabels = map[string]bool{"key": true, "path": true, "address": true, "ip": true, "host": true, "url": true, "user_agent": true}

// CheckNames returns an error for every metric of g whose name or labels break the rules of DESIGN.md section 10. The
// metrics of the runtime and of the process (go_, process_) are let pass. It is for tests.
func CheckNames(g prometheus.Gatherer) error {
	families, err := g.Gather()
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range families {
		name := f.GetName()
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		if !metricName.MatchString(name) {
			errs = append(errs, fmt.Errorf("metric %s: name it linkfold_<service>_<noun>_<unit>", name))
		}
		for _, l := range f.GetMetric()[0].GetLabel() { // a gathered family has at least one
			if personalLabels[l.GetName()] {
				errs = append(errs, fmt.Errorf("metric %s: %s must not be a label", name, l.GetName()))
			}
		}
	}
	return errors.Join(errs...)
}
