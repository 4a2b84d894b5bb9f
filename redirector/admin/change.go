package admin

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"linkfold/schema/link"
)

// Change is what every changing request may carry.
type Change struct {
	IfMatch        string `header:"If-Match" doc:"Revision that the change is based on, as in ETag."`
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"128" doc:"Repeating a request with the same key changes nothing twice."`
	Reason         string `header:"Linkfold-Reason" maxLength:"512" doc:"Why; kept in the history."`
}

// check refuses what could not be kept in an event.
func (c *Change) check() error {
	for name, v := range map[string]string{"Idempotency-Key": c.IdempotencyKey, "Linkfold-Reason": c.Reason} {
		if !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
			return link.Invalid("header %s holds control characters or is not valid UTF-8", name)
		}
	}
	return nil
}

func etag(rev uint64) string { return `"` + strconv.FormatUint(rev, 10) + `"` }

// parseETag reads an If-Match value; 0 when there is none.
func parseETag(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	rev, err := strconv.ParseUint(strings.Trim(strings.TrimPrefix(s, "W/"), `"`), 10, 64)
	if err != nil || rev == 0 {
		return 0, link.Invalid("If-Match %q is no revision: send the ETag of your last read", s)
	}
	return rev, nil
}

// commandID is the client's idempotency key, or a new id.
func commandID(key string) string {
	if key != "" {
		return key
	}
	return uuid.Must(uuid.NewV7()).String()
}
