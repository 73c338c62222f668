// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package release makes the files of a release out of a checkout and the programs built from it: images, manifests for kubectl and for Flux, charts, CRDs
// and their schemas, archives of the command line, bills of materials, checksums and a signature. The same checkout and programs give the
// same files.
package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
)

// Options say what to release.
type Options struct {
	// Source is the checkout, Programs the folder with what was built from it: <command>_<os>_<architecture>, with .exe for Windows.
	Source, Programs string
	// Repository is where the images are to be found by clusters.
	Repository string
	// Digest of the image, which the charts name beside its version; empty is not known.
	Digest string
	// Release is the version with its commit.
	Release containerimage.Release
	// Key is a private key in PEM (PKCS #8 or SEC 1) that signs the checksums; empty signs nothing.
	Key []byte
}

// Names of what lies in the folder of a release.
const (
	// ImagesFolder is an OCI image layout with the images, ManifestsLayout one with the manifests as artifact for Flux, ChartsLayout one with the
	// charts as artifacts for Helm and Flux.
	ImagesFolder, ManifestsLayout, ChartsLayout = "images", "manifests-artifact", "charts-artifacts"
	// ManifestsFolder is what the artifact holds: flux/ and config/ with the images of the release.
	ManifestsFolder = "manifests"
	// ChecksumsFile lists the SHA-256 sums of all files beside it, as sha256sum does; SignatureFile is its signature.
	ChecksumsFile, SignatureFile = "checksums.txt", "checksums.txt.sig"
)

// broken is what ends the work on a release.
type broken struct{ error }

// must ends the work with an error.
func must(err error) {
	if err != nil {
		panic(broken{err})
	}
}

// that returns a value, or ends the work with the error.
func that[T any](value T, err error) T {
	must(err)
	return value
}

// caught returns the error that has ended the work.
func caught(err *error) {
	switch reason := recover().(type) {
	case nil:
	case broken:
		*err = reason.error
	default:
		panic(reason)
	}
}

func contentOf(path ...string) []byte { return that(os.ReadFile(filepath.Join(path...))) }

func write(file string, content []byte) {
	must(os.MkdirAll(filepath.Dir(file), 0o755))
	must(os.WriteFile(file, content, 0o644))
}

// copyTree copies the files of a folder, changed by a function where there is one.
func copyTree(to, from string, change func(string) string) {
	must(filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content := string(contentOf(file))
		if change != nil {
			content = change(content)
		}
		write(filepath.Join(to, that(filepath.Rel(from, file))), []byte(content))
		return nil
	}))
}

// Make writes all files of a release into folder dist, which it makes, and returns the images. What an earlier release left there is removed.
func Make(dist string, o Options) (images *Set, err error) {
	defer caught(&err)
	must(o.checkVersion())
	images = that(Images(o.Programs, o.Release))
	must(os.MkdirAll(dist, 0o755))
	for _, entry := range that(os.ReadDir(dist)) {
		if entry.Name() != "bin" {
			must(os.RemoveAll(filepath.Join(dist, entry.Name())))
		}
	}
	must(images.WriteLayout(filepath.Join(dist, ImagesFolder), o.Release.Version))
	o.Digest = that(images.Index.Digest()).String()
	writeManifests(dist, o)
	writeSchemas(dist, filepath.Join(o.Source, "config", "crd", "bases"))
	must(Charts(dist, o))
	charts := that(layout.Write(filepath.Join(dist, ChartsLayout), empty.Index))
	for _, artifact := range that(ChartArtifacts(o)) {
		must(charts.AppendImage(artifact.Image, layout.WithAnnotations(map[string]string{referenceName: artifact.Name + ":" + artifact.Tag})))
	}
	writeArchives(dist, o)
	writePlugin(dist, o)
	for _, p := range programsIn(o.Programs) {
		name := strings.Join([]string{p.command, p.os, p.architecture}, "_") + ".spdx.json"
		write(filepath.Join(dist, name), materials(p.file, o.Release))
	}
	writeChecksums(dist, o.Key)
	return images, nil
}

// referenceName is the annotation of what an OCI image layout calls an artifact.
const referenceName = "org.opencontainers.image.ref.name"

