// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// MaxBlob is how many bytes the content of one resource may have; controllers read no more.
const MaxBlob = oci.DefaultMaxContent

// Default media types of inputs.
const (
	mediaBytes = "application/octet-stream"
	mediaGzip  = "application/gzip"
	mediaTar   = "application/x-tar"
	mediaTgz   = "application/x-tgz"
	mediaText  = "text/plain"
	mediaJSON  = "application/json"
	mediaYAML  = "application/yaml"
)

// insteadOf says what to do in place of inputs that only the OCM tools take.
var insteadOf = map[string]string{
	"docker": "push the image of the Docker daemon to a registry first, and name it with type ociImage",
	"maven":  "download the artifact and use type file, or name its URL with type wget",
	"npm":    "download the package (npm pack) and use type file, or name the URL of its archive with type wget",
	"ocm":    "refer to the other component version in componentReferences, or take the resource out of it (ocm download resources) and use type file",
}

// content is where the content of a resource is, and its digest where it is known.
type content struct {
	access component.Typed
	digest *component.DigestSpec
}

// accessTo returns content behind an access of these fields.
func accessTo(digest *component.DigestSpec, fields map[string]any) (*content, error) {
	access, err := component.NewTyped(fields)
	return &content{access, digest}, err
}

// input takes the content that an input names.
func (v *version) input(ctx context.Context, r *Resource) (*content, error) {
	kind, _, _ := strings.Cut(r.Input.Type, "/")
	made, err := v.inputOf(ctx, kind, r)
	switch {
	case err != nil:
		return nil, fmt.Errorf("input: %w", err)
	case made == nil:
		return nil, fmt.Errorf("input.type %q is not supported; %s", r.Input.Type, cmp.Or(insteadOf[kind],
			"use file, dir, utf8, binary, spiff, helm, ociArtifact, ociImage, dockermulti, git or wget"))
	}
	return made, nil
}

// inputOf returns nil for a kind that is not supported.
func (v *version) inputOf(ctx context.Context, kind string, r *Resource) (*content, error) {
	in := r.Input
	switch kind {
	case "file":
		return v.file(in)
	case "dir":
		return v.dir(in)
	case "utf8", "inline":
		return v.text(in)
	case "binary":
		return v.bytes(in, mediaBytes, in.Data)
	case "helm":
		return v.chart(ctx, r)
	case "ociArtifact", "ociImage":
		return v.artifact(ctx, r, in.Path)
	case "dockermulti":
		return v.variants(ctx, r)
	case "wget":
		return v.web(ctx, r)
	case "git":
		return v.git(ctx, r)
	case "spiff":
		return v.spiff(ctx, in)
	}
	return nil, nil
}

// path returns the path of a file or directory of the author.
func (v *version) path(in *Input) (string, error) {
	if in.Path == "" {
		return "", errors.New("path is missing; write it relative to the constructor")
	}
	if filepath.IsAbs(in.Path) {
		return in.Path, nil
	}
	return filepath.Join(v.builder.Dir, filepath.FromSlash(in.Path)), nil
}

func (in *Input) compressed() bool { return in.Compress != nil && *in.Compress }

func (v *version) file(in *Input) (*content, error) {
	path, err := v.path(in)
	if err != nil {
		return nil, err
	}
	return v.blob(in, mediaBytes, func(w io.Writer) error { return copyFile(w, path, in.Path) })
}

// copyFile writes a regular file, but not more of it than MaxBlob.
func copyFile(w io.Writer, path, written string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("file %s cannot be read: %w; paths are relative to the constructor", written, fault.WithoutPath(err))
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; use type dir for a directory", written)
	}
	if info.Size() > MaxBlob {
		return fmt.Errorf("file %s has %d bytes, more than the %d that controllers read; publish it elsewhere and refer to it by an access", written, info.Size(), int64(MaxBlob))
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("file %s cannot be opened: %w", written, fault.WithoutPath(err))
	}
	defer func() { _ = f.Close() }()
	if _, err := io.CopyN(w, f, info.Size()); err != nil {
		return fmt.Errorf("file %s changed while it was read: %w; try again", written, fault.WithoutPath(err))
	}
	return nil
}

// blob keeps what write writes, compressed where the input says so.
func (v *version) blob(in *Input, mediaType string, write func(io.Writer) error) (*content, error) {
	if !in.compressed() {
		return v.keep(cmp.Or(in.MediaType, mediaType), write)
	}
	return v.keep(cmp.Or(in.MediaType, mediaGzip), func(w io.Writer) error {
		zipped := gzip.NewWriter(w)
		zipped.OS = 255
		return errors.Join(write(zipped), zipped.Close())
	})
}

func (v *version) bytes(in *Input, mediaType string, content []byte) (*content, error) {
	return v.blob(in, mediaType, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

func (v *version) dir(in *Input) (*content, error) {
	path, err := v.path(in)
	if err != nil {
		return nil, err
	}
	o := publishing.PackOptions{
		Include: in.IncludeFiles, Exclude: in.ExcludeFiles, Uncompressed: !in.compressed(),
		MaxFile: MaxBlob, MaxTotal: MaxBlob,
	}
	if strings.Contains(in.MediaType, "blueprint") {
		o.MaxFile, o.MaxTotal = 0, 0
	}
	if in.PreserveDir {
		o.Prefix = filepath.Base(path)
	}
	mediaType := mediaTar
	if in.compressed() {
		mediaType = mediaTgz
	}
	return v.keep(cmp.Or(in.MediaType, mediaType), func(w io.Writer) error {
		_, err := publishing.Pack(w, path, o)
		return err
	})
}

// text takes content that is written in place.
func (v *version) text(in *Input) (*content, error) {
	switch {
	case in.Text != nil:
		return v.bytes(in, mediaText, []byte(*in.Text))
	case len(in.JSON) > 0:
		var compact bytes.Buffer
		if err := json.Compact(&compact, in.JSON); err != nil {
			return nil, err
		}
		return v.bytes(in, mediaJSON, compact.Bytes())
	case len(in.FormattedJSON) > 0:
		var indented bytes.Buffer
		if err := json.Indent(&indented, in.FormattedJSON, "", "  "); err != nil {
			return nil, err
		}
		return v.bytes(in, mediaJSON, indented.Bytes())
	case len(in.YAML) > 0:
		out, err := yaml.JSONToYAML(in.YAML)
		if err != nil {
			return nil, err
		}
		return v.bytes(in, mediaYAML, out)
	case len(in.Data) > 0:
		return v.bytes(in, mediaBytes, in.Data)
	}
	return nil, errors.New("there is no content; set text, json, formattedJson, yaml or data")
}
