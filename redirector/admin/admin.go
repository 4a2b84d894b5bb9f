// Package admin is the API for authors: create, read, change, switch off, delete and look back at links and domains (DESIGN.md §4).
//
// Every change is one event in LINKS, written with the revision that its author saw. Nothing is read from Redis: the API answers
// from the stream, so it is never behind. Errors are RFC 9457 problem details. The OpenAPI 3.1 document is served at /openapi.json.
package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/nats-io/nats.go/jetstream"

	"linkfold/schema/link"
	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// maxBody is the largest request body, bytes.
const maxBody = 64 << 10

// Config is what the API needs besides the stream.
type Config struct {
	// Token is the bearer token that every request must carry.
	Token string
	// DefaultDomain is used for links that are created without one; may be empty.
	DefaultDomain string
	// Partitions is the number of HITS streams, which dry runs read.
	Partitions int
	// Written is called with every event that was written, before its author gets the answer, so that it is live in this process by then; may
	// be nil.
	Written func(a stream.Aggregate, revision uint64, ev *linkfoldv1.Event)
	// Preview answers past requests for dry runs; nil: there are none.
	Preview Preview
}

// api holds the operations.
type api struct {
	cfg    Config
	writer *Writer
	log    *slog.Logger
	trying sync.Mutex // one dry run at a time
}

// New is the handler of the admin listener.
func New(cfg Config, js jetstream.JetStream, log *slog.Logger) http.Handler {
	a := &api{cfg: cfg, writer: NewWriter(js), log: log}
	a.writer.written = cfg.Written
	mux := http.NewServeMux()
	hc := huma.DefaultConfig("Linkfold", "1")
	hc.Info.Description = "Short links whose every change and every hit is an event."
	hc.DocsPath = "" // The stock page loads scripts from elsewhere.
	hc.CreateHooks = nil
	hc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	hc.Security = []map[string][]string{{"token": {}}}
	h := humago.New(mux, hc)
	a.registerLinks(h)
	a.registerDomains(h)
	a.registerQR(h)
	return a.authenticate(mux)
}

// authenticate lets requests with the token through, and everybody to the OpenAPI document.
func (a *api) authenticate(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(a.cfg.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/openapi") || strings.HasPrefix(r.URL.Path, "/schemas/") {
			next.ServeHTTP(w, r)
			return
		}
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(token))
		if !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="linkfold"`)
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"title":"Unauthorized","status":401,"detail":"send the header Authorization: Bearer <token>; linkfold up prints the token's file"}` + "\n"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// operation fills in what all operations share.
func operation(id, method, path, summary string, status int) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, DefaultStatus: status, MaxBodyBytes: maxBody,
		Errors: []int{400, 401, 404, 409, 413, 422, 428, 503},
	}
}

// conflict is the problem document of a refused change: it names the revision to look at.
type conflict struct {
	huma.ErrorModel
	CurrentRevision uint64 `json:"current_revision" doc:"Revision of the newest event; read it, then try again with it in If-Match."`
}

// problem turns an error into a problem document. Unknown errors are logged here, where the request ends.
func (a *api) problem(ctx context.Context, err error) error {
	var c *ConflictError
	var ready huma.StatusError
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &c):
		return &conflict{ErrorModel: *model(http.StatusConflict, c.Error()), CurrentRevision: c.Current}
	case errors.Is(err, link.ErrInvalid):
		return model(http.StatusUnprocessableEntity, err.Error())
	case errors.Is(err, ErrNotFound):
		return model(http.StatusNotFound, err.Error())
	case errors.Is(err, ErrUnsettled):
		return model(http.StatusServiceUnavailable, err.Error())
	}
	a.log.ErrorContext(ctx, "request failed", "err", err)
	return model(http.StatusServiceUnavailable, "the event stream cannot be asked; nothing was changed, try again")
}

func model(status int, detail string) *huma.ErrorModel {
	return &huma.ErrorModel{Status: status, Title: http.StatusText(status), Detail: detail}
}
