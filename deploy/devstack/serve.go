package devstack

import (
	"context"
	"errors"
	"fmt"
)

// RunServer runs one server in the foreground until ctx ends, and then stops it cleanly, so that a process manager, or a
// test that kills processes, can have each server alone. Of the configuration it takes the directory, the ports and
// the limits. ready, unless it is nil, is called once with the server's URL when it answers. It returns nil after a
// clean stop, and a *DiedError when the server ends by itself. Several servers may run in the same directory, each in a process of its own.
func RunServer(ctx context.Context, which Server, c Config, ready func(url string)) error {
	c.NATS, c.Redis, c.ClickHouse = which == NATS, which == Redis, which == ClickHouse
	c.NATSURL, c.RedisURL, c.ClickHouseDSN = "", "", ""
	if !c.NATS && !c.Redis && !c.ClickHouse {
		return fmt.Errorf("run server %q: not one of nats, redis, clickhouse", which)
	}
	s, err := Start(ctx, c)
	if err != nil {
		return err
	}
	if ready != nil {
		ready(s.url(which))
	}
	return errors.Join(s.Wait(ctx), s.Close(context.WithoutCancel(ctx)))
}