// Media types of what `flux push artifact` makes.
const (
	fluxConfig  types.MediaType = "application/vnd.cncf.flux.config.v1+json"
	fluxContent types.MediaType = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// placeholder is the image in the kustomizations of a checkout, as kustomize writes it.
const placeholder = "  newName: ghcr.io/flux-landscaper/landscaper\n  newTag: v0.0.0-dev\n"

// writeManifests writes flux/ and config/ with the images of the release: as folder, as artifact for Flux, and as files for kubectl.
func writeManifests(dist string, o Options) {
	to, image, count := filepath.Join(dist, ManifestsFolder), fmt.Sprintf("  newName: %s\n  newTag: %s\n  digest: %s\n", o.Repository, o.Release.Version, o.Digest), 0
	for _, folder := range []string{"flux", "config"} {
		must(filepath.WalkDir(filepath.Join(o.Source, folder), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(file) != ".yaml" {
				return err
			}
			content := contentOf(file)
			count += bytes.Count(content, []byte(placeholder))
			write(filepath.Join(to, that(filepath.Rel(o.Source, file))), bytes.ReplaceAll(content, []byte(placeholder), []byte(image)))
			return nil
		}))
	}
	if count == 0 {
		must(fmt.Errorf("no kustomization below %s/flux names the image as\n%s", o.Source, placeholder))
	}
	target := that(layout.Write(filepath.Join(dist, ManifestsLayout), empty.Index))
	must(target.AppendImage(that(Artifact(to, o.Release)), layout.WithAnnotations(map[string]string{referenceName: o.Release.Version})))
	for file, folder := range map[string]string{"crds.yaml": "flux/crds", "install.yaml": "flux/install"} {
		write(filepath.Join(dist, file), build(filepath.Join(to, folder)))
	}
}

// build is kustomize build.
func build(folder string) []byte {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		must(fmt.Errorf("cannot build %s: %w", folder, err))
	}
	return that(resources.AsYaml())
}

// Artifact returns a folder as the OCI artifact that `flux push artifact` makes of it.
func Artifact(folder string, release containerimage.Release) (made v1.Image, err error) {
	defer caught(&err)
	var packed bytes.Buffer
	that(publishing.Pack(&packed, folder, publishing.PackOptions{}))
	return mutate.Annotations(artifact(static.NewLayer(packed.Bytes(), fluxContent), fluxConfig), map[string]string{
		"org.opencontainers.image.source":   containerimage.Source,
		"org.opencontainers.image.revision": release.Version + "@sha1:" + release.Revision,
		"org.opencontainers.image.created":  release.Created.UTC().Format(time.RFC3339),
	}).(v1.Image), nil
}

// writeArchives writes the command line for people for each system: a tar.gz, for Windows a zip, with the license beside the program.
func writeArchives(dist string, o Options) {
	for _, p := range commandLines(o.Programs) {
		entries := []entry{{p.command + filepath.Ext(p.file), 0o755, contentOf(p.file)}, {"LICENSE", 0o644, contentOf(o.Source, "LICENSE")}}
		pack := packTar
		if p.os == "windows" {
			pack = packZip
		}
		write(filepath.Join(dist, archiveOf(p, o)), pack(entries, o.Release.Created))
	}
}

// archiveOf is the name of the archive of a program.
func archiveOf(p program, o Options) string {
	extension := ".tar.gz"
	if p.os == "windows" {
		extension = ".zip"
	}
	return strings.Join([]string{p.command, o.bare(), p.os, p.architecture}, "_") + extension
}

// entry is a file of an archive.
type entry struct {
	name    string
	mode    int64
	content []byte
}

func packTar(entries []entry, modified time.Time) []byte {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		must(archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: modified}))
		that(archive.Write(e.content))
	}
	must(errors.Join(archive.Close(), compressed.Close()))
	return packed.Bytes()
}

func packZip(entries []entry, modified time.Time) []byte {
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for _, e := range entries {
		file := that(archive.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: modified.UTC()}))
		that(file.Write(e.content))
	}
	must(archive.Close())
	return packed.Bytes()
}

