// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/sources/keysize"
)

const (
	maxArchive      = 20 << 20
	maxIndex        = 50 << 20
	downloadTimeout = time.Minute
)

// download is one HTTP GET.
type download struct {
	// field of the DeployItem that the URL comes from, for messages.
	field string
	url   string
	// authorization is the header of that name; empty means none.
	authorization string
	// known is the validator of the content that the caller has; with it the server may answer that nothing has changed.
	known validator
	// caData are more certificate authorities to trust, as PEM or base64 of it.
	caData string
	limit  int64
}

// validator identifies the state of what a URL offers, as the server names it; it is empty where the server names none.
type validator struct {
	etag, lastModified string
}

// answer is what a server sent.
type answer struct {
	body []byte
	// validator of the body.
	validator validator
	// unchanged says that the content is the one that the caller has; then there is no body.
	unchanged bool
}

// downloader fetches over HTTP what tenants name.
type downloader struct {
	policy egress.Policy
	client *http.Client
}

// newDownloader returns a downloader, which connects to public addresses only where the operator wants that, and to no metadata service.
func newDownloader(publicOnly bool) *downloader {
	policy := egress.Policy{PublicOnly: publicOnly, Redirects: egress.MostRedirects, Header: downloadTimeout}
	return &downloader{policy: policy, client: egress.New(policy).Client()}
}

// get returns the body. Errors name field and host, never credentials.
func (d *downloader) get(ctx context.Context, what download) ([]byte, error) {
	found, err := d.ask(ctx, what)
	return found.body, err
}

// ask returns the answer of the server. Errors are those of get.
func (d *downloader) ask(ctx context.Context, what download) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	request, err := what.request(ctx)
	if err != nil {
		return answer{}, err
	}
	client, done, err := d.trusting(what.caData)
	if err != nil {
		return answer{}, err
	}
	defer done()
	response, err := client.Do(request)
	if err != nil {
		return answer{}, unreachable(what, err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotModified && what.known != validator{}:
		return answer{validator: what.known, unchanged: true}, nil
	case response.StatusCode != http.StatusOK:
		return answer{}, refused(what, response)
	}
	body, err := readLimited(what, response)
	return answer{body: body, validator: validator{response.Header.Get("ETag"), response.Header.Get("Last-Modified")}}, err
}

func (what download) request(ctx context.Context) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, what.url, nil)
	if err != nil {
		return nil, protocol.Stall("GetChart", "InvalidURL", "%s: is not an http or https URL; write https://host/path", what.field)
	}
	for header, value := range map[string]string{
		"Authorization": what.authorization, "If-None-Match": what.known.etag, "If-Modified-Since": what.known.lastModified,
	} {
		if value != "" {
			request.Header.Set(header, value)
		}
	}
	return request, nil
}

// trusting returns the client for one download and the function that frees it.
func (d *downloader) trusting(caData string) (*http.Client, func(), error) {
	if caData == "" {
		return d.client, func() {}, nil
	}
	roots, err := certificatePool(caData)
	if err != nil {
		return nil, nil, err
	}
	policy := d.policy
	policy.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	client := egress.New(policy).Client()
	return client, client.CloseIdleConnections, nil
}

func certificatePool(data string) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	blocks := []byte(data)
	if decoded, err := base64.StdEncoding.DecodeString(data); err == nil {
		blocks = decoded
	}
	if err := keysize.Certificates(blocks); err != nil {
		return nil, protocol.Stall("GetChart", "InvalidCredentials", "Context: %s: customCAData cannot be used: %w", v1alpha1.HelmChartRepoCredentialsKey, err)
	}
	if !roots.AppendCertsFromPEM(blocks) {
		return nil, protocol.Stall("GetChart", "InvalidCredentials",
			"Context: %s: customCAData holds no PEM certificate; correct it", v1alpha1.HelmChartRepoCredentialsKey)
	}
	return roots, nil
}

// readLimited returns the body.
func readLimited(what download, response *http.Response) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(response.Body, what.limit+1))
	switch {
	case err != nil:
		return nil, unreachable(what, err)
	case int64(len(content)) > what.limit:
		return nil, protocol.Stall("GetChart", "TooLarge", "%s: the answer of %s is larger than %d MiB; publish something smaller",
			what.field, shown(what.url), what.limit>>20)
	}
	return content, nil
}

func unreachable(what download, err error) error {
	return protocol.Again("GetChart", "DownloadFailed", "%s: %s cannot be downloaded: %w", what.field, shown(what.url), fault.WithoutURL(err))
}

func refused(what download, response *http.Response) error {
	err := fmt.Errorf("%s: %s answers %s", what.field, shown(what.url), response.Status)
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return protocol.Coded(fmt.Errorf("%w; give the Context credentials for it in %s", err, v1alpha1.HelmChartRepoCredentialsKey),
			v1alpha1.ErrorUnauthorized)
	case http.StatusNotFound, http.StatusGone:
		return protocol.Again("GetChart", "ChartNotFound", "%w; correct the location, or publish the chart", err)
	}
	return protocol.Again("GetChart", "DownloadFailed", "%w", err)
}

// shown returns a URL without the parts that may hold credentials.
func shown(raw string) string {
	parsed, err := url.Parse(raw)
	if err != nil {
		return "the URL"
	}
	parsed.User, parsed.RawQuery, parsed.Fragment = nil, "", ""
	return parsed.String()
}
