package queries

import (
	"reflect"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// newOf is a pointer to a fresh value of the Go type that the driver gives for a column.
func newOf(ct driver.ColumnType) any { return reflect.New(ct.ScanType()).Interface() }

func deref(p any) any { return reflect.ValueOf(p).Elem().Interface() }
