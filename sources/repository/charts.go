// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// Chart says how to get the chart of a resource. One of OCI, Repository and Content is set.
type Chart struct {
	// OCI is host/repository:tag, with @digest if the component descriptor knows it. It is pulled with the logins of the Scope.
	OCI string
	// Repository, Name and Version are the coordinates in an HTTP Helm repository.
	Repository, Name, Version string
	// Content is the packaged chart. The caller closes it.
	Content *Blob
	// Digest that the packaged chart, a file, must have; empty if the descriptor says none, or one of the whole artifact.
	Digest digest.Digest
}

// Chart finds out how a deployer gets the chart that a resource is: from a registry or Helm repository of its own access, or
// else as verified content.
func (s *Session) Chart(ctx context.Context, d *component.Descriptor, resource *component.Resource) (*Chart, error) {
	access, err := component.ParseAccess(resource.Access)
	if err != nil {
		return nil, about(d, resource, refused("access", err))
	}
	var found *Chart
	switch a := access.(type) {
	case component.OCIArtifact, component.RelativeOCIReference:
		reference, referenceErr := s.ImageReference(ctx, d, resource)
		if referenceErr != nil {
			return nil, referenceErr
		}
		found, err = pinned(reference, resource.Digest)
	case component.HelmChart:
		found, err = coordinates(a, resource.Digest)
	default:
		return s.chartContent(ctx, d, resource)
	}
	if err != nil {
		return nil, about(d, resource, err)
	}
	return found, nil
}

func (s *Session) chartContent(ctx context.Context, d *component.Descriptor, resource *component.Resource) (*Chart, error) {
	content, err := s.Content(ctx, d, resource)
	if err != nil {
		return nil, err
	}
	return &Chart{Content: content, Digest: content.Digest}, nil
}

func coordinates(a component.HelmChart, spec *component.DigestSpec) (*Chart, error) {
	if rest, ok := strings.CutPrefix(a.Repository, "oci://"); ok {
		return pinned(strings.TrimSuffix(rest, "/")+"/"+a.Chart+":"+strings.ReplaceAll(a.Version, "+", "_"), spec)
	}
	want, of, err := wanted(spec)
	if err == nil && of == component.OCIArtifactDigest {
		err = stalled("digest", "it is one of an OCI artifact, but the chart is in an HTTP repository", "publish the component version anew")
	}
	if err != nil {
		return nil, err
	}
	return &Chart{Repository: a.Repository, Name: a.Chart, Version: a.Version, Digest: want}, nil
}

// pinned is a chart in a registry, with the digest that the descriptor says.
func pinned(reference string, spec *component.DigestSpec) (*Chart, error) {
	want, of, err := wanted(spec)
	if err != nil || of != component.OCIArtifactDigest {
		return &Chart{OCI: reference, Digest: want}, err
	}
	if _, written, found := strings.Cut(reference, "@"); found {
		if written != want.String() {
			return nil, mismatch(want, digest.Digest(written))
		}
		return &Chart{OCI: reference}, nil
	}
	return &Chart{OCI: reference + "@" + want.String()}, nil
}

// ImageReference returns the full reference of a resource that is an OCI artifact. A registry is asked only where a
// relative reference could mean two places.
func (s *Session) ImageReference(ctx context.Context, d *component.Descriptor, resource *component.Resource) (string, error) {
	v, err := s.version(d)
	if err != nil {
		return "", about(d, resource, err)
	}
	reference, err := s.imageReference(ctx, v, resource.Access)
	if err != nil {
		return "", about(d, resource, err)
	}
	return reference, nil
}

func (s *Session) imageReference(ctx context.Context, v *version, t component.Typed) (string, error) {
	access, err := component.ParseAccess(t)
	if err != nil {
		return "", refused("access", err)
	}
	switch a := access.(type) {
	case component.OCIArtifact:
		return a.ImageReference, nil
	case component.RelativeOCIReference:
		reference, err := s.absolute(ctx, v, a)
		if _, rest, found := strings.Cut(reference, "://"); found {
			reference = rest
		}
		return reference, err
	case component.LocalBlob:
		if !a.GlobalAccess.IsZero() {
			return s.imageReference(ctx, v, a.GlobalAccess)
		}
	}
	return "", stalled("access of type "+t.Type, "it is not an OCI artifact", "use a resource with access type ociArtifact")
}

// maxIndex is how many bytes the index of a Helm repository may have.
const maxIndex = 32 << 20

// chart downloads a chart from a Helm repository.
func (s *Session) chart(ctx context.Context, resource *component.Resource, a component.HelmChart) (*stream, error) {
	at, err := coordinates(a, resource.Digest)
	if err != nil {
		return nil, err
	}
	if at.OCI != "" {
		return s.artifact(ctx, s.registry(repositoryOf(at.OCI)), resource, at.OCI)
	}
	base := strings.TrimSuffix(withScheme(a.Repository), "/")
	entry, err := s.r.chartEntry(ctx, base, a)
	if err != nil {
		return nil, err
	}
	address, err := entry.address(base)
	if err != nil {
		return nil, err
	}
	found := s.r.file(component.Web{URL: address, MediaType: oci.HelmChartLayer})
	if d := digest.Digest("sha256:" + strings.TrimPrefix(entry.Digest, "sha256:")); d.Validate() == nil {
		found.digest = d
	}
	return found, nil
}

// chartEntry is one version of a chart in an index.
type chartEntry struct {
	Version string   `json:"version"`
	URLs    []string `json:"urls"`
	Digest  string   `json:"digest"`
}

