// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

const (
	repositoryField   = "chart.helmChartRepo"
	noDigest          = "sha256:"
	ociScheme         = "oci://"
	defaultAuthKey    = "authHeader"
	basicAuth         = "Basic "
	credentialsPrefix = "Context: configurations." + v1alpha1.HelmChartRepoCredentialsKey
)

// repositoryAuth is one entry of helmChartRepoCredentials.auths.
type repositoryAuth struct {
	URL          string                         `json:"url"`
	CustomCAData string                         `json:"customCAData"`
	AuthHeader   string                         `json:"authHeader"`
	SecretRef    *v1alpha1.LocalSecretReference `json:"secretRef"`
}

// fromRepository returns the chart of a Helm repository. Index and archive are requested with the credentials whose URL is the longest
// prefix of theirs, so no credential reaches a host that it was not given for. Unless it is empty, the digest has to be that of the archive.
func (f *Finder) fromRepository(ctx context.Context, item *contract.Item, repository *helmv1alpha1.HelmChartRepo, want digest.Digest) (*engine.Chart, error) {
	base := helmv1alpha1.RepositoryURL(repository.HelmChartRepoUrl)
	if path, ok := strings.CutPrefix(base, ociScheme); ok {
		return f.fromOCIRepository(ctx, item, path+"/"+repository.HelmChartName, repository.HelmChartVersion, want)
	}
	auths, err := repositoryAuths(item.Context)
	if err != nil {
		return nil, err
	}
	entry, err := f.entryOf(ctx, item, auths, base, repository)
	if err != nil {
		return nil, err
	}
	location, err := resolveURL(base, entry.URLs[0])
	if err != nil {
		return nil, err
	}
	claimed := noDigest + strings.TrimPrefix(entry.Digest, noDigest)
	if path, ok := strings.CutPrefix(location, ociScheme); ok {
		return f.fromOCIEntry(ctx, item, path, entry.Version, claimed, want)
	}
	chart, err := f.fromEntry(ctx, item, auths, location, claimed)
	if err == nil && want != "" && chart.Digest != want.String() {
		return nil, mismatch(repositoryField, chart.Digest, want)
	}
	return chart, err
}

// fromOCIRepository returns the chart at path ("host/repository") of a registry, in the version that is its tag or the highest in a range. A version
// that is no tag is found in another build, as in an index.
func (f *Finder) fromOCIRepository(ctx context.Context, item *contract.Item, path, version string, want digest.Digest) (*engine.Chart, error) {
	if !IsVersion(version) {
		return f.latest(ctx, item, path, version, want)
	}
	chart, err := f.pull(ctx, item, repositoryField, path+":"+tagOf(version), want)
	if errors.Is(err, oci.ErrNotFound) && !strings.Contains(version, "+") {
		if built, missing := f.latest(ctx, item, path, version, want); missing == nil {
			return built, nil
		}
	}
	return chart, err
}

func (f *Finder) latest(ctx context.Context, item *contract.Item, path, versions string, want digest.Digest) (*engine.Chart, error) {
	if f.access.Registries == nil {
		return nil, noRegistries(repositoryField)
	}
	credentials, err := f.logins(ctx, item)
	if err != nil {
		return nil, err
	}
	tag, err := f.access.Registries.Latest(ctx, path, versions, credentials)
	if err != nil {
		return nil, problem(repositoryField+": ", "InvalidChart", err)
	}
	return f.pull(ctx, item, repositoryField, path+":"+tag, want)
}

// fromOCIEntry returns the chart at the place in a registry that an index names.
func (f *Finder) fromOCIEntry(ctx context.Context, item *contract.Item, path, version, claimed string, want digest.Digest) (*engine.Chart, error) {
	if last := path[strings.LastIndex(path, "/")+1:]; !strings.ContainsAny(last, ":@") {
		path += ":" + tagOf(version)
	}
	chart, err := f.pull(ctx, item, repositoryField, path, want)
	if err == nil && claimed != noDigest && chart.Digest != claimed {
		return nil, claimedOther(path, chart.Digest, claimed)
	}
	return chart, err
}

