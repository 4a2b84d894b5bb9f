package fleet

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// attributes: a group of its own, so that Ctrl-C reaches the test alone, and no life after the test's.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Children are the processes that pid has started, directly or through others, and that are alive.
func Children(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	byParent := map[int][]int{}
	for _, e := range entries {
		if c, err := strconv.Atoi(e.Name()); err == nil {
			if parent, state := status(c); state != 'Z' {
				byParent[parent] = append(byParent[parent], c)
			}
		}
	}
	all := byParent[pid]
	for i := 0; i < len(all); i++ {
		all = append(all, byParent[all[i]]...)
	}
	return all
}

// Alive reports whether the process exists and is more than an entry that waits to be collected.
func Alive(pid int) bool {
	parent, state := status(pid)
	return parent != 0 && state != 'Z'
}

// status is a process's parent and state; 0, 0 when it does not exist.
func status(pid int) (parent int, state byte) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	// The name, in parentheses, may hold anything: look behind its end.
	s := string(b)
	fields := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(fields) < 2 {
		return 0, 0
	}
	parent, err = strconv.Atoi(fields[1])
	if err != nil {
		return 0, 0
	}
	return parent, fields[0][0]
}
