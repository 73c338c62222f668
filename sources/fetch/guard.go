// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flux-landscaper/flux-landscaper/sources/address"
)

// dialTimeout is that of http.DefaultTransport.
const dialTimeout = 30 * time.Second

// errUnknownPrivate is all that is said of a server that is neither public nor known. Whether its name exists and which address it has would show what
// is in the network of the process.
var errUnknownPrivate = errors.New("its server has no public address and is none of --artifact-hosts, where the operator has to name it if it is the " +
	"storage of Flux")

// guard decides for every request, those of redirects included, which addresses it may lead to: whoever may write the status of a source chooses the URL.
// Nothing leads to metadata services. Private networks are open to the storage of the operator, since source-controller is in one.
type guard struct {
	known      map[string]bool
	publicOnly bool
	// storage is for known servers and where private networks are open, strangers for the others.
	storage, strangers http.RoundTripper
}

func newGuard(o Options) *guard {
	g := &guard{known: map[string]bool{}, publicOnly: o.PublicOnly, storage: address.Transport(false, dialTimeout), strangers: address.Transport(o.PublicOnly, dialTimeout)}
	for _, server := range append([]string{o.HostOverwrite}, o.Storage...) {
		for scheme := range ports {
			g.known[serverOf(&url.URL{Scheme: scheme, Host: server})] = server != ""
		}
	}
	return g
}

// ports are those that a URL means where it names none.
var ports = map[string]string{"http": "80", "https": "443"}

// serverOf returns host and port of a URL in one form.
func serverOf(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return net.JoinHostPort(host, cmp.Or(u.Port(), ports[u.Scheme]))
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(request *http.Request) (*http.Response, error) {
	if !g.publicOnly || g.known[serverOf(request.URL)] {
		return g.storage.RoundTrip(request)
	}
	response, err := g.strangers.RoundTrip(request)
	if _, unnamed := errors.AsType[*net.DNSError](err); unnamed || errors.Is(err, address.ErrPrivate) {
		return nil, errUnknownPrivate
	}
	return response, err
}
