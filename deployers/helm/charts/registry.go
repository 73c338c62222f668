// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// chartLayers are the media types of charts in registries; the second is that of Helm's first attempts.
var chartLayers = []string{oci.HelmChartLayer, oci.HelmChartLayerLegacy}

// fromRegistry returns the chart of chart.ref.
func (f *Finder) fromRegistry(ctx context.Context, item *contract.Item, ref string) (*engine.Chart, error) {
	return f.pull(ctx, item, "chart.ref", ref, "")
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
	layer, err := manifest.Layer(chartLayers...)
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
