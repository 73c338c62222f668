// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"io"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/publishing/pack"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// Chart writes the packaged chart of an OCI artifact to w.
func Chart(ctx context.Context, r publishing.Registry, ref string, w io.Writer) error {
	manifest, err := r.Client.Manifest(ctx, ref, r.Credentials)
	if err != nil {
		return err
	}
	layer, err := manifest.Layer(oci.HelmChartLayer, oci.HelmChartLayerLegacy)
	if err != nil {
		return err
	}
	content, err := manifest.Open(ctx, layer.Digest, oci.DefaultMaxContent)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	_, err = io.Copy(w, content)
	return err
}

// Download writes what the access of a resource of a component names, a chart of a Helm repository or a file of a web server, to w. It is
// read as a controller reads it: with the same limits, without a login, and compared with the digest that an index says.
func Download(ctx context.Context, r publishing.Registry, workspace *pack.Workspace, of component.Key, resource component.Resource, w io.Writer) error {
	store, err := fetch.New(fetch.Options{Dir: workspace.Dir("downloads")})
	if err != nil {
		return err
	}
	repositories, err := repository.New(repository.Options{OCI: r.Client, Store: store, AllowRequests: true})
	if err != nil {
		return err
	}
	session := repositories.Open(repository.Scope{Namespace: "default"})
	defer session.Close()
	content, err := open(ctx, session, of, resource)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	_, err = io.Copy(w, content)
	return err
}

// open looks the resource up in a component version that has nothing else.
func open(ctx context.Context, session *repository.Session, of component.Key, resource component.Resource) (io.ReadCloser, error) {
	d := &component.Descriptor{Schema: component.SchemaV2, Name: of.Name, Version: of.Version,
		Provider: component.Provider{Name: of.Name}, Resources: []component.Resource{resource}}
	text, err := d.Encode(component.SchemaV2)
	if err != nil {
		return nil, err
	}
	inline := v1alpha1.NewAnyJSON(text)
	root, err := session.Root(ctx, v1alpha1.ComponentDescriptorDefinition{Inline: &inline})
	if err != nil {
		return nil, err
	}
	content, err := session.Content(ctx, root.Descriptor, &root.Descriptor.Resources[0])
	if err != nil {
		return nil, withoutSubject(err)
	}
	return content, nil
}

// withoutSubject takes component and resource, which the caller names, off an error.
func withoutSubject(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
