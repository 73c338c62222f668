// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

const (
	// cacheSize is how many bytes of indexes are kept in memory, entrySize what one version of a chart takes beside its URLs.
	cacheSize = 32 << 20
	entrySize = 256
)

// asked is a request for an index. What a server answered counts only for the credentials and the trust that it answered to.
type asked struct {
	location, login, ca [sha256.Size]byte
}

// received is the last answer to such a request.
type received struct {
	validator validator
	digest    [sha256.Size]byte
	index     index
}

// index is what is read of the index.yaml of a Helm repository: the versions of its charts.
type index map[string][]indexEntry

// indexEntry is one version of a chart in a repository.
type indexEntry struct {
	// Version of the chart, as the index writes it.
	Version string `json:"version"`
	// URLs of the archive, absolute or relative to the repository; never empty in what find returns.
	URLs []string `json:"urls"`
	// Digest of the archive; empty where the index names none.
	Digest string `json:"digest"`
}

// entryOf returns the wanted version of the wanted chart in the index of a repository.
func (f *Finder) entryOf(
	ctx context.Context, item *contract.Item, auths []repositoryAuth, base string, wanted *helmv1alpha1.HelmChartRepo,
) (*indexEntry, error) {
	what, err := f.authorized(ctx, item, auths, base+"/index.yaml", maxIndex)
	if err != nil {
		return nil, err
	}
	index, err := f.indexAt(ctx, what, base)
	if err != nil {
		return nil, err
	}
	if len(index[wanted.HelmChartName]) == 0 {
		return nil, protocol.Again("GetChart", "ChartNotFound", "%s: repository %s has no chart %q; correct helmChartName, or publish the chart",
			repositoryField, shown(base), wanted.HelmChartName)
	}
	entry := index.find(wanted.HelmChartName, wanted.HelmChartVersion)
	if entry == nil {
		return nil, protocol.Again("GetChart", "ChartNotFound", "%s: repository %s has no version %q of chart %q; correct helmChartVersion, or publish the version",
			repositoryField, shown(base), wanted.HelmChartVersion, wanted.HelmChartName)
	}
	return entry, nil
}

// indexAt returns the index of a repository as it is now. It is downloaded only if the server does not say that the one remembered is still
// right, and parsed only if its content is new.
func (f *Finder) indexAt(ctx context.Context, what download, base string) (index, error) {
	key := asked{sha256.Sum256([]byte(what.url)), sha256.Sum256([]byte(what.authorization)), sha256.Sum256([]byte(what.caData))}
	last, isKnown := f.indexes.Get(key)
	what.known = last.validator
	found, err := f.downloader.ask(ctx, what)
	if err != nil {
		return nil, err
	}
	if found.unchanged {
		return last.index, nil
	}
	next := received{validator: found.validator, digest: sha256.Sum256(found.body), index: last.index}
	if !isKnown || next.digest != last.digest {
		if next.index, err = parseIndex(found.body); err != nil {
			return nil, protocol.Again("GetChart", "InvalidIndex", "%s: index.yaml of %s %s; publish a valid index", repositoryField, shown(base), foreign.Problem(err))
		}
	}
	f.indexes.Put(key, next, next.index.size())
	return next.index, nil
}

// parseIndex reads an index.yaml. The error shows nothing of the content.
func parseIndex(raw []byte) (index, error) {
	var read struct {
		Entries index `json:"entries"`
	}
	err := foreign.Index.Unmarshal(raw, &read)
	return read.Entries, err
}

// size is about what the index takes in memory. One that is larger than the cache takes all of it.
func (i index) size() int64 {
	size := 0
	for _, versions := range i {
		for _, version := range versions {
			size += entrySize + len(strings.Join(version.URLs, ""))
		}
	}
	return int64(min(size, cacheSize-1<<10))
}

// find returns the entry of exactly the wanted version, with or without "v", else that of the highest version in the semver range that
// wanted is, such as "1.x", and of that its highest build; nil when there is none. Pre-releases are only in ranges that name one.
func (i index) find(chart, wanted string) *indexEntry {
	versions := i[chart]
	for at := range versions {
		if len(versions[at].URLs) > 0 && strings.TrimPrefix(versions[at].Version, "v") == strings.TrimPrefix(wanted, "v") {
			return &versions[at]
		}
	}
	fits, err := semver.NewConstraint(wanted)
	if err != nil {
		return nil
	}
	var best *indexEntry // of equal versions the first wins
	var bestVersion *semver.Version
	for at := range versions {
		version, err := semver.NewVersion(versions[at].Version)
		if err != nil || len(versions[at].URLs) == 0 || !fits.Check(version) {
			continue
		}
		if best == nil || oci.IsHigher(version, bestVersion) {
			best, bestVersion = &versions[at], version
		}
	}
	return best
}

// IsVersion reports whether text is a full semantic version, with or without "v", or no range of versions either: then it names exactly one.
func IsVersion(text string) bool {
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(text, "v")); err == nil {
		return true
	}
	_, err := semver.NewConstraint(text)
	return err != nil
}

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
	if err := egress.CheckCertificates(blocks); err != nil {
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
