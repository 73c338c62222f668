// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
)

const (
	repositoryField   = "chart.helmChartRepo"
	noDigest          = "sha256:"
	defaultAuthKey    = "authHeader"
	basicAuth         = "Basic "
	credentialsPrefix = "Context: configurations." + v1alpha1.HelmChartRepoCredentialsKey
)

// repositoryIndex is what is read of a repository's index.yaml.
type repositoryIndex struct {
	Entries map[string][]repositoryEntry `json:"entries"`
}

// repositoryEntry is one version of a chart in a repository.
type repositoryEntry struct {
	Version string   `json:"version"`
	URLs    []string `json:"urls"`
	Digest  string   `json:"digest"`
}

// repositoryAuth is one entry of helmChartRepoCredentials.auths.
type repositoryAuth struct {
	URL          string                         `json:"url"`
	CustomCAData string                         `json:"customCAData"`
	AuthHeader   string                         `json:"authHeader"`
	SecretRef    *v1alpha1.LocalSecretReference `json:"secretRef"`
}

// fromRepository returns the chart of a Helm repository. Index and archive are requested with the credentials whose URL is the longest
// prefix of theirs, so no credential reaches a host that it was not given for. Unless it is empty, the digest has to be that of the archive.
func (d *deployer) fromRepository(ctx context.Context, item *contract.Item, repository *helmv1alpha1.HelmChartRepo, want digest.Digest) (*engine.Chart, error) {
	auths, err := repositoryAuths(item.Context)
	if err != nil {
		return nil, err
	}
	base := config.RepositoryURL(repository.HelmChartRepoUrl)
	index, err := d.authorized(ctx, item, auths, base+"/index.yaml", maxIndex)
	if err != nil {
		return nil, err
	}
	raw, err := d.downloader.get(ctx, index)
	if err != nil {
		return nil, err
	}
	entry, err := findEntry(raw, base, repository)
	if err != nil {
		return nil, err
	}
	location, err := resolveURL(base, entry.URLs[0])
	if err != nil {
		return nil, err
	}
	chart, err := d.fromEntry(ctx, item, auths, location, "sha256:"+strings.TrimPrefix(entry.Digest, "sha256:"))
	if err == nil && want != "" && chart.Digest != want.String() {
		return nil, mismatch(repositoryField, chart.Digest, want)
	}
	return chart, err
}

// seen is a download that was made before. An index may claim any digest and name any location, so a cached chart is only given to whom
// the same location gave it for the same credentials.
type seen struct {
	location, digest string
	login            [sha256.Size]byte
}

// fromEntry returns the chart at a location. A digest is "sha256:" where the index names none.
func (d *deployer) fromEntry(ctx context.Context, item *contract.Item, auths []repositoryAuth, location, digest string) (*engine.Chart, error) {
	what, err := d.authorized(ctx, item, auths, location, maxArchive)
	if err != nil {
		return nil, err
	}
	key := seen{location, digest, sha256.Sum256([]byte(what.authorization))}
	if _, ok := d.seen.Get(key); ok {
		if cached, ok := d.engine.Cached(digest); ok {
			return cached, nil
		}
	}
	archive, err := d.downloader.get(ctx, what)
	if err != nil {
		return nil, err
	}
	chart, err := d.load(repositoryField, archive)
	if err != nil {
		return nil, err
	}
	if digest != noDigest && chart.Digest != digest {
		return nil, kit.Again("GetChart", "DigestMismatch", "%s: what %s serves has the digest %s and not %s as its index says; publish index and chart anew",
			repositoryField, shown(location), chart.Digest, digest)
	}
	d.seen.Add(key, true)
	return chart, nil
}

// findEntry returns the wanted version of the wanted chart.
func findEntry(raw []byte, base string, repository *helmv1alpha1.HelmChartRepo) (*repositoryEntry, error) {
	var index repositoryIndex
	if err := foreign.Index.Unmarshal(raw, &index); err != nil {
		return nil, kit.Again("GetChart", "InvalidIndex", "%s: index.yaml of %s %s; publish a valid index", repositoryField, shown(base), foreign.Problem(err))
	}
	versions, ok := index.Entries[repository.HelmChartName]
	if !ok {
		return nil, kit.Again("GetChart", "ChartNotFound", "%s: repository %s has no chart %q; correct helmChartName, or publish the chart",
			repositoryField, shown(base), repository.HelmChartName)
	}
	for i := range versions {
		if sameVersion(versions[i].Version, repository.HelmChartVersion) && len(versions[i].URLs) > 0 {
			return &versions[i], nil
		}
	}
	return nil, kit.Again("GetChart", "ChartNotFound", "%s: repository %s has no version %q of chart %q; correct helmChartVersion, or publish the version",
		repositoryField, shown(base), repository.HelmChartVersion, repository.HelmChartName)
}

