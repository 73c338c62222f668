// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/opencontainers/go-digest"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// The download is our own and not fluxcd/pkg/http/fetch because that one reads an oversized body to its end, waits at
// least five seconds before it tries again, and puts the URL into its errors.

// errPermanent marks a failure that another try within the same call would only repeat.
var errPermanent = errors.New("permanent")

// downloader gets the bytes of artifacts over HTTP.
type downloader struct {
	client        *http.Client
	max           int64
	retries       int
	delay         time.Duration
	hostOverwrite string
}

// get writes the verified content of a to f, which it may truncate and write several times. The error is a *fault.Error, or
// names the artifact and is worth another try later.
func (d *downloader) get(ctx context.Context, a Artifact, want digest.Digest, f *os.File) error {
	target, err := d.target(a)
	if err != nil {
		return err
	}
	var last error
	backoff := wait.Backoff{Duration: d.delay, Factor: 2, Jitter: 0.1, Steps: max(d.retries, 0) + 1}
	err = wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
		last = d.try(ctx, a, target, want, f)
		return last == nil || permanent(last), nil
	})
	if last != nil {
		return last
	}
	return err
}

func permanent(err error) bool {
	return verdictOf(err) != nil || errors.Is(err, errPermanent)
}

// target returns the URL to ask.
func (d *downloader) target(a Artifact) (string, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s: status.artifact.url is not an http or https URL; let the source publish one", a)
	}
	if d.hostOverwrite != "" {
		u.Host = d.hostOverwrite
	}
	return u.String(), nil
}

// try makes one attempt.
func (d *downloader) try(ctx context.Context, a Artifact, target string, want digest.Digest, f *os.File) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return fmt.Errorf("%s: %w: status.artifact.url cannot be requested", a, errPermanent)
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: download failed: %w; it is tried again", a, fault.WithoutURL(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if err := d.checkResponse(a, resp); err != nil {
		return err
	}
	return d.store(a, resp.Body, want, f)
}

func (d *downloader) checkResponse(a Artifact, resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound || code == http.StatusGone:
		return refuse(ErrGone, a.String(), fmt.Sprintf("the server answers %d to its download", code),
			"wait for the source to offer a new artifact, or reconcile the source")
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout:
		return fmt.Errorf("%s: the server answers %d to its download; it is tried again", a, code)
	case code != http.StatusOK:
		return fmt.Errorf("%s: %w: the server answers %d to its download; check the URL and the network policy of the source", a, errPermanent, code)
	case resp.ContentLength > d.max:
		return d.tooLarge(a)
	}
	return nil
}

// store copies body to f and compares the digest. Content-Length may lie, so the bytes are counted. Errors tell nothing of a body without the digest.
func (d *downloader) store(a Artifact, body io.Reader, want digest.Digest, f *os.File) error {
	if err := rewind(f); err != nil {
		return err
	}
	verifier := want.Verifier()
	n, err := io.Copy(io.MultiWriter(f, verifier), io.LimitReader(body, d.max+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: download broke off: %w; it is tried again", a, fault.Unquoted(err))
	case n > d.max:
		return d.tooLarge(a)
	case !verifier.Verified():
		return refuse(ErrDigest, a.String(), fmt.Sprintf("the bytes downloaded do not have the digest %s of status.artifact.digest", want),
			"reconcile the source so that it stores the artifact anew; if that does not help, somebody changed it on the way")
	}
	return nil
}

func (d *downloader) tooLarge(a Artifact) error {
	return refuse(ErrTooLarge, a.String(), fmt.Sprintf("the download is larger than the limit of %d bytes", d.max),
		"leave files out with spec.ignore of the source, or raise the limit of the controller")
}

// rewind empties f for another attempt.
func rewind(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("artifact store: empty a temporary file: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("artifact store: rewind a temporary file: %w", err)
	}
	return nil
}
