// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
)

// program is a program of the folder Programs.
type program struct{ file, command, os, architecture string }

// programsIn lists the programs of a folder, sorted by name.
func programsIn(folder string) (found []program) {
	for _, entry := range that(os.ReadDir(folder)) {
		if parts := strings.Split(strings.TrimSuffix(entry.Name(), ".exe"), "_"); len(parts) == 3 {
			found = append(found, program{filepath.Join(folder, entry.Name()), parts[0], parts[1], parts[2]})
		}
	}
	return found
}

// commandLines returns the programs of the command line for people.
func commandLines(folder string) []program {
	return slices.DeleteFunc(programsIn(folder), func(p program) bool { return p.command != "flux-landscaper" })
}

// Set is an image for several platforms with a bill of materials for each.
type Set struct {
	// Index names the images of all platforms.
	Index v1.ImageIndex
	// Materials are OCI artifacts whose subjects are the images of the index.
	Materials []v1.Image
}

// Images returns the images of the programs landscaper_linux_* in a folder.
func Images(programs string, release containerimage.Release) (set *Set, err error) {
	defer caught(&err)
	set = &Set{Index: mutate.IndexMediaType(empty.Index, types.OCIImageIndex)}
	for _, p := range programsIn(programs) {
		if p.command != "landscaper" || p.os != "linux" {
			continue
		}
		platform := v1.Platform{OS: p.os, Architecture: p.architecture}
		image := ociTyped(that(containerimage.Landscaper(p.file, platform, release)), types.OCIConfigJSON)
		set.Index = mutate.AppendManifests(set.Index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
		bill := artifact(static.NewLayer(materials(p.file, release), MaterialsType), MaterialsType)
		set.Materials = append(set.Materials, mutate.Subject(bill, *that(partial.Descriptor(image))).(v1.Image))
	}
	if len(set.Materials) == 0 {
		return nil, fmt.Errorf("folder %s has no program landscaper_linux_<architecture>: build it first, as make images does", programs)
	}
	set.Index = mutate.Annotations(set.Index, release.Labels()).(v1.ImageIndex)
	return set, nil
}

// ociTyped gives an image the media types of the OCI image specification.
func ociTyped(image v1.Image, config types.MediaType) v1.Image {
	return mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), config)
}

// artifact returns an OCI artifact with one layer.
func artifact(layer v1.Layer, config types.MediaType) v1.Image {
	return ociTyped(that(mutate.AppendLayers(empty.Image, layer)), config)
}

// WriteLayout writes the set as an OCI image layout into folder dir, which is emptied first. The index has the version as its reference name.
func (s *Set) WriteLayout(dir, version string) (err error) {
	defer caught(&err)
	must(os.RemoveAll(dir))
	target := that(layout.Write(dir, empty.Index))
	must(target.AppendIndex(s.Index, layout.WithAnnotations(map[string]string{referenceName: version})))
	for _, materials := range s.Materials {
		must(target.AppendImage(materials))
	}
	return nil
}

// Push pushes the set to a repository ("ghcr.io/flux-landscaper/landscaper") under a tag, with the logins of the Docker configuration. A
// registry without TLS is reached only where plainHTTP says so.
func (s *Set) Push(ctx context.Context, repository, tag string, plainHTTP bool) (err error) {
	defer caught(&err)
	to := that(parseRepository(repository, plainHTTP))
	if err := remote.WriteIndex(to.Tag(tag), s.Index, withLogins(ctx)...); err != nil {
		return fmt.Errorf("cannot push the images to %s:%s: %w", repository, tag, err)
	}
	for _, materials := range s.Materials {
		if err := remote.Write(to.Digest(that(materials.Digest()).String()), materials, withLogins(ctx)...); err != nil {
			return fmt.Errorf("cannot push the bill of materials to %s: %w", repository, err)
		}
	}
	return nil
}

// MaterialsType is the media type of a bill of materials.
const MaterialsType = "application/spdx+json"