func sameVersion(a, b string) bool { return strings.TrimPrefix(a, "v") == strings.TrimPrefix(b, "v") }

// resolveURL returns the absolute form of a URL in an index.
func resolveURL(base, location string) (string, error) {
	root, err := url.Parse(base + "/")
	if err == nil {
		var resolved *url.URL
		if resolved, err = root.Parse(location); err == nil && (resolved.Scheme == "http" || resolved.Scheme == "https") {
			return resolved.String(), nil
		}
	}
	return "", kit.Again("GetChart", "InvalidIndex",
		"%s: the index of %s names no http or https URL for the chart; publish a valid index", repositoryField, shown(base))
}

// repositoryAuths reads the credentials of the Context.
func repositoryAuths(c *contract.Context) ([]repositoryAuth, error) {
	if c == nil {
		return nil, nil
	}
	raw := c.Configuration.Configurations[v1alpha1.HelmChartRepoCredentialsKey].RawMessage
	if len(raw) == 0 {
		return nil, nil
	}
	var credentials struct {
		Auths []repositoryAuth `json:"auths"`
	}
	if err := json.Unmarshal(raw, &credentials); err != nil {
		return nil, kit.Stall("GetChart", "InvalidCredentials", "%s: has to be an object with a list auths of url and authHeader or secretRef; correct it",
			credentialsPrefix)
	}
	return credentials.Auths, nil
}

// authorized returns a download from a repository with the credentials that belong to the URL.
func (d *deployer) authorized(ctx context.Context, item *contract.Item, auths []repositoryAuth, location string, limit int64) (download, error) {
	what := download{field: repositoryField, url: location, limit: limit}
	if auth := longestPrefix(auths, location); auth != nil {
		header, err := d.authHeader(ctx, item.DeployItem.Namespace, auth)
		if err != nil {
			return download{}, err
		}
		what.authorization, what.caData = header, auth.CustomCAData
	}
	return what, nil
}

// longestPrefix returns the credentials whose URL covers most of the location, nil when none does. A URL covers whole path segments only.
func longestPrefix(auths []repositoryAuth, location string) *repositoryAuth {
	var best *repositoryAuth
	for i := range auths {
		prefix := config.RepositoryURL(auths[i].URL)
		covers := location == prefix || strings.HasPrefix(location, prefix+"/")
		if auths[i].URL != "" && covers && (best == nil || len(prefix) > len(config.RepositoryURL(best.URL))) {
			best = &auths[i]
		}
	}
	return best
}

// authHeader returns the value of the Authorization header.
func (d *deployer) authHeader(ctx context.Context, namespace string, auth *repositoryAuth) (string, error) {
	header := auth.AuthHeader
	if auth.SecretRef != nil {
		var err error
		if header, err = d.secretHeader(ctx, namespace, auth.SecretRef); err != nil {
			return "", err
		}
	}
	header = strings.TrimSpace(header)
	if header != "" && !strings.HasPrefix(header, basicAuth) {
		return "", kit.Stall("GetChart", "InvalidCredentials", "%s: the header for %s is of a type that is not supported; use \"Basic <base64 of user:password>\"",
			credentialsPrefix, shown(auth.URL))
	}
	return header, nil
}

func (d *deployer) secretHeader(ctx context.Context, namespace string, ref *v1alpha1.LocalSecretReference) (string, error) {
	if d.options.Live == nil {
		return "", kit.Stall("GetChart", "InvalidCredentials", "%s: this deployer cannot read Secrets; use authHeader", credentialsPrefix)
	}
	secret := &corev1.Secret{}
	if err := d.options.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, secret); err != nil {
		return "", fmt.Errorf("%s: Secret %s/%s: %w", credentialsPrefix, namespace, ref.Name, err)
	}
	key := ref.Key
	if key == "" {
		key = defaultAuthKey
	}
	header, ok := secret.Data[key]
	if !ok {
		return "", kit.Stall("GetChart", "InvalidCredentials", "%s: Secret %s/%s has no key %q; add it", credentialsPrefix, namespace, ref.Name, key)
	}
	return string(header), nil
}
