package process

import "syscall"

// attributes: the kernel kills the child when its parent ends, also when the parent was killed with SIGKILL and could
// not do anything itself. SIGKILL and not SIGTERM, because it cannot be ignored; each of the servers is required to
// survive it anyway.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
