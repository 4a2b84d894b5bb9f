// Package e2e tests Linkfold from the outside: every part is a process of its own, as on a real machine, and is killed and frozen while
// visitors and authors are at work. Afterwards ClickHouse, Redis and the streams have to tell the same story as the visitors do.
//
// It also holds the test of the import table of DESIGN.md §1. Everything here is a test; the harness is in the packages below internal.
package e2e
