package main

import "syscall"

// attributes: the kernel kills the child when the thread that started it ends, also when this process is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
