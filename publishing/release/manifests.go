// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
	"github.com/flux-landscaper/flux-landscaper/publishing/pack"
)

// Media types of what `flux push artifact` makes.
const (
	fluxConfig  types.MediaType = "application/vnd.cncf.flux.config.v1+json"
	fluxContent types.MediaType = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// placeholder is the image in the kustomizations of a checkout, as kustomize writes it.
const placeholder = "  newName: ghcr.io/flux-landscaper/landscaper\n  newTag: v0.0.0-dev\n"

// writeManifests writes flux/ and config/ with the images of the release: as folder, as artifact for Flux, and as files for kubectl.
func writeManifests(dist string, o Options, digest string) error {
	to := filepath.Join(dist, ManifestsFolder)
	if err := pinned(to, o, digest); err != nil {
		return err
	}
	artifact, err := Artifact(to, o.Release)
	if err != nil {
		return err
	}
	target, err := layout.Write(filepath.Join(dist, ManifestsLayout), empty.Index)
	if err != nil {
		return err
	}
	named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": o.Release.Version})
	if err := target.AppendImage(artifact, named); err != nil {
		return err
	}
	for file, folder := range map[string]string{"crds.yaml": "flux/crds", "install.yaml": "flux/install"} {
		built, err := build(filepath.Join(to, folder))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dist, file), built, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pinned copies the manifests of the checkout to a folder, where kustomizations name the images of the release by digest.
func pinned(to string, o Options, digest string) error {
	image := fmt.Sprintf("  newName: %s\n  newTag: %s\n  digest: %s\n", o.Repository, o.Release.Version, digest)
	count := 0
	for _, folder := range []string{"flux", "config"} {
		err := filepath.WalkDir(filepath.Join(o.Source, folder), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(file) != ".yaml" {
				return err
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if strings.Contains(string(content), placeholder) {
				count++
			}
			name, err := filepath.Rel(o.Source, file)
			if err != nil {
				return err
			}
			target := filepath.Join(to, name)
			content = bytes.ReplaceAll(content, []byte(placeholder), []byte(image))
			return errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, content, 0o644))
		})
		if err != nil {
			return fmt.Errorf("cannot take over the manifests: %w", err)
		}
	}
	if count == 0 {
		return fmt.Errorf("no kustomization below %s/flux names the image as\n%s", o.Source, placeholder)
	}
	return nil
}

// build is kustomize build.
func build(folder string) ([]byte, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, fmt.Errorf("cannot build %s: %w", folder, err)
	}
	return resources.AsYaml()
}

// Artifact returns a folder as the OCI artifact that `flux push artifact` makes of it.
func Artifact(folder string, release containerimage.Release) (v1.Image, error) {
	var packed bytes.Buffer
	if _, err := pack.Directory(&packed, folder, pack.Options{}); err != nil {
		return nil, err
	}
	artifact, err := mutate.AppendLayers(empty.Image, static.NewLayer(packed.Bytes(), fluxContent))
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{
		"org.opencontainers.image.source":   containerimage.Source,
		"org.opencontainers.image.revision": release.Version + "@sha1:" + release.Revision,
		"org.opencontainers.image.created":  release.Created.UTC().Format(time.RFC3339),
	}
	typed := mutate.ConfigMediaType(mutate.MediaType(artifact, types.OCIManifestSchema1), fluxConfig)
	annotated, isImage := mutate.Annotations(typed, annotations).(v1.Image)
	if !isImage {
		return nil, errors.New("cannot annotate the manifests")
	}
	return annotated, nil
}
