package redirector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net"
	"net/netip"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"linkfold/redirector/visitor"
	"linkfold/schema/linkfoldv1"
)

// Limits of the public listener.
const (
	maxHeader   = 16 << 10 // request line and headers, bytes
	readTimeout = 10 * time.Second
	idleTimeout = 75 * time.Second
	maxConns    = 32 << 10 // open connections; with maxHeader this bounds their memory to 512 MiB
)

// publicServer is the HTTP side of the handler. It uses fasthttp because that gives the request line as it was sent (net/http's ServeMux
// would clean paths) and costs about half the CPU per request of net/http.
func publicServer(ctx context.Context, h *handler, log *slog.Logger) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:                       func(c *fasthttp.RequestCtx) { h.serveHTTP(ctx, c) },
		ErrorHandler:                  func(c *fasthttp.RequestCtx, err error) { h.refuse(ctx, c, err) },
		NoDefaultServerHeader:         true,
		NoDefaultContentType:          true,
		DisableHeaderNamesNormalizing: false,
		ReadBufferSize:                maxHeader,
		MaxRequestBodySize:            1, // Bodies are never read: see StreamRequestBody.
		StreamRequestBody:             true,
		ReadTimeout:                   readTimeout,
		WriteTimeout:                  readTimeout,
		IdleTimeout:                   idleTimeout,
		Concurrency:                   maxConns,
		CloseOnShutdown:               true,
		Logger:                        fasthttpLog{log},
	}
}

// serveHTTP translates one request. A request with a body closes the connection, since nobody reads it.
func (h *handler) serveHTTP(ctx context.Context, c *fasthttp.RequestCtx) {
	r := readRequest(c)
	a := h.serve(ctx, &r)
	if hasBody(&c.Request.Header) {
		c.SetConnectionClose()
	}
	writeAnswer(&c.Response, &a)
	c.Response.SkipBody = r.method == "HEAD"
}

// hasBody reports whether a body follows the header: a length above 0, or -1 for a chunked one. fasthttp says -2 when there is none.
func hasBody(hd *fasthttp.RequestHeader) bool {
	n := hd.ContentLength()
	return n > 0 || n == -1
}

// refuse answers what the server could not read as a request; it is a hit like any other.
func (h *handler) refuse(ctx context.Context, c *fasthttp.RequestCtx, err error) {
	r := request{received: time.Now(), peer: peerAddr(c), malformed: 400}
	var tooBig *fasthttp.ErrSmallBuffer
	var netErr net.Error
	switch {
	case errors.As(err, &tooBig):
		r.malformed = 431
	case errors.As(err, &netErr) && netErr.Timeout():
		r.malformed = 408
	}
	a := h.serve(ctx, &r)
	a.cookie = ""
	c.SetConnectionClose()
	writeAnswer(&c.Response, &a)
}

// readRequest takes views of the request's buffer: nothing is copied until the hit is encoded.
func readRequest(c *fasthttp.RequestCtx) request {
	hd := &c.Request.Header
	uri := hd.RequestURI()
	path, query, _ := bytes.Cut(uri, []byte{'?'})
	return request{
		method: view(hd.Method()), host: view(hd.Host()), path: originPath(path), query: view(query),
		referrer: view(hd.Referer()), userAgent: view(hd.UserAgent()), language: view(hd.Peek("Accept-Language")),
		cookie: view(hd.Cookie(visitor.CookieName)), forwarded: joined(hd, "X-Forwarded-For"), proto: joined(hd, "X-Forwarded-Proto"),
		purpose: view(hd.Peek("Purpose")), secPurpose: view(hd.Peek("Sec-Purpose")), byteRange: view(hd.Peek("Range")),
		fetchSite: view(hd.Peek("Sec-Fetch-Site")), fetchMode: view(hd.Peek("Sec-Fetch-Mode")),
		fetchDest: view(hd.Peek("Sec-Fetch-Dest")), fetchUser: view(hd.Peek("Sec-Fetch-User")),
		gpc: string(hd.Peek("Sec-GPC")) == "1", peer: peerAddr(c), received: c.Time(),
	}
}

