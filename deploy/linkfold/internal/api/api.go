// Package api is a client of the admin API, for commands that ask or change a running Linkfold.
//
// A command embeds Flags, opens a Client with them and calls Do with the types of package linkfold/redirector/admin. A refusal is a *Problem,
// whose text says what the API said. The client keeps no state and retries nothing: whether a change may be sent twice is the command's to say.
package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"linkfold/deploy/linkfold/internal/allinone"
)

// Flags say which API to ask. By default it is that of a data directory.
type Flags struct {
	Data      string `help:"Data directory of linkfold up." default:"linkfold-data" type:"path"`
	Admin     string `placeholder:"URL" help:"Ask this admin API instead: a URL, or host:port."`
	TokenFile string `placeholder:"FILE" type:"path" help:"File with the API's bearer token; default: that of the data directory."`
}

// answerWait bounds one request; the API itself ends after 30 s what takes that long.
const answerWait = time.Minute

// maxAnswer is the longest answer that is read, bytes: a history repeats the configuration in each of its revisions.
const maxAnswer = 256 << 20

// Client asks one API. It may be used from several goroutines.
type Client struct {
	base, token, tokenFile string
	http                   *http.Client
}

// Open finds the API and its token. It does not connect: that the API is away shows in Do.
func Open(f Flags) (*Client, error) {
	if f.Admin == "" || f.TokenFile == "" {
		endpoints, err := allinone.LoadEndpoints(f.Data)
		if err != nil {
			return nil, fmt.Errorf("find the admin API: %w (or give --admin and --token-file)", err)
		}
		if endpoints.Admin == "" {
			return nil, fmt.Errorf("linkfold up has not opened the admin listener of %s yet: wait until it says that it is up, or give --admin and --token-file", f.Data)
		}
		if f.Admin == "" {
			f.Admin = endpoints.Admin
		}
		if f.TokenFile == "" {
			f.TokenFile = endpoints.TokenFile
		}
	}
	token, err := readToken(f.TokenFile)
	if err != nil {
		return nil, err
	}
	return &Client{
		base: baseURL(f.Admin), token: token, tokenFile: f.TokenFile,
		// A redirect would carry the token to who knows where.
		http: &http.Client{Timeout: answerWait, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

func readToken(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read token (--token-file): %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s holds no token: give --token-file with the one that the redirector uses", file)
	}
	return token, nil
}

// baseURL also takes an address as the listener's flag has it.
func baseURL(admin string) string {
	if strings.HasPrefix(admin, ":") {
		admin = "localhost" + admin
	}
	if !strings.Contains(admin, "://") {
		admin = "http://" + admin
	}
	return strings.TrimRight(admin, "/")
}

// Header is a header of a request; one without a value is left out.
type Header struct{ Name, Value string }

// Do sends in as JSON (nil: no body) and decodes the answer into out (nil: it is not read). The error is a *Problem when the API refused.
func (c *Client) Do(ctx context.Context, method, path string, in, out any, headers ...Header) error {
	req, err := c.request(ctx, method, path, in, headers)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("the admin API does not answer at %s (is linkfold up running?): %w", c.base, err)
	}
	err = c.read(resp, out)
	return errors.Join(err, resp.Body.Close())
}

func (c *Client) request(ctx context.Context, method, path string, in any, headers []Header) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json, application/problem+json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		if h.Value != "" {
			req.Header.Set(h.Name, h.Value)
		}
	}
	return req, nil
}

func (c *Client) read(resp *http.Response, out any) error {
	body := &io.LimitedReader{R: resp.Body, N: maxAnswer}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("the API at %s refuses the token in %s: give --token-file with the one that its redirector uses", c.base, c.tokenFile)
	case resp.StatusCode/100 != 2:
		return readProblem(resp, body)
	case out == nil:
		return nil
	}
	if err := json.NewDecoder(body).Decode(out); err != nil {
		if body.N == 0 {
			return fmt.Errorf("read answer: longer than %d bytes", maxAnswer)
		}
		return fmt.Errorf("read answer of %s: %w", c.base, err)
	}
	return nil
}
