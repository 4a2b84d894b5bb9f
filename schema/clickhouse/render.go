package clickhouse

import (
	"fmt"
	"strings"
	"text/template"
)

// Options say what kind of ClickHouse the structure is for. The zero value is a single server.
type Options struct {
	// Cluster is the name of a cluster: definitions are then run ON CLUSTER and tables are replicated, with the macros
	// {shard} and {replica} that the servers define. Empty: one server, plain tables.
	Cluster string
}

// OnCluster is the clause after the name of what is created; empty on a single server. For templates.
func (o Options) OnCluster() string {
	if o.Cluster == "" {
		return ""
	}
	return " ON CLUSTER `" + strings.ReplaceAll(o.Cluster, "`", "\\`") + "`"
}

// Engine is the engine clause of a table of the MergeTree family. For templates.
func (o Options) Engine(name string, args ...string) string {
	if o.Cluster != "" {
		name = "Replicated" + name
		args = append([]string{"'/clickhouse/tables/{shard}/{database}/{table}'", "'{replica}'"}, args...)
	}
	if len(args) == 0 {
		return name
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// DedupWindow is the table setting for how many tokens of inserts are remembered. For templates.
func (o Options) DedupWindow() string {
	if o.Cluster == "" {
		return "non_replicated_deduplication_window"
	}
	return "replicated_deduplication_window"
}

// render fills in a step's template.
func (o Options) render(name, text string) (string, error) {
	t, err := template.New(name).Parse(text)
	if err != nil {
		return "", fmt.Errorf("parse migration %s: %w", name, err)
	}
	var b strings.Builder
	if err := t.Execute(&b, o); err != nil {
		return "", fmt.Errorf("render migration %s: %w", name, err)
	}
	return b.String(), nil
}
