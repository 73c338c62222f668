// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package containerimage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

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
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// unprivileged is the user of images without a user's files, as "nonroot" of the distroless images.
const unprivileged = "65532:65532"

// Source is where the source code of the images is.
const Source = "https://github.com/flux-landscaper/flux-landscaper"

// Release is what images and their bills of materials say of where they come from.
type Release struct {
	// Version is a semantic version with v.
	Version string
	// Revision is the commit.
	Revision string
	// Created is the time of that commit, so that a second build gives the same digests.
	Created time.Time
}

// Labels returns the labels and annotations of the OCI image specification.
func (r Release) Labels() map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title": "landscaper", "org.opencontainers.image.source": Source, "org.opencontainers.image.licenses": "Apache-2.0",
	}
	if r.Version != "" {
		labels["org.opencontainers.image.version"] = r.Version
	}
	if r.Revision != "" {
		labels["org.opencontainers.image.revision"] = r.Revision
	}
	return labels
}

// Landscaper returns the image of the controllers, the deployers and the agent: the static program of cmd/landscaper at path binary, which runs as
// user 65532, with the certificate authorities that Mozilla trusts. Those come from golang.org/x/crypto/x509roots, so that no file of the
// machine goes into the image.
func Landscaper(binary string, platform v1.Platform, release Release) (v1.Image, error) {
	const to = "/landscaper"
	return Build(Contents{
		Platform: platform, Programs: map[string]string{to: binary}, Files: map[string][]byte{"/etc/ssl/certs/ca-certificates.crt": authorities()},
		Entrypoint: []string{to}, User: unprivileged, Labels: release.Labels(), Created: release.Created,
	})
}

// authorities returns the certificate authorities in PEM. Limits that Mozilla puts on some of them cannot be said in PEM and are lost, as in the
// packages of the distributions.
func authorities() []byte {
	var blocks [][]byte
	for root := range bundle.Roots() {
		blocks = append(blocks, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
	}
	slices.SortFunc(blocks, bytes.Compare)
	return bytes.Join(blocks, nil)
}

// MaterialsType is the media type of a bill of materials.
const MaterialsType = "application/spdx+json"

// Materials returns the bill of materials of a Go program, at path binary, as JSON of SPDX 2.3: the modules that the Go command has written into
// the program, and Go's own version. The same program and release give the same bytes.
func Materials(binary string, release Release) ([]byte, error) {
	built, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("cannot read what %s was built from: %w", binary, err)
	}
	main := modulePackage(debug.Module{Path: built.Main.Path, Version: release.Version})
	document := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: built.Path,
		CreationInfo: &spdx.CreationInfo{
			Creators: []spdx.Creator{{CreatorType: "Organization", Creator: "flux-landscaper"}},
			Created:  release.Created.UTC().Format(time.RFC3339),
		},
		Packages:      []*spdx.Package{main, modulePackage(debug.Module{Path: "stdlib", Version: strings.TrimPrefix(built.GoVersion, "go")})},
		Relationships: []*spdx.Relationship{relation("DOCUMENT", main.PackageSPDXIdentifier, common.TypeRelationshipDescribe)},
	}
	for _, module := range built.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		document.Packages = append(document.Packages, modulePackage(*module))
	}
	for _, part := range document.Packages[1:] {
		document.Relationships = append(document.Relationships,
			relation(main.PackageSPDXIdentifier, part.PackageSPDXIdentifier, common.TypeRelationshipDependsOn))
	}
	document.DocumentNamespace = fmt.Sprintf("%s/spdx/%s-%s-%.16x", Source, built.Path[strings.LastIndex(built.Path, "/")+1:], release.Version, sha256.Sum256([]byte(built.String())))
	var out bytes.Buffer
	err = spdxjson.Write(document, &out, spdxjson.Indent(" "))
	return out.Bytes(), err
}

// modulePackage describes a Go module by its package URL.
func modulePackage(module debug.Module) *spdx.Package {
	id := strings.NewReplacer("/", "-", "_", "-", "~", "-", "+", "-").Replace(module.Path + "-" + module.Version)
	return &spdx.Package{
		PackageName: module.Path, PackageVersion: module.Version, PackageSPDXIdentifier: common.ElementID("Package-" + id),
		PackageDownloadLocation: "NOASSERTION", PackageLicenseConcluded: "NOASSERTION", PackageLicenseDeclared: "NOASSERTION",
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL,
			Locator: "pkg:golang/" + module.Path + "@" + module.Version,
		}},
	}
}

func relation(from, to common.ElementID, kind string) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.DocElementID{ElementRefID: from}, RefB: common.DocElementID{ElementRefID: to}, Relationship: kind}
}

// Program is a static program of Linux: where it lies, and the architecture that it is for, as Go calls it.
type Program struct{ File, Architecture string }

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
	set.Index = mutate.Annotations(set.Index, release.Labels()).(v1.ImageIndex)
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
	return mutate.Subject(typed, *subject).(v1.Image), nil
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
	options := withLogins(ctx)
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

// PushArtifact pushes an artifact to a repository under a tag and returns its reference. Logins and plainHTTP are as for Set.Push.
func PushArtifact(ctx context.Context, repository, tag string, artifact v1.Image, plainHTTP bool) (string, error) {
	to, err := Repository(repository, plainHTTP)
	if err != nil {
		return "", err
	}
	if err := remote.Write(to.Tag(tag), artifact, withLogins(ctx)...); err != nil {
		return "", fmt.Errorf("cannot push to %s: %w", to.Tag(tag), err)
	}
	return "oci://" + to.Tag(tag).String(), nil
}

func withLogins(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}
