package redirector

import (
	"errors"
	"fmt"

	"linkfold/redirector/limit"
	"linkfold/redirector/links"
	"linkfold/redirector/record"
	"linkfold/redirector/visitor"
	"linkfold/schema/link"
	"linkfold/schema/stream"
)

// Config is everything a redirector can be told. The tags make the flags, the LINKFOLD_* variables and the help text.
type Config struct {
	Listen         string   `help:"Public redirect listener." default:":8080"`
	Admin          string   `help:"Admin listener (API); keep it off the internet." default:"127.0.0.1:8081"`
	DefaultDomain  string   `help:"Domain for hosts that are not registered; empty: they get 404."`
	TrustedProxies []string `help:"Addresses and networks whose X-Forwarded-For is believed."`
	AccessLog      string   `help:"Access log file, - for standard output, empty for none."`
	TokenFile      string   `help:"File with the admin bearer token; made with a random one when it does not exist." default:"admin.token" type:"path"`
	Partition      int      `help:"HITS partition that this redirector writes to." default:"0"`

	Streams stream.Config `embed:"" prefix:"streams-"`
	Links   links.Config  `embed:"" prefix:"links-"`
	Record  record.Config `embed:"" prefix:"hits-"`
	Limit   limit.Config  `embed:"" prefix:"limit-"`
}

// Validate names every setting that makes no sense.
func (c *Config) Validate() error {
	errs := []error{c.Streams.Validate(), c.Links.Validate(), c.Record.Validate(), c.Limit.Validate()}
	if c.Partition < 0 || c.Partition >= c.Streams.Partitions {
		errs = append(errs, fmt.Errorf("partition %d: give 0 to %d, there are %d", c.Partition, c.Streams.Partitions-1, c.Streams.Partitions))
	}
	if c.Listen == c.Admin {
		errs = append(errs, fmt.Errorf("listen and admin are both %s: give two addresses", c.Listen))
	}
	if c.TokenFile == "" {
		errs = append(errs, errors.New("token file is empty: name a file"))
	}
	if c.DefaultDomain != "" {
		if _, err := link.NormalizeDomain(c.DefaultDomain); err != nil {
			errs = append(errs, fmt.Errorf("default domain: %w", err))
		}
	}
	if _, err := visitor.ParseProxies(c.TrustedProxies); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
