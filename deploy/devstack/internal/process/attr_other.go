//go:build unix && !linux

package process

import "syscall"

// attributes: there is no parent-death signal outside Linux; a child that reads its standard input still notices.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