// tagOf returns the tag of a version: registries take no "+".
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

// seen is a download that was made before. An index may claim any digest and name any location, so a cached chart is only given to whom
// the same location gave it for the same credentials.
type seen struct {
	location, digest, login [sha256.Size]byte
}

// fromEntry returns the chart at a location. A digest is "sha256:" where the index names none.
func (f *Finder) fromEntry(ctx context.Context, item *contract.Item, auths []repositoryAuth, location, digest string) (*engine.Chart, error) {
	what, err := f.authorized(ctx, item, auths, location, maxArchive)
	if err != nil {
		return nil, err
	}
	key := seen{sha256.Sum256([]byte(location)), sha256.Sum256([]byte(digest)), sha256.Sum256([]byte(what.authorization))}
	if _, ok := f.seen.Get(key); ok {
		if cached := f.engine.Cached(digest); cached != nil {
			return cached, nil
		}
	}
	archive, err := f.downloader.get(ctx, what)
	if err != nil {
		return nil, err
	}
	chart, err := f.load(ctx, item, repositoryField, archive)
	if err != nil {
		return nil, err
	}
	if digest != noDigest && chart.Digest != digest {
		return nil, claimedOther(shown(location), chart.Digest, digest)
	}
	f.seen.Add(key, true)
	return chart, nil
}

// claimedOther is the error about a location that serves something else than the index says.
func claimedOther(location, got, claimed string) error {
	return protocol.Again("GetChart", "DigestMismatch", "%s: what %s serves has the digest %s and not %s as its index says; publish index and chart anew",
		repositoryField, location, got, claimed)
}

// resolveURL returns the absolute form of a URL in an index.
func resolveURL(base, location string) (string, error) {
	if root, err := url.Parse(base + "/"); err == nil {
		if resolved, err := root.Parse(location); err == nil && slices.Contains([]string{"http", "https", "oci"}, resolved.Scheme) {
			return resolved.String(), nil
		}
	}
	return "", protocol.Again("GetChart", "InvalidIndex",
		"%s: the index of %s names no http, https or oci URL for the chart; publish a valid index", repositoryField, shown(base))
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
		return nil, protocol.Stall("GetChart", "InvalidCredentials", "%s: has to be an object with a list auths of url and authHeader or secretRef; correct it",
			credentialsPrefix)
	}
	return credentials.Auths, nil
}

// authorized returns a download from a repository with the credentials that belong to the URL.
func (f *Finder) authorized(ctx context.Context, item *contract.Item, auths []repositoryAuth, location string, limit int64) (download, error) {
	what := download{field: repositoryField, url: location, limit: limit}
	if auth := longestPrefix(auths, location); auth != nil {
		header, err := f.authHeader(ctx, item.DeployItem.Namespace, auth)
		if err != nil {
			return download{}, err
		}
		what.authorization, what.caData = header, auth.CustomCAData
	}
	return what, nil
}

// longestPrefix returns the credentials whose URL covers most of the location, nil when none does.
func longestPrefix(auths []repositoryAuth, location string) *repositoryAuth {
	var best *repositoryAuth
	for i := range auths {
		prefix := helmv1alpha1.RepositoryURL(auths[i].URL)
		if auths[i].URL != "" && covers(prefix, location) && (best == nil || len(prefix) > len(helmv1alpha1.RepositoryURL(best.URL))) {
			best = &auths[i]
		}
	}
	return best
}

// covers reports whether a location is the prefix or lies below it. Only whole path segments count.
func covers(prefix, location string) bool {
	return location == prefix || strings.HasPrefix(location, prefix+"/")
}

// authHeader returns the value of the Authorization header.
func (f *Finder) authHeader(ctx context.Context, namespace string, auth *repositoryAuth) (string, error) {
	header := auth.AuthHeader
	if auth.SecretRef != nil {
		var err error
		if header, err = f.secretHeader(ctx, namespace, auth.SecretRef); err != nil {
			return "", err
		}
	}
	header = strings.TrimSpace(header)
	if header != "" && !strings.HasPrefix(header, basicAuth) {
		return "", protocol.Stall("GetChart", "InvalidCredentials", "%s: the header for %s is of a type that is not supported; use \"Basic <base64 of user:password>\"",
			credentialsPrefix, shown(auth.URL))
	}
	return header, nil
}

