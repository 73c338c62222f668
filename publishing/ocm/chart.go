// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// chart takes a packaged chart, the directory of one, or a chart of a Helm repository.
func (v *version) chart(ctx context.Context, r *Resource) (*content, error) {
	in := r.Input
	if in.HelmRepository != "" {
		return v.repositoryChart(ctx, r)
	}
	path, err := v.path(in)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("chart %s cannot be read: %w; paths are relative to the constructor", in.Path, fault.WithoutPath(err))
	}
	if !info.IsDir() {
		return v.keep(oci.HelmChartLayer, func(w io.Writer) error { return copyFile(w, path, in.Path) })
	}
	o, err := chartOptions(path, in)
	if err != nil {
		return nil, err
	}
	return v.keep(oci.HelmChartLayer, func(w io.Writer) error {
		_, err := publishing.Pack(w, path, *o)
		return err
	})
}

// chartOptions packs as helm package does: below the name of the chart, without what .helmignore names.
func chartOptions(path string, in *Input) (*publishing.PackOptions, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("chart %s cannot be opened: %w", in.Path, fault.WithoutPath(err))
	}
	defer func() { _ = root.Close() }()
	text, err := fs.ReadFile(root.FS(), "Chart.yaml")
	if err != nil {
		return nil, fmt.Errorf("chart %s has no readable Chart.yaml: %w", in.Path, fault.WithoutPath(err))
	}
	var chart struct{ Name, Version string }
	if err := foreign.Unmarshal(text, &chart); err != nil {
		return nil, fmt.Errorf("file Chart.yaml of chart %s %w", in.Path, err)
	}
	if chart.Name == "" || strings.ContainsAny(chart.Name, "/\\") || chart.Name == ".." {
		return nil, fmt.Errorf("file Chart.yaml of chart %s has no usable name; set name", in.Path)
	}
	if in.Version != "" && in.Version != chart.Version {
		return nil, fmt.Errorf("chart %s has version %s, but the input says %s; make them equal", in.Path, chart.Version, in.Version)
	}
	ignore, err := fs.ReadFile(root.FS(), ".helmignore")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf(".helmignore of chart %s cannot be read: %w", in.Path, fault.WithoutPath(err))
	}
	return &publishing.PackOptions{Prefix: chart.Name, Ignore: []string{string(ignore)}}, nil
}

// repositoryChart downloads a chart, so that it lies in the version as one from a directory does.
func (v *version) repositoryChart(ctx context.Context, r *Resource) (*content, error) {
	in := r.Input
	if in.Path == "" || in.Version == "" {
		return nil, errors.New("a chart of a Helm repository needs path, the name of the chart, and version")
	}
	if base, isOCI := strings.CutPrefix(in.HelmRepository, "oci://"); isOCI {
		ref := strings.TrimSuffix(base, "/") + "/" + in.Path + ":" + strings.ReplaceAll(in.Version, "+", "_")
		return v.keep(oci.HelmChartLayer, func(w io.Writer) error { return v.pullChart(ctx, ref, w) })
	}
	access := map[string]any{"type": "helm", "helmRepository": in.HelmRepository, "helmChart": in.Path + ":" + in.Version}
	return v.download(ctx, r, &Input{}, oci.HelmChartLayer, access)
}

// download keeps what an access leads to, compressed and called as the input says.
func (v *version) download(ctx context.Context, r *Resource, in *Input, mediaType string, fields map[string]any) (*content, error) {
	access, err := component.NewTyped(fields)
	if err != nil {
		return nil, err
	}
	return v.blob(in, mediaType, func(w io.Writer) error { return v.fetch(ctx, r, access, w) })
}

// pullChart writes the packaged chart of an OCI artifact.
func (v *version) pullChart(ctx context.Context, ref string, w io.Writer) error {
	r := v.builder.Registry
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

// fetch writes what an access leads to: a chart of a Helm repository, a file of a web server, files of a Git repository. It is read as a controller
// reads it: with the same limits, without a login, and compared with the digest that an index says.
func (v *version) fetch(ctx context.Context, r *Resource, access component.Typed, w io.Writer) error {
	store, err := fetch.New(fetch.Options{Dir: v.builder.Workspace.Dir("downloads")})
	if err != nil {
		return err
	}
	repositories, err := repository.New(repository.Options{OCI: v.builder.Registry.Client, Store: store, AllowRequests: true})
	if err != nil {
		return err
	}
	session := repositories.Open(repository.Scope{Namespace: "default"})
	defer session.Close()
	// The resource is looked up in a component version that has nothing else.
	alone := &component.Descriptor{Schema: component.SchemaV2, Name: v.component.Name, Version: v.component.Version,
		Provider: component.Provider{Name: v.component.Name}, Resources: []component.Resource{{
			Type: r.Type, Relation: component.RelationExternal, Access: access, Element: component.Element{Name: r.Name, Version: v.component.Version},
		}}}
	text, err := alone.Encode(component.SchemaV2)
	if err != nil {
		return err
	}
	inline := v1alpha1.NewAnyJSON(text)
	root, err := session.Root(ctx, v1alpha1.ComponentDescriptorDefinition{Inline: &inline})
	if err != nil {
		return err
	}
	content, err := session.Content(ctx, root.Descriptor, &root.Descriptor.Resources[0])
	if err != nil {
		return cmp.Or(errors.Unwrap(err), err) // without component and resource, which the caller names
	}
	defer func() { _ = content.Close() }()
	_, err = io.Copy(w, content)
	return err
}

// web takes a file of a web server.
func (v *version) web(ctx context.Context, r *Resource) (*content, error) {
	if r.Input.URL == "" {
		return nil, errors.New("url is missing; write the address of the file")
	}
	in := r.Input
	access := map[string]any{"type": "wget", "url": in.URL}
	if in.Verb != "" {
		access["verb"] = in.Verb
	}
	if len(in.Header) > 0 {
		access["header"] = in.Header
	}
	if len(in.Body) > 0 {
		access["body"] = base64.StdEncoding.EncodeToString(in.Body)
	}
	return v.download(ctx, r, in, mediaBytes, access)
}

// git takes the files of a commit, as a tar with gzip.
func (v *version) git(ctx context.Context, r *Resource) (*content, error) {
	in := r.Input
	if in.Repository == "" {
		return nil, errors.New("repository is missing; write the URL of the Git repository")
	}
	compress := true
	access := map[string]any{"type": "git", "repository": in.Repository, "ref": in.Ref, "commit": in.Commit, "pathSpec": in.Path}
	return v.download(ctx, r, &Input{MediaType: cmp.Or(in.MediaType, mediaTgz), Compress: &compress}, mediaTgz, access)
}

// spiff lets a file go through Spiff++, with the values of the input under values.
func (v *version) spiff(ctx context.Context, in *Input) (*content, error) {
	if len(in.Libraries) > 0 {
		return nil, errors.New("libraries are not supported; put their templates into the file")
	}
	path, err := v.path(in)
	if err != nil {
		return nil, err
	}
	var source bytes.Buffer
	if err := copyFile(&source, path, in.Path); err != nil {
		return nil, err
	}
	out, err := Substitute(ctx, source.Bytes(), Spiff, in.Values)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", in.Path, err)
	}
	return v.bytes(in, mediaYAML, out)
}
