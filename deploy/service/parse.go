package service

import (
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

// EnvPrefix begins the environment variable of every flag: --nats-url is LINKFOLD_NATS_URL, unless the flag's env tag
// says otherwise. A flag on the command line wins over its variable.
const EnvPrefix = "LINKFOLD"

// ErrHelp says that help was asked for and has been printed; the program then ends with code 0.
var ErrHelp = errors.New("help was printed")

// Program describes a command line to Parse.
type Program struct {
	Name        string
	Description string    // what the program does, for --help
	Out         io.Writer // gets the help
	Options     []kong.Option
}

// Parse reads arguments (without the program's name) and environment variables into cli, a pointer to a struct with
// kong tags. Structs in it with a method Validate() error are asked whether their values make sense, if they are cli
// itself, a command, or embedded without a name. Parse never ends the process: it returns ErrHelp after printing help,
// and otherwise an error that names the flag.
func Parse(args []string, cli any, p Program) (*kong.Context, error) {
	ended := false
	options := append([]kong.Option{
		kong.Name(p.Name), kong.Description(p.Description),
		kong.DefaultEnvars(EnvPrefix),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.Writers(p.Out, p.Out),
		kong.Exit(func(int) { ended = true }), // kong's help flag exits; a library must not
	}, p.Options...)
	k, err := kong.New(cli, options...)
	if err != nil {
		return nil, fmt.Errorf("describe command line: %w", err)
	}
	ctx, err := k.Parse(args)
	if ended {
		return nil, ErrHelp
	}
	if err != nil {
		return nil, fmt.Errorf("%w (see %s --help)", err, p.Name)
	}
	return ctx, nil
}
