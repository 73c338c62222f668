// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Program is a static program of Linux and the architecture that it is for.
type Program struct {
	// File is where the program lies.
	File string
	// Architecture as Go calls it.
	Architecture string
}

// Set is an image for several platforms with a bill of materials for each.
type Set struct {
	// Index names the images of all platforms.
	Index v1.ImageIndex
	// Materials are OCI artifacts whose subjects are the images of the index.
	Materials []v1.Image
}

// NewSet returns the images of the programs, all of cmd/landscaper of one release.
func NewSet(programs []Program, release Release) (*Set, error) {
	set := &Set{Index: mutate.IndexMediaType(empty.Index, types.OCIImageIndex)}
	for _, program := range programs {
		platform := v1.Platform{OS: "linux", Architecture: program.Architecture}
		image, err := Landscaper(program.File, platform, release)
		if err != nil {
			return nil, err
		}
		image = ociTyped(image)
		materials, err := materialsOf(program, image, release)
		if err != nil {
			return nil, err
		}
		set.Index = mutate.AppendManifests(set.Index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
		set.Materials = append(set.Materials, materials)
	}
	annotated, isIndex := mutate.Annotations(set.Index, release.Labels()).(v1.ImageIndex)
	if !isIndex {
		return nil, errors.New("cannot annotate the index of the images")
	}
	set.Index = annotated
	return set, nil
}

// ociTyped gives an image the media types of the OCI image specification.
func ociTyped(image v1.Image) v1.Image {
	return mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON)
}

// materialsOf returns the artifact with the bill of materials of a program, for registries to list as a referrer of its image.
func materialsOf(program Program, image v1.Image, release Release) (v1.Image, error) {
	content, err := Materials(program.File, release)
	if err != nil {
		return nil, err
	}
	artifact, err := mutate.Append(empty.Image, mutate.Addendum{Layer: static.NewLayer(content, MaterialsType)})
	if err != nil {
		return nil, err
	}
	subject, err := partial.Descriptor(image)
	if err != nil {
		return nil, err
	}
	typed := mutate.ConfigMediaType(mutate.MediaType(artifact, types.OCIManifestSchema1), MaterialsType)
	referring, isImage := mutate.Subject(typed, *subject).(v1.Image)
	if !isImage {
		return nil, errors.New("cannot make the bill of materials a referrer of the image")
	}
	return referring, nil
}

// Digest returns the digest of the index.
func (s *Set) Digest() (v1.Hash, error) { return s.Index.Digest() }

// WriteLayout writes the set as an OCI image layout into folder dir, which is emptied first. The index has the version as its reference name.
func (s *Set) WriteLayout(dir, version string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	target, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("cannot write the images to %s: %w", dir, err)
	}
	err = target.AppendIndex(s.Index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version}))
	for _, materials := range s.Materials {
		err = errors.Join(err, target.AppendImage(materials))
	}
	return err
}

// Push pushes the set to a repository ("ghcr.io/flux-landscaper/landscaper") under a tag, with the logins of the Docker configuration. A
// registry without TLS is reached only where plainHTTP says so.
func (s *Set) Push(ctx context.Context, repository, tag string, plainHTTP bool) error {
	to, err := Repository(repository, plainHTTP)
	if err != nil {
		return err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.WriteIndex(to.Tag(tag), s.Index, options...); err != nil {
		return fmt.Errorf("cannot push the images to %s:%s: %w", repository, tag, err)
	}
	for _, materials := range s.Materials {
		digest, err := materials.Digest()
		if err != nil {
			return err
		}
		if err := remote.Write(to.Digest(digest.String()), materials, options...); err != nil {
			return fmt.Errorf("cannot push the bill of materials to %s: %w", repository, err)
		}
	}
	return nil
}

// Repository parses the name of a repository.
func Repository(repository string, plainHTTP bool) (name.Repository, error) {
	var options []name.Option
	if plainHTTP {
		options = append(options, name.Insecure)
	}
	parsed, err := name.NewRepository(repository, options...)
	if err != nil {
		return name.Repository{}, fmt.Errorf("%q is not a repository of a registry, e.g. ghcr.io/flux-landscaper/landscaper: %w", repository, err)
	}
	return parsed, nil
}
