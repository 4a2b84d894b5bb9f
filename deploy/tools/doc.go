// Package tools pins the programs that the Taskfile runs through "go tool": nothing imports it.
package tools
