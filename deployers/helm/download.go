// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/address"
)

const (
	maxArchive      = 20 << 20
	maxIndex        = 50 << 20
	downloadTimeout = time.Minute
	dialTimeout     = 10 * time.Second
	maxRedirects    = 5
)

// download is one HTTP GET.
type download struct {
	// field of the DeployItem that the URL comes from, for messages.
	field string
	url   string
	// authorization is the header of that name; empty means none.
	authorization string
	// caData are more certificate authorities to trust, as PEM or base64 of it.
	caData string
	limit  int64
}

// downloader fetches over HTTP what tenants name.
type downloader struct {
	transport *http.Transport
}

// newDownloader returns a downloader. With noPrivateNetworks it connects to public addresses only.
func newDownloader(noPrivateNetworks bool) *downloader {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	dialer := &net.Dialer{Timeout: dialTimeout}
	if noPrivateNetworks {
		dialer.Control = address.RequirePublic
	}
	transport.DialContext = dialer.DialContext
	transport.ResponseHeaderTimeout = downloadTimeout
	return &downloader{transport: transport}
}

// get returns the body. Errors name field and host, never credentials.
func (d *downloader) get(ctx context.Context, what download) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, what.url, nil)
	if err != nil {
		return nil, kit.Stall("GetChart", "InvalidURL", "%s: is no http or https URL; write https://host/path", what.field)
	}
	if what.authorization != "" {
		request.Header.Set("Authorization", what.authorization)
	}
	client, done, err := d.client(what)
	if err != nil {
		return nil, err
	}
	defer done()
	response, err := client.Do(request)
	if err != nil {
		return nil, unreachable(what, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, refused(what, response)
	}
	return readLimited(what, response.Body)
}

// client returns the client for one download and the function that frees it.
func (d *downloader) client(what download) (*http.Client, func(), error) {
	client := &http.Client{Transport: d.transport, CheckRedirect: checkRedirect}
	if what.caData == "" {
		return client, func() {}, nil
	}
	roots, err := certificatePool(what.caData)
	if err != nil {
		return nil, nil, err
	}
	transport := d.transport.Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	client.Transport = transport
	return client, transport.CloseIdleConnections, nil
}

func checkRedirect(request *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return errors.New("too many redirects")
	}
	if scheme := request.URL.Scheme; scheme != "https" && scheme != "http" {
		return fmt.Errorf("redirect to scheme %q", scheme)
	}
	return nil
}

func certificatePool(data string) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if roots.AppendCertsFromPEM([]byte(data)) {
		return roots, nil
	}
	if decoded, err := base64.StdEncoding.DecodeString(data); err == nil && roots.AppendCertsFromPEM(decoded) {
		return roots, nil
	}
	return nil, kit.Stall("GetChart", "InvalidCredentials",
		"Context: %s: customCAData holds no PEM certificate; correct it", v1alpha1.HelmChartRepoCredentialsKey)
}

func readLimited(what download, body io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(body, what.limit+1))
	if err != nil {
		return nil, unreachable(what, err)
	}
	if int64(len(content)) > what.limit {
		return nil, kit.Stall("GetChart", "TooLarge", "%s: the answer of %s is larger than %d MiB; publish something smaller",
			what.field, shown(what.url), what.limit>>20)
	}
	return content, nil
}

func unreachable(what download, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the text of url.Error repeats the URL with its credentials
	}
	return kit.Again("GetChart", "DownloadFailed", "%s: %s cannot be downloaded: %w", what.field, shown(what.url), err)
}

func refused(what download, response *http.Response) error {
	err := fmt.Errorf("%s: %s answers %s", what.field, shown(what.url), response.Status)
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return kit.Coded(fmt.Errorf("%w; give the Context credentials for it in %s", err, v1alpha1.HelmChartRepoCredentialsKey),
			v1alpha1.ErrorUnauthorized)
	case http.StatusNotFound, http.StatusGone:
		return kit.Again("GetChart", "ChartNotFound", "%w; correct the location, or publish the chart", err)
	}
	return kit.Again("GetChart", "DownloadFailed", "%w", err)
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