// originPath is the path of the request line; a proxy may send it in absolute form (RFC 9112 §3.2.2).
func originPath(path []byte) string {
	if len(path) > 0 && path[0] != '/' {
		if _, rest, ok := bytes.Cut(path, []byte("://")); ok {
			i := bytes.IndexByte(rest, '/')
			if i < 0 {
				return "/"
			}
			return view(rest[i:])
		}
	}
	return view(path)
}

// joined is a header that may be repeated, as one comma-separated list in the order of arrival (RFC 9110 §5.3).
func joined(hd *fasthttp.RequestHeader, name string) string {
	all := hd.PeekAll(name)
	if len(all) <= 1 {
		return view(hd.Peek(name))
	}
	return string(bytes.Join(all, []byte{','}))
}

func peerAddr(c *fasthttp.RequestCtx) netip.Addr {
	if t, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// view is b as a string without copying: valid only as long as the request's buffer.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// cookieAttributes follow the tracking id. The cookie is read by this service only, and must not follow links from other sites into
// other requests than navigation.
var cookieAttributes = fmt.Sprintf("; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax", visitor.CookieAge)

// writeAnswer turns an answer into a response. Unknown, inactive and broken links look alike, down to the byte.
func writeAnswer(resp *fasthttp.Response, a *answer) {
	resp.SetStatusCode(a.status)
	hd := &resp.Header
	hd.Set("Cache-Control", "no-store")
	if a.cookie != "" {
		hd.Set("Set-Cookie", visitor.CookieName+"="+a.cookie+cookieAttributes)
	}
	if a.canonical != "" {
		hd.Set("Link", "<"+a.canonical+`>; rel="canonical"`)
	}
	if a.location != "" {
		hd.Set("Location", a.location)
		return
	}
	switch {
	case a.outcome == linkfoldv1.Outcome_OUTCOME_NOT_IMPLEMENTED:
		hd.Set("Allow", "GET, HEAD")
	case a.retryAfter > 0:
		hd.Set("Retry-After", retrySeconds(a.retryAfter))
	}
	hd.Set("X-Content-Type-Options", "nosniff")
	if a.suggested != "" {
		hd.SetContentType("text/html; charset=utf-8")
		resp.SetBodyString(unknownWebsite(a.suggested))
		return
	}
	hd.SetContentType("text/plain; charset=utf-8")
	resp.SetBodyString(body(a.outcome))
}

// unknownWebsite is a page that names another website, and does not send anybody there: the host was wrong (snap-url-rules.txt, "Process" 4).
func unknownWebsite(suggested string) string {
	name := html.EscapeString(suggested)
	return "<!doctype html><html lang=en><meta charset=utf-8><title>Unknown Website</title><h1>Unknown Website</h1>" +
		`<p>There is no website at this address. You may be looking for <a href="//` + name + `/">` + name + "</a>.</p>\n"
}

func body(o linkfoldv1.Outcome) string {
	switch o {
	case linkfoldv1.Outcome_OUTCOME_UNKNOWN_DOMAIN:
		return "Unknown Domain\n"
	case linkfoldv1.Outcome_OUTCOME_UNKNOWN_WEBSITE:
		return "Unknown Website\n"
	case linkfoldv1.Outcome_OUTCOME_NOT_IMPLEMENTED:
		return "Not Implemented: use GET or HEAD\n"
	case linkfoldv1.Outcome_OUTCOME_RATE_LIMITED:
		return "Too Many Requests\n"
	case linkfoldv1.Outcome_OUTCOME_BAD_REQUEST:
		return "Bad Request\n"
	case linkfoldv1.Outcome_OUTCOME_UNAVAILABLE:
		return "Service Unavailable: try again in a moment\n"
	}
	return "Not Found\n"
}

// fasthttpLog passes the server's own complaints, about clients mostly, on at debug level.
type fasthttpLog struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (l fasthttpLog) Printf(format string, args ...any) {
	l.log.Debug("http server", "message", fmt.Sprintf(format, args...))
}
