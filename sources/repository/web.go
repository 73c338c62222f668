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

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/address"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

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
	if !errors.Is(err, address.ErrPrivate) {
		return err
	}
	refusal := &fault.Error{Kind: fault.Stalled, Subject: shown, Problem: "its address is private, or its host does not exist", Class: address.ErrPrivate,
		Cure: "use a public address, or let the operator allow private ones"}
	if address.IsOfName(err) {
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
