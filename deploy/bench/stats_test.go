package main

import (
	"math"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	for _, c := range []struct {
		v       []float64
		p, want float64
	}{
		{[]float64{7}, 50, 7},
		{[]float64{3, 1, 2}, 50, 2},
		{[]float64{4, 1, 3, 2}, 50, 2.5},
		{[]float64{1, 2, 3, 4, 5}, 0, 1},
		{[]float64{1, 2, 3, 4, 5}, 100, 5},
		{[]float64{10, 20}, 99, 19.9},
		{nil, 50, math.NaN()},
	} {
		got := percentile(c.v, c.p)
		if math.Abs(got-c.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("percentile(%v, %v) = %v, want %v", c.v, c.p, got, c.want)
		}
	}
}

func TestPercentileKeepsItsInput(t *testing.T) {
	v := []float64{3, 1, 2}
	percentile(v, 50)
	if v[0] != 3 || v[1] != 1 || v[2] != 2 {
		t.Errorf("input became %v", v)
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"round by round", []float64{2, 20, 3}, []float64{1, 10, 3}, 2},
		{"a round with nothing to compare is left out", []float64{4, 5}, []float64{2, 0}, 2},
		{"nothing", nil, nil, math.NaN()},
	} {
		if got := ratio(c.a, c.b); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestRates(t *testing.T) {
	if got := rate(300, 2*time.Second); got != 150 {
		t.Errorf("rate = %v, want 150", got)
	}
	if got := perUnit(time.Second, 1000); got != 1000 {
		t.Errorf("perUnit = %v, want 1000 µs", got)
	}
}
