// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/flux-landscaper/flux-landscaper/sources/address"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

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
	g := &guard{
		known: map[string]bool{}, publicOnly: o.PublicOnly, storage: egress.New(egress.Policy{Redirects: egress.MostRedirects}),
		strangers: egress.New(egress.Policy{PublicOnly: o.PublicOnly, Redirects: egress.MostRedirects}),
	}
	for _, server := range append([]string{o.HostOverwrite}, o.Storage...) {
		for _, scheme := range []string{"http", "https"} {
			g.known[egress.Server(&url.URL{Scheme: scheme, Host: server})] = server != ""
		}
	}
	return g
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(request *http.Request) (*http.Response, error) {
	if !g.publicOnly || g.known[egress.Server(request.URL)] {
		return g.storage.RoundTrip(request)
	}
	response, err := g.strangers.RoundTrip(request)
	if _, unnamed := errors.AsType[*net.DNSError](err); unnamed || errors.Is(err, address.ErrPrivate) {
		return nil, errUnknownPrivate
	}
	return response, err
}
