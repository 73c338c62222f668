// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
)

// Media types of what `helm push` makes.
const (
	helmConfig  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	helmContent types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// ChartArtifact is a chart as registries have it for Helm and Flux.
type ChartArtifact struct {
	// Name of the chart. Helm wants repositories to end with it.
	Name string
	// Tag is the version as Helm looks for it: a tag has no +, so that _ stands for it.
	Tag string
	// Image is the artifact.
	Image v1.Image
}

// ChartArtifacts returns all charts as the OCI artifacts that `helm push` makes of them. The version has to be a semantic one.
func ChartArtifacts(o Options) ([]ChartArtifact, error) {
	charts, err := packCharts(o)
	if err != nil {
		return nil, err
	}
	tag := strings.ReplaceAll(strings.TrimPrefix(o.Release.Version, "v"), "+", "_")
	var artifacts []ChartArtifact
	for _, chart := range charts {
		artifact, err := chart.artifact(o.Release)
		if err != nil {
			return nil, fmt.Errorf("cannot make an artifact of the chart %s: %w", chart.name, err)
		}
		artifacts = append(artifacts, ChartArtifact{Name: chart.name, Tag: tag, Image: artifact})
	}
	return artifacts, nil
}

// artifact returns the chart with its metadata as the configuration, where Helm reads them.
func (c packedChart) artifact(release containerimage.Release) (v1.Image, error) {
	var metadata map[string]any
	if err := foreign.Unmarshal(c.metadata, &metadata); err != nil {
		return nil, err
	}
	config, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	annotations := maps.Clone(release.Labels())
	annotations["org.opencontainers.image.title"] = c.name
	annotations["org.opencontainers.image.version"] = strings.TrimPrefix(release.Version, "v")
	annotations["org.opencontainers.image.created"] = release.Created.UTC().Format(time.RFC3339)
	if description, isText := metadata["description"].(string); isText {
		annotations["org.opencontainers.image.description"] = description
	}
	layered, err := mutate.AppendLayers(empty.Image, static.NewLayer(c.archive, helmContent))
	if err != nil {
		return nil, err
	}
	annotated, isImage := mutate.Annotations(mutate.ConfigMediaType(mutate.MediaType(layered, types.OCIManifestSchema1), helmConfig), annotations).(v1.Image)
	if !isImage {
		return nil, errors.New("cannot annotate it")
	}
	return withConfig(annotated, config)
}

// configured is an image whose configuration is no description of an image.
type configured struct {
	v1.Image
	config   []byte
	manifest *v1.Manifest
}

// withConfig puts a text in the place of the configuration.
func withConfig(of v1.Image, config []byte) (v1.Image, error) {
	manifest, err := of.Manifest()
	if err != nil {
		return nil, err
	}
	manifest = manifest.DeepCopy()
	digest, size, err := v1.SHA256(strings.NewReader(string(config)))
	if err != nil {
		return nil, err
	}
	manifest.Config.Digest, manifest.Config.Size = digest, size
	return configured{Image: of, config: config, manifest: manifest}, nil
}

// RawConfigFile returns the configuration.
func (c configured) RawConfigFile() ([]byte, error) { return c.config, nil }

// ConfigName returns the digest of the configuration.
func (c configured) ConfigName() (v1.Hash, error) { return c.manifest.Config.Digest, nil }

// Manifest returns the manifest with that configuration.
func (c configured) Manifest() (*v1.Manifest, error) { return c.manifest, nil }

// RawManifest returns the manifest as registries get it.
func (c configured) RawManifest() ([]byte, error) { return json.Marshal(c.manifest) }

// Digest returns that of the manifest.
func (c configured) Digest() (v1.Hash, error) { return partial.Digest(c) }

// Size returns that of the manifest, in bytes.
func (c configured) Size() (int64, error) { return partial.Size(c) }

// writeChartArtifacts writes the charts into an OCI image layout, by <name>:<tag>.
func writeChartArtifacts(dist string, o Options) error {
	artifacts, err := ChartArtifacts(o)
	if err != nil {
		return err
	}
	target, err := layout.Write(filepath.Join(dist, ChartsLayout), empty.Index)
	if err != nil {
		return err
	}
	for _, artifact := range artifacts {
		named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": artifact.Name + ":" + artifact.Tag})
		if err := target.AppendImage(artifact.Image, named); err != nil {
			return err
		}
	}
	return nil
}