// writePlugin writes the manifest by which `flux plugin install landscaper` finds the command line of the release: that of the checkout with one
// more version. It reads the archives, so they come before.
func writePlugin(dist string, o Options) {
	var manifest map[string]any
	if err := foreign.Unmarshal(contentOf(o.Source, "flux", "plugin", "landscaper.yaml"), &manifest); err != nil {
		must(fmt.Errorf("cannot read flux/plugin/landscaper.yaml: %w", err))
	}
	var platforms []any
	for _, p := range commandLines(o.Programs) {
		platforms = append(platforms, map[string]any{
			"os": p.os, "arch": p.architecture, "checksum": fmt.Sprintf("sha256:%x", sha256.Sum256(contentOf(dist, archiveOf(p, o)))),
			"url": fmt.Sprintf("%s/releases/download/%s/%s", containerimage.Source, o.Release.Version, archiveOf(p, o)),
		})
	}
	earlier, _ := manifest["versions"].([]any)
	manifest["versions"] = append([]any{map[string]any{"version": o.bare(), "platforms": platforms}}, earlier...)
	write(filepath.Join(dist, "plugin.yaml"), that(yaml.Marshal(manifest)))
}

// writeChecksums writes the sums of all files of a release, folders included, and signs them where there is a key. The sums are in the form of
// sha256sum, the signature in that of `cosign sign-blob`: base64.
func writeChecksums(dist string, key []byte) {
	var sums bytes.Buffer
	must(filepath.WalkDir(dist, func(file string, found fs.DirEntry, err error) error {
		if err == nil && found.IsDir() && file == filepath.Join(dist, "bin") {
			return fs.SkipDir
		}
		if err == nil && !found.IsDir() {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(contentOf(file)), filepath.ToSlash(that(filepath.Rel(dist, file))))
		}
		return err
	}))
	write(filepath.Join(dist, ChecksumsFile), sums.Bytes())
	if len(key) > 0 {
		signature := that(publishing.Sign(that(publishing.ParsePrivateKey(key)), sums.Bytes()))
		write(filepath.Join(dist, SignatureFile), []byte(base64.StdEncoding.EncodeToString(signature)+"\n"))
	}
}

// writeSchemas writes the JSON schemas of the kinds, one for each served version, packed as crd-schemas.tar.gz. They are named as kubeconform looks for
// them, {{.ResourceKind}}-{{.Group}}-{{.ResourceAPIVersion}}.json with the first part of the group, and refuse unknown fields where the API
// server would drop them.
func writeSchemas(dist, crds string) {
	var schemas []entry
	for _, file := range that(filepath.Glob(filepath.Join(crds, "*.yaml"))) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := foreign.Unmarshal(contentOf(file), crd); err != nil {
			must(fmt.Errorf("cannot read %s: %w", file, err))
		}
		group, _, _ := strings.Cut(crd.Spec.Group, ".")
		for _, version := range crd.Spec.Versions {
			var schema map[string]any
			must(json.Unmarshal(that(json.Marshal(version.Schema.OpenAPIV3Schema)), &schema))
			refuseUnknown(schema)
			name := fmt.Sprintf("%s-%s-%s.json", strings.ToLower(crd.Spec.Names.Kind), group, version.Name)
			schemas = append(schemas, entry{name: name, mode: 0o644, content: that(json.MarshalIndent(schema, "", "  "))})
		}
	}
	if len(schemas) == 0 {
		must(fmt.Errorf("folder %s has no CRDs", crds))
	}
	write(filepath.Join(dist, "crd-schemas.tar.gz"), packTar(schemas, time.Unix(0, 0)))
}

// refuseUnknown changes a schema so that objects have no other fields than it names. Metadata, which the API server knows by itself, stays open.
func refuseUnknown(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	_, open := schema["additionalProperties"]
	if len(properties) > 0 && !open && schema["x-kubernetes-preserve-unknown-fields"] != true {
		schema["additionalProperties"] = false
	}
	for _, property := range properties {
		if nested, isSchema := property.(map[string]any); isSchema {
			refuseUnknown(nested)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if nested, isSchema := schema[key].(map[string]any); isSchema {
			refuseUnknown(nested)
		}
	}
}
