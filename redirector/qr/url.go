package qr

import (
	"net/url"
	"strings"
)

// Address is what stands before a link's key.
type Address struct {
	// Scheme is https, when empty, or http.
	Scheme string
	// Base is for links that are reached elsewhere than at their domain: a URL with a port or a path, as http://localhost:8080. It excludes Scheme.
	Base string
	// Upper asks for the upper-case form, for domains whose generator is qr. The path of a base stays as it is: what it leads to may count case.
	Upper bool
}

// URL is the public URL of a link, whose key is normalized, in the form that its symbol carries. The error wraps ErrRefused.
func URL(domain, key string, a Address) (string, error) {
	base, err := a.base(domain)
	if err != nil {
		return "", err
	}
	origin, path := base.Scheme+"://"+base.Host, strings.TrimRight(base.EscapedPath(), "/")
	if a.Upper {
		origin, key = strings.ToUpper(origin), strings.ToUpper(key)
	}
	return origin + path + "/" + key, nil
}

func (a Address) base(domain string) (*url.URL, error) {
	if a.Base == "" {
		switch a.Scheme {
		case "":
			a.Scheme = "https"
		case "http", "https":
		default:
			return nil, refuse("scheme %.20q: give http or https", a.Scheme)
		}
		if strings.Contains(domain, ":") && domain[0] != '[' {
			domain = "[" + domain + "]" // an IPv6 address
		}
		return &url.URL{Scheme: a.Scheme, Host: domain}, nil
	}
	if a.Scheme != "" {
		return nil, refuse("scheme and base are both given: give one of them")
	}
	u, err := url.Parse(a.Base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, refuse("base %.100q: give an http or https URL without user, query and fragment, as http://localhost:8080", a.Base)
	}
	return u, nil
}
