// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// Artifact is what a source of Flux offers for download.
type Artifact struct {
	// URL is the http or https address of the archive or file.
	URL string
	// Digest is the digest of the bytes behind URL, as "<algorithm>:<hex>"; sha256, sha384, sha512 and blake3 are known.
	Digest string
	// Revision is the human-readable revision; used in messages only.
	Revision string
	// Source names who offers the artifact, for instance "OCIRepository default/shop"; used in messages only.
	Source string
}

// String names the artifact for a person: its source, if known, and its revision, or its digest where it has none.
func (a Artifact) String() string {
	name := cmp.Or(a.Revision, a.Digest)
	if a.Source == "" {
		return fmt.Sprintf("artifact %q", name)
	}
	return fmt.Sprintf("artifact %q of %s", name, a.Source)
}

// Open returns the files of the tar or gzipped tar that a names. Concurrent calls for one digest at one URL share one download, and
// a cached digest causes none. The error is a *fault.Error, or says that the download may be tried again.
func (s *Store) Open(ctx context.Context, a Artifact) (*Tree, error) {
	c, err := s.contentOf(a)
	if err != nil {
		return nil, err
	}
	return s.Extract(ctx, c)
}

// OpenFile returns the bytes that a names, for an artifact that is one file such as a packaged chart, cached like Open.
func (s *Store) OpenFile(ctx context.Context, a Artifact) ([]byte, error) {
	c, err := s.contentOf(a)
	if err != nil {
		return nil, err
	}
	file, err := s.Keep(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content := make([]byte, file.Size)
	if _, err := io.ReadFull(file, content); err != nil {
		return nil, fmt.Errorf("%s: read it from the cache: %w", a, err)
	}
	return content, nil
}

// contentOf is the content of an artifact. Whoever knows a digest may name it with a server that never answers, or answers with something else: he waits
// for that alone.
func (s *Store) contentOf(a Artifact) (Content, error) {
	const cure = "let the source publish its artifact with a digest such as sha256:<64 hex digits>"
	if a.Digest == "" {
		return Content{}, refuse(ErrDigest, a.String(), "status.artifact.digest is empty", cure)
	}
	d, err := digest.Parse(a.Digest)
	if err != nil {
		return Content{}, refuse(ErrDigest, a.String(), fmt.Sprintf("status.artifact.digest %q cannot be used: %v", a.Digest, err), cure)
	}
	return Content{
		Name: a.String(), Scope: "artifact", ID: a.Digest, Digest: d, Place: a.URL,
		Write: func(ctx context.Context, w io.Writer) error { return s.download(ctx, a, w) },
		Again: func(err error) bool { return verdictOf(err) == nil && !errors.Is(err, errPermanent) },
	}, nil
}

// errPermanent marks a failure that another try within the same call would only repeat.
var errPermanent = errors.New("permanent")

// download makes one attempt. Its errors tell nothing of a body without the digest.
func (s *Store) download(ctx context.Context, a Artifact, w io.Writer) error {
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s: %w: status.artifact.url is not an http or https URL; let the source publish one", a, errPermanent)
	}
	u.Host = cmp.Or(s.options.HostOverwrite, u.Host)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("%s: %w: status.artifact.url cannot be requested", a, errPermanent)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return fmt.Errorf("%s: download failed: %w; it is tried again", a, fault.WithoutURL(err))
	}
	defer func() { _ = response.Body.Close() }()
	switch code := response.StatusCode; {
	case code == http.StatusNotFound || code == http.StatusGone:
		return refuse(ErrGone, a.String(), fmt.Sprintf("the server answers %d to its download", code),
			"wait for the source to offer a new artifact, or reconcile the source")
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout:
		return fmt.Errorf("%s: the server answers %d to its download; it is tried again", a, code)
	case code != http.StatusOK:
		return fmt.Errorf("%s: %w: the server answers %d to its download; check the URL and the network policy of the source", a, errPermanent, code)
	}
	if _, err := io.Copy(w, response.Body); err != nil {
		return fmt.Errorf("%s: download broke off: %w; it is tried again", a, fault.Unquoted(err))
	}
	return nil
}

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
	if _, unnamed := errors.AsType[*net.DNSError](err); unnamed || errors.Is(err, egress.ErrPrivate) {
		return nil, errUnknownPrivate
	}
	return response, err
}