func (r *Repositories) chartEntry(ctx context.Context, base string, a component.HelmChart) (*chartEntry, error) {
	body, err := r.get(ctx, base+"/index.yaml", maxIndex)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("index of the Helm repository: %w", err)
	}
	var index struct {
		Entries map[string][]chartEntry `json:"entries"`
	}
	err = foreign.Index.Unmarshal(raw, &index)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("index of the Helm repository: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, stalled("Helm repository "+base, "its index.yaml "+foreign.Problem(err), "check the URL")
	}
	for _, entry := range index.Entries[a.Chart] {
		if strings.TrimPrefix(entry.Version, "v") == strings.TrimPrefix(a.Version, "v") {
			return &entry, nil
		}
	}
	return nil, lacking("Helm repository "+base, fmt.Sprintf("it has no chart %s in version %q", a.Chart, a.Version), "check name and version")
}

// address is where the chart is downloaded, relative to the repository.
func (e *chartEntry) address(base string) (string, error) {
	if len(e.URLs) == 0 {
		return "", stalled("Helm repository "+base, "its index names no URL for the chart", "repair the index")
	}
	at, err := url.Parse(base + "/")
	if err != nil {
		return "", stalled("Helm repository", "its URL cannot be used", "correct the URL")
	}
	address, err := at.Parse(e.URLs[0])
	if err != nil {
		return "", stalled("Helm repository "+base, "its index names an unusable URL for the chart", "repair the index")
	}
	return address.String(), nil
}

// web is what the access wget names. Requests with a method, header or body of their own are for those only who may send any request
// from here.
func (r *Repositories) web(a component.Web) (*stream, error) {
	if !a.Plain() && !r.options.AllowRequests {
		return nil, stalled("access of type wget", "it sets verb, header or body, and only files that everybody may get are read here",
			"publish the content as localBlob; input type wget of a component constructor takes the same fields")
	}
	return r.file(a), nil
}

// file is a file behind a URL. Without a digest it may be another one each time, and is not kept.
func (r *Repositories) file(a component.Web) *stream {
	id := a.URL
	if !a.Plain() {
		id = unique()
	}
	return &stream{scope: "web", id: id, mutable: true, mediaType: a.MediaType,
		open: func(ctx context.Context) (io.ReadCloser, error) { return r.request(ctx, a, r.options.MaxDownload) }}
}

// errTooLarge ends a body that exceeds its limit.
var errTooLarge = errors.New("the content is larger than allowed; make it smaller, or raise the limit of the controller")

// get opens a URL.
func (r *Repositories) get(ctx context.Context, address string, limit int64) (io.ReadCloser, error) {
	return r.request(ctx, component.Web{URL: address}, limit)
}

// request opens what a request answers. Trouble of the server is bridged by a few tries. Errors name the address without user and query.
func (r *Repositories) request(ctx context.Context, a component.Web, limit int64) (io.ReadCloser, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, stalled("web address", "it is not an http or https URL without user", "correct the URL")
	}
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	var body io.ReadCloser
	var last error
	backoff := wait.Backoff{Duration: 60 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 4}
	err = wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
		body, last = r.try(ctx, a, shown, limit)
		return last == nil || fault.KindOf(last) == fault.Stalled, nil
	})
	if last != nil {
		return nil, last
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	return body, nil
}

func (r *Repositories) try(ctx context.Context, a component.Web, shown string, limit int64) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	request, err := http.NewRequestWithContext(ctx, strings.ToUpper(a.Verb), a.URL, bytes.NewReader(a.Body))
	if err != nil {
		cancel()
		return nil, stalled(shown, "it cannot be requested", "correct URL and verb")
	}
	for name, values := range a.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	answer, err := r.http.Do(request)
	if err != nil {
		cancel()
		return nil, unreached(shown, err)
	}
	content := &body{egress.Reader(answer.Body, limit, refused("download", errTooLarge)), answer.Body, cancel}
	if err := judge(shown, answer, limit); err != nil {
		_ = content.Close()
		return nil, err
	}
	return content, nil
}

func unreached(shown string, err error) error {
	err = fault.WithoutURL(err)
	if refusal := guarded(shown, err); refusal != err {
		return refusal
	}
	return fmt.Errorf("%s: %w; it is tried again", shown, err)
}

// guarded says so if the guard has refused a connection; other errors stay.
func guarded(shown string, err error) error {
	if !errors.Is(err, egress.ErrPrivate) {
		return err
	}
	refusal := &fault.Error{Kind: fault.Stalled, Subject: shown, Problem: "its address is private, or its host does not exist", Class: egress.ErrPrivate,
		Cure: "use a public address, or let the operator allow private ones"}
	if egress.IsOfName(err) {
		refusal.Kind, refusal.Cure = fault.Retry, refusal.Cure+"; it is tried again"
	}
	return refusal
}

func judge(shown string, answer *http.Response, limit int64) error {
	switch code := answer.StatusCode; {
	case code == http.StatusOK && answer.ContentLength > limit:
		return refused(shown, errTooLarge)
	case code == http.StatusOK:
		return nil
	case code == http.StatusNotFound || code == http.StatusGone:
		return lacking(shown, fmt.Sprintf("the server answers %d", code), "check the URL")
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout:
		return fmt.Errorf("%s: the server answers %d; it is tried again", shown, code)
	default:
		return stalled(shown, fmt.Sprintf("the server answers %d", code), "check the URL; it must be readable without a login")
	}
}

// body ends its request when it is closed.
type body struct {
	io.Reader
	answer io.Closer
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.cancel()
	return b.answer.Close()
}