func (f *Finder) secretHeader(ctx context.Context, namespace string, ref *v1alpha1.LocalSecretReference) (string, error) {
	if f.access.Live == nil {
		return "", protocol.Stall("GetChart", "InvalidCredentials", "%s: this deployer cannot read Secrets; use authHeader", credentialsPrefix)
	}
	secret := &corev1.Secret{}
	if err := f.access.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, secret); err != nil {
		return "", fmt.Errorf("%s: Secret %s/%s: %w", credentialsPrefix, namespace, ref.Name, err)
	}
	key := cmp.Or(ref.Key, defaultAuthKey)
	header, ok := secret.Data[key]
	if !ok {
		return "", protocol.Stall("GetChart", "InvalidCredentials", "%s: Secret %s/%s has no key %q; add it", credentialsPrefix, namespace, ref.Name, key)
	}
	return string(header), nil
}

// pull returns a chart of an OCI registry. The reference is resolved with the credentials of the item's Context at every job, so neither a
// moved tag nor a withdrawn permission is missed; the content is downloaded once. Unless it is empty, the digest is that of the archive.
func (f *Finder) pull(ctx context.Context, item *contract.Item, field, ref string, want digest.Digest) (*engine.Chart, error) {
	if f.access.Registries == nil {
		return nil, noRegistries(field)
	}
	credentials, err := f.logins(ctx, item)
	if err != nil {
		return nil, err
	}
	manifest, err := f.access.Registries.ManifestFor(ctx, ref, oci.PullOptions{Credentials: credentials})
	if err != nil {
		return nil, problem(field+": ", "InvalidChart", err)
	}
	layer, err := manifest.Layer(oci.HelmChartLayer, oci.HelmChartLayerLegacy)
	if err != nil {
		return nil, problem(field+": ", "InvalidChart", err)
	}
	if want != "" && layer.Digest != want {
		return nil, mismatch(field, layer.Digest.String(), want)
	}
	// Also where the chart is known: only who gives it away has it.
	archive, err := manifest.Blob(ctx, layer.Digest, maxArchive)
	if err != nil {
		return nil, problem(field+": ", "InvalidChart", err)
	}
	return f.load(ctx, item, field+" "+ref, archive)
}

func noRegistries(field string) error {
	return protocol.Stall("GetChart", "NotSupported", "%s: this deployer runs without access to registries; use chart.archive", field)
}

func badCredentials(err error) error {
	return protocol.Stall("GetChart", "InvalidCredentials", "Context: %w", err)
}

// pullCredentials returns the logins of the pull secrets in the order of the Context, then those of its OCM configuration.
func pullCredentials(c *contract.Context) (oci.Credentials, error) {
	if c == nil {
		return oci.Credentials{}, nil
	}
	var all []oci.Credentials
	names, _ := pullsecrets.Different(pullsecrets.NamesOf(c.Configuration.RegistryPullSecrets))
	for _, name := range names {
		found, err := oci.ParseSecret(name, c.PullSecrets[name])
		if err != nil {
			return oci.Credentials{}, fmt.Errorf("registryPullSecrets: %w", err)
		}
		all = append(all, found)
	}
	configured, err := repository.ParseRights(nil, c.OCMConfig)
	return oci.Join(append(all, configured.Logins())...), err
}

// logins are those of the item's Context, its identity after all others.
func (f *Finder) logins(ctx context.Context, item *contract.Item) (oci.Credentials, error) {
	credentials, err := pullCredentials(item.Context)
	if err != nil {
		return oci.Credentials{}, badCredentials(err)
	}
	identity, err := f.access.Identity(ctx, item, "GetChart")
	if err != nil || identity == nil {
		return credentials, err
	}
	return oci.Join(credentials, oci.FromIdentity(identity)), nil
}
