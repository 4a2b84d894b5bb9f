package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc on every Linux that Go runs on (USER_HZ).
const tick = 10 * time.Millisecond

// errStat means that /proc does not look as expected.
var errStat = errors.New("unexpected process status")

// cpuTime is the user and system time that a process has used, all its threads together.
func cpuTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, fmt.Errorf("read cpu time: %w", err)
	}
	return parseStat(b)
}

// parseStat reads fields 14 and 15 of /proc/<pid>/stat, proc(5). The second field is the command in parentheses and may hold anything.
func parseStat(stat []byte) (time.Duration, error) {
	_, rest, ok := bytes.Cut(stat, []byte{'('})
	if i := bytes.LastIndexByte(rest, ')'); ok && i >= 0 {
		if f := strings.Fields(string(rest[i+1:])); len(f) > 12 {
			user, err1 := strconv.ParseUint(f[11], 10, 63)
			system, err2 := strconv.ParseUint(f[12], 10, 63)
			if err := errors.Join(err1, err2); err != nil {
				return 0, fmt.Errorf("read cpu time: %w", err)
			}
			return time.Duration(user+system) * tick, nil
		}
	}
	return 0, errStat
}

// cpuTimes are the times of several processes, by their names here.
type cpuTimes map[string]time.Duration

func readCPU(pids map[string]int) (cpuTimes, error) {
	c := cpuTimes{}
	for name, pid := range pids {
		t, err := cpuTime(pid)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c[name] = t
	}
	return c, nil
}

// since is what was used since before.
func (c cpuTimes) since(before cpuTimes) cpuTimes {
	d := cpuTimes{}
	for name, t := range c {
		d[name] = t - before[name]
	}
	return d
}

func (c cpuTimes) sum() time.Duration {
	var s time.Duration
	for _, t := range c {
		s += t
	}
	return s
}

// machine describes where the numbers come from, without names.
func machine() string {
	model, memory := "unknown processor", ""
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		model = value(string(b), "model name", model)
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		if kb, err := strconv.Atoi(strings.TrimSuffix(value(string(b), "MemTotal", ""), " kB")); err == nil {
			memory = fmt.Sprintf(", %d GiB of memory", (kb+1<<19)>>20)
		}
	}
	return fmt.Sprintf("%d cores of %s%s, %s %s/%s", runtime.NumCPU(), model, memory, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// value is what follows the first "name :" in a file of such lines.
func value(text, name, otherwise string) string {
	for line := range strings.Lines(text) {
		k, v, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return otherwise
}
