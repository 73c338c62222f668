// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// Format chooses the media types of an artifact.
type Format string

// Formats of artifacts.
const (
	// Flux is what `flux push artifact` makes, so that an OCIRepository takes it.
	Flux Format = "flux"
	// Landscaper is what landscaper-cli made.
	Landscaper Format = "landscaper"
)

const (
	fluxConfig       = "application/vnd.cncf.flux.config.v1+json"
	landscaperConfig = "application/vnd.gardener.landscaper.blueprint.config.v1+json"
	landscaperLayer  = "application/vnd.gardener.landscaper.blueprint.layer.v1.tar+gzip"
)

// BlueprintOptions say what to push.
type BlueprintOptions struct {
	// Dir is the directory of the blueprint.
	Dir string
	// Pack says which of its files belong to it.
	Pack PackOptions
	// Format is Flux when empty.
	Format Format
	// Source and Revision say where the directory comes from: a URL, and a revision like main@sha1:<commit>.
	Source, Revision string
	// Created is the time of that revision; zero leaves it out.
	Created time.Time
	// Annotations are further annotations of the manifest; they win.
	Annotations map[string]string
}

// PushedBlueprint names a published artifact.
type PushedBlueprint struct {
	// URL of the artifact by digest, with oci://.
	URL string `json:"url"`
	// Repository without oci://.
	Repository string `json:"repository"`
	// Tag that stands for it.
	Tag string `json:"tag"`
	// Digest of the manifest.
	Digest string `json:"digest"`
	// Files is how many files it has.
	Files int `json:"files"`
}

// PushBlueprint publishes a directory under url ("oci://host/repository:tag"). The digest depends on nothing but the content and the options.
func PushBlueprint(ctx context.Context, r Registry, url string, o BlueprintOptions) (*PushedBlueprint, error) {
	repository, tag, err := splitTag(url)
	if err != nil {
		return nil, err
	}
	workspace, err := NewWorkspace()
	if err != nil {
		return nil, err
	}
	defer func() { _ = workspace.Close() }()
	artifact, files, err := assemble(workspace, o)
	if err != nil {
		return nil, err
	}
	d, err := r.Client.PushArtifact(ctx, url, *artifact, r.Credentials)
	if err != nil {
		return nil, err
	}
	return &PushedBlueprint{URL: "oci://" + repository + "@" + d.String(), Repository: repository, Tag: tag, Digest: d.String(), Files: files}, nil
}

// splitTag takes url apart. A tag is required, for content that nobody can name is lost.
func splitTag(url string) (repository, tag string, err error) {
	rest, hasScheme := strings.CutPrefix(url, "oci://")
	if !hasScheme {
		return "", "", fmt.Errorf("%q does not begin with oci://; write it as oci://host/repository:tag", url)
	}
	slash, colon := strings.LastIndex(rest, "/"), strings.LastIndex(rest, ":")
	if strings.Contains(rest, "@") || slash < 0 || colon < slash || colon == len(rest)-1 {
		return "", "", fmt.Errorf("%q has no tag to push to; write it as oci://host/repository:tag", url)
	}
	return rest[:colon], rest[colon+1:], nil
}

// assemble packs the directory and describes it.
func assemble(w *Workspace, o BlueprintOptions) (*oci.Artifact, int, error) {
	var contents *Contents
	blob, err := w.Keep(func(out io.Writer) (err error) {
		contents, err = Pack(out, o.Dir, o.Pack)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	config, layer, err := o.mediaTypes(contents)
	if err != nil {
		return nil, 0, err
	}
	return &oci.Artifact{
		Config:      config,
		Layers:      []oci.Source{{MediaType: layer, Content: blob.Content, Size: blob.Size}},
		Annotations: o.annotations(),
	}, len(contents.Files), nil
}

func (o BlueprintOptions) mediaTypes(contents *Contents) (*oci.Source, string, error) {
	switch o.Format {
	case Flux, "":
		config, err := imageConfig(contents.Uncompressed, o.Created)
		source := oci.BytesSource(fluxConfig, config)
		return &source, oci.FluxContentLayer, err
	case Landscaper:
		config, err := documentConfig(o.Dir)
		source := oci.BytesSource(landscaperConfig, config)
		return &source, landscaperLayer, err
	}
	return nil, "", fmt.Errorf("media type %q is unknown; use %s or %s", o.Format, Flux, Landscaper)
}

// imageConfig is the config of an image with one layer, as Flux writes it.
func imageConfig(uncompressed digest.Digest, created time.Time) ([]byte, error) {
	image := ocispec.Image{RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{uncompressed}}}
	if !created.IsZero() {
		utc := created.UTC()
		image.Created = &utc
	}
	return json.Marshal(image)
}

func (o BlueprintOptions) annotations() map[string]string {
	annotations := map[string]string{}
	set := func(key, value string) {
		if value != "" {
			annotations[key] = value
		}
	}
	set(ocispec.AnnotationSource, o.Source)
	set(ocispec.AnnotationRevision, o.Revision)
	if !o.Created.IsZero() {
		set(ocispec.AnnotationCreated, o.Created.UTC().Format(time.RFC3339))
	}
	for key, value := range o.Annotations {
		set(key, value)
	}
	return annotations
}

// documentConfig is blueprint.yaml as JSON, the config of artifacts in the format Landscaper.
func documentConfig(dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("directory %s cannot be opened: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	text, err := templating.ReadFile(root.FS(), model.FileName)
	if err != nil {
		return nil, err
	}
	document, err := foreign.ToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", model.FileName, err)
	}
	return document, nil
}
