// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"testing/fstest"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"sigs.k8s.io/yaml"
)

// Media types that Flux and Helm give to what they push.
const (
	FluxConfigMediaType  = "application/vnd.cncf.flux.config.v1+json"
	FluxContentMediaType = "application/vnd.cncf.flux.content.v1.tar+gzip"
	HelmConfigMediaType  = "application/vnd.cncf.helm.config.v1+json"
	HelmChartMediaType   = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

const fixedCreated = "2026-01-01T00:00:00Z" // the same content gets the same digest

// Files makes a file system of path → content, for PushFluxArtifact and PackageChart.
func Files(files map[string]string) fs.FS {
	system := fstest.MapFS{}
	for name, text := range files {
		system[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return system
}

// PushFluxArtifact pushes the files as "flux push artifact" does and returns the manifest's digest ("sha256:…").
func (r *Registry) PushFluxArtifact(ctx context.Context, repository, tag string, files fs.FS) (string, error) {
	archive, diffID, err := archive(files, "")
	if err != nil {
		return "", err
	}
	config := fmt.Appendf(nil, `{"created":%q,"rootfs":{"type":"layers","diff_ids":[%q]},"config":{}}`, fixedCreated, diffID)
	return r.push(ctx, repository, tag, FluxConfigMediaType, config, FluxContentMediaType, archive, map[string]string{
		ocispec.AnnotationSource:   "platform",
		ocispec.AnnotationRevision: tag + "@" + diffID,
	})
}

// PushHelmChart pushes a packaged chart as "helm push" does and returns the manifest's digest ("sha256:…"). The tag is
// the chart's version; unlike Helm, the repository is the full name including the chart's.
func (r *Registry) PushHelmChart(ctx context.Context, repository, tag string, chart []byte) (string, error) {
	metadata, err := chartMetadata(chart)
	if err != nil {
		return "", fmt.Errorf("cannot read the chart: %w", err)
	}
	return r.push(ctx, repository, tag, HelmConfigMediaType, metadata, HelmChartMediaType, chart, nil)
}

// push stores an artifact of one layer under the tag.
func (r *Registry) push(ctx context.Context, repository, tag, configType string, config []byte,
	layerType string, layer []byte, annotations map[string]string) (string, error) {
	target, err := remote.NewRepository(r.Host + "/" + repository)
	if err != nil {
		return "", fmt.Errorf("cannot push to %s: %w", repository, err)
	}
	target.PlainHTTP = true
	configDescriptor, layerDescriptor := content.NewDescriptorFromBytes(configType, config), content.NewDescriptorFromBytes(layerType, layer)
	err = errors.Join(
		target.Push(ctx, configDescriptor, bytes.NewReader(config)),
		target.Push(ctx, layerDescriptor, bytes.NewReader(layer)))
	if err != nil {
		return "", fmt.Errorf("cannot push to %s: %w", repository, err)
	}
	all := map[string]string{ocispec.AnnotationCreated: fixedCreated}
	for key, value := range annotations {
		all[key] = value
	}
	manifest, err := oras.PackManifest(ctx, target, oras.PackManifestVersion1_1, "", oras.PackManifestOptions{
		ConfigDescriptor: &configDescriptor, Layers: []ocispec.Descriptor{layerDescriptor}, ManifestAnnotations: all,
	})
	if err != nil {
		return "", fmt.Errorf("cannot push to %s: %w", repository, err)
	}
	return manifest.Digest.String(), target.Tag(ctx, manifest, tag)
}

// PackageChart packs a chart folder as "helm package" does, without building dependencies: the archive's one folder has
// the name that Chart.yaml gives.
func PackageChart(chart fs.FS) ([]byte, error) {
	metadata, err := fs.ReadFile(chart, "Chart.yaml")
	if err != nil {
		return nil, err
	}
	var named struct{ Name string }
	if err := yaml.Unmarshal(metadata, &named); err != nil || named.Name == "" {
		return nil, fmt.Errorf("no name in Chart.yaml: %w", err)
	}
	packed, _, err := archive(chart, named.Name)
	return packed, err
}

// chartMetadata returns the Chart.yaml of a packaged chart as JSON.
func chartMetadata(chart []byte) ([]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(chart))
	if err != nil {
		return nil, err
	}
	for reader := tar.NewReader(unzipped); ; {
		header, err := reader.Next()
		if err != nil {
			return nil, fmt.Errorf("no Chart.yaml in the archive: %w", err)
		}
		if path.Base(header.Name) == "Chart.yaml" && strings.Count(header.Name, "/") == 1 {
			metadata, err := io.ReadAll(reader)
			if err != nil {
				return nil, err
			}
			return yaml.YAMLToJSON(metadata)
		}
	}
}

// archive packs the regular files below prefix, reproducibly, and returns the tar.gz and the digest of the tar.
func archive(files fs.FS, prefix string) (packed []byte, diffID string, err error) {
	var buffer bytes.Buffer
	hash := sha256.New()
	zipped := gzip.NewWriter(&buffer)
	writer := tar.NewWriter(io.MultiWriter(zipped, hash))
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		return addFile(writer, files, name, path.Join(prefix, name))
	})
	if err = errors.Join(err, writer.Close(), zipped.Close()); err != nil {
		return nil, "", fmt.Errorf("cannot pack the files: %w", err)
	}
	return buffer.Bytes(), digest.NewDigest(digest.SHA256, hash).String(), nil
}

func addFile(writer *tar.Writer, files fs.FS, from, to string) error {
	text, err := fs.ReadFile(files, from)
	if err != nil {
		return err
	}
	header := &tar.Header{Name: to, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	_, err = writer.Write(text)
	return err
}