// materials returns the bill of materials of a Go program, at path binary, as JSON of SPDX 2.3: the modules that the Go command has written into
// the program, and Go's own version. The same program and release give the same bytes.
func materials(binary string, release containerimage.Release) []byte {
	built, err := buildinfo.ReadFile(binary)
	if err != nil {
		must(fmt.Errorf("cannot read what %s was built from: %w", binary, err))
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
	document.DocumentNamespace = fmt.Sprintf("%s/spdx/%s-%s-%.16x", containerimage.Source, built.Path[strings.LastIndex(built.Path, "/")+1:], release.Version, sha256.Sum256([]byte(built.String())))
	var out bytes.Buffer
	must(spdxjson.Write(document, &out, spdxjson.Indent(" ")))
	return out.Bytes()
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

// parseRepository parses the name of a repository.
func parseRepository(repository string, plainHTTP bool) (name.Repository, error) {
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
	to, err := parseRepository(repository, plainHTTP)
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

const (
	// signatureType is that of the layers with signed texts.
	signatureType types.MediaType = "application/vnd.dev.cosign.simplesigning.v1+json"
	// signatureAnnotation of such a layer is the signature in base64.
	signatureAnnotation = "dev.cosignproject.cosign/signature"
)

// signings is how often a signature is pushed, and settling the pause after which it has to be still there: longer than another signer takes from
// reading the signatures to pushing them together with its own.
const (
	signings = 5
	settling = 2 * time.Second
)

// Sign signs an artifact of a repository by its digest with a private key in PEM, and pushes the signature to where cosign and Flux look for it: beside
// the artifact, with its digest as tag. Signatures of others stay, and one of this key that is there is enough. All signatures are one manifest, and
// registries write none on the condition that nobody else has: where somebody signs at the same moment a signature may be lost, so Sign looks for its own
// after a pause, and pushes it again a few times. Logins and plainHTTP are as for Set.Push.
func Sign(ctx context.Context, repository string, digest v1.Hash, key []byte, plainHTTP bool) (err error) {
	defer caught(&err)
	signer := that(publishing.ParsePrivateKey(key))
	to := that(parseRepository(repository, plainHTTP))
	text := that(json.Marshal(map[string]any{"critical": map[string]any{ // as cosign writes it
		"identity": map[string]string{"docker-reference": to.Name()}, "image": map[string]string{"docker-manifest-digest": digest.String()},
		"type": "cosign container image signature",
	}, "optional": nil}))
	tag := to.Tag(digest.Algorithm + "-" + digest.Hex + ".sig")
	for pushed := 0; ; pushed++ {
		signatures, err := signaturesAt(ctx, tag)
		switch {
		case err != nil:
			return fmt.Errorf("cannot read the signatures at %s: %w", tag, err)
		case isSigned(signatures, signer.Public(), text):
			return nil
		case pushed == signings:
			return fmt.Errorf("the signature at %s does not stay: others sign at the same time; sign again when they are done", tag)
		}
		signatures = that(mutate.Append(signatures, mutate.Addendum{
			Layer:       static.NewLayer(text, signatureType),
			Annotations: map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(that(publishing.Sign(signer, text)))},
		}))
		if err := remote.Write(tag, signatures, withLogins(ctx)...); err != nil {
			return fmt.Errorf("cannot push the signature to %s: %w", tag, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settling):
		}
	}
}

// signaturesAt returns what is at a tag; without layers where nothing is.
func signaturesAt(ctx context.Context, tag name.Tag) (v1.Image, error) {
	signatures, err := remote.Image(tag, withLogins(ctx)...)
	var answer *transport.Error
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		return ociTyped(empty.Image, types.OCIConfigJSON), nil
	}
	return signatures, err
}

// isSigned reports whether a text is among signatures with one of a key.
func isSigned(signatures v1.Image, public crypto.PublicKey, text []byte) bool {
	digest, _, err := v1.SHA256(bytes.NewReader(text))
	must(err)
	return slices.ContainsFunc(that(signatures.Manifest()).Layers, func(layer v1.Descriptor) bool {
		signature, unreadable := base64.StdEncoding.DecodeString(layer.Annotations[signatureAnnotation])
		return unreadable == nil && layer.MediaType == signatureType && layer.Digest == digest && publishing.Verifies(public, text, signature)
	})
}
