// Command redirector answers short links and serves the authors' API; see package redirector.
package main

import (
	"os"

	"linkfold/redirector/command"
)

func main() { os.Exit(command.Main("redirector", os.Args[1:])) }
