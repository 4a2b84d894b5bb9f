package main

import (
	"math"
	"slices"
	"time"
)

// median is the middle value, or the mean of the two middle ones; NaN for none.
func median(v []float64) float64 { return percentile(v, 50) }

// percentile is the p-th percentile (0 to 100) with linear interpolation between neighbours; NaN for no values. v is left as it is.
func percentile(v []float64, p float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(v))
	at := p / 100 * float64(len(s)-1)
	low := int(at)
	if low+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[low] + (at-float64(low))*(s[low+1]-s[low])
}

// ratio is the median of a[i]/b[i]. Both values of a pair come from the same round, so that what disturbed the machine in
// one round disturbs neither side more.
func ratio(a, b []float64) float64 {
	var r []float64
	for i := range min(len(a), len(b)) {
		if b[i] != 0 {
			r = append(r, a[i]/b[i])
		}
	}
	return median(r)
}

// samples are the values that one contestant got in each round, by name of the value.
type samples map[string][]float64

func (s samples) add(name string, v float64)    { s[name] = append(s[name], v) }
func (s samples) median(name string) float64    { return median(s[name]) }
func milliseconds(d time.Duration) float64      { return float64(d) / float64(time.Millisecond) }
func rate(n int, elapsed time.Duration) float64 { return float64(n) / elapsed.Seconds() }

// perUnit is CPU time per unit of work in microseconds.
func perUnit(cpu time.Duration, n int) float64 {
	return float64(cpu) / float64(time.Microsecond) / float64(n)
}
