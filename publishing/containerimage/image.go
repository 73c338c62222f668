// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package containerimage makes container images out of static programs, without a container engine and without root: one layer, the same files give
// the same digest.
package containerimage

import (
	"archive/tar"
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Contents say what an image holds and how it starts. Paths in the image are absolute.
type Contents struct {
	// Platform of the programs; zero is Linux on this machine's architecture.
	Platform v1.Platform
	// Programs are static programs by their path in the image.
	Programs map[string]string
	// Files are texts by their path in the image.
	Files map[string][]byte
	// Links are symbolic links: path in the image to what it points to.
	Links map[string]string
	// Entrypoint is the program that runs, Command its arguments where a Pod gives none.
	Entrypoint, Command []string
	// User is the numeric user, with an optional group ("65532:65532"); empty is root.
	User string
	// Env has entries KEY=value.
	Env []string
	// Labels of the image, e.g. those of the OCI image specification.
	Labels map[string]string
	// Created is when the contents were made; zero says nothing.
	Created time.Time
}

// Build returns the image of the contents. A program that is linked dynamically, or for another architecture than the platform's, is an error:
// there are no libraries in the image.
func Build(contents Contents) (image v1.Image, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot build an image: %w", err)
		}
	}()
	layer, err := contents.layer()
	if err != nil {
		return nil, err
	}
	packed, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer)), nil })
	if err != nil {
		return nil, err
	}
	if image, err = mutate.AppendLayers(empty.Image, packed); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", contents.architecture(), v1.Time{Time: contents.Created.UTC()}
	config.History = []v1.History{{CreatedBy: "flux-landscaper", Created: config.Created}}
	config.Config = v1.Config{
		Entrypoint: contents.Entrypoint, Cmd: contents.Command, User: contents.User, Env: contents.Env, Labels: contents.Labels, WorkingDir: "/",
	}
	return mutate.ConfigFile(image, config)
}

func (c Contents) architecture() string { return cmp.Or(c.Platform.Architecture, runtime.GOARCH) }

// layer packs the contents, with a world-writable /tmp as images of distributions have it.
func (c Contents) layer() ([]byte, error) {
	files, needed := map[string]*tar.Header{}, map[string]bool{"tmp": true}
	content := map[string][]byte{}
	note := func(to string, header tar.Header, text []byte) {
		header.Name, header.Size = strings.TrimPrefix(path.Clean(to), "/"), int64(len(text))
		files[header.Name], content[header.Name] = &header, text
		for folder := path.Dir(header.Name); folder != "."; folder = path.Dir(folder) {
			needed[folder] = true
		}
	}
	for to, file := range c.Programs {
		program, err := readStatic(file, c.architecture())
		if err != nil {
			return nil, err
		}
		note(to, tar.Header{Typeflag: tar.TypeReg, Mode: 0o755}, program)
	}
	for to, text := range c.Files {
		note(to, tar.Header{Typeflag: tar.TypeReg, Mode: 0o644}, text)
	}
	for from, to := range c.Links {
		note(from, tar.Header{Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777}, nil)
	}
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for _, folder := range slices.Sorted(maps.Keys(needed)) { // parents first
		mode := int64(0o755)
		if folder == "tmp" {
			mode = 0o1777
		}
		if err := writer.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: mode}); err != nil {
			return nil, err
		}
	}
	for _, to := range slices.Sorted(maps.Keys(files)) {
		err := writer.WriteHeader(files[to])
		if err == nil {
			_, err = writer.Write(content[to])
		}
		if err != nil {
			return nil, err
		}
	}
	return packed.Bytes(), writer.Close()
}

// machines are how the headers of programs call the architectures.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// readStatic reads a program and checks that it runs on the architecture, and needs no other file to do so.
func readStatic(file, architecture string) ([]byte, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	program, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s is not a program of Linux: %w", file, err)
	}
	if machine, known := machines[architecture]; known && program.Machine != machine {
		return nil, fmt.Errorf("%s is a program for %s: build it with GOARCH=%s", file, program.Machine, architecture)
	}
	interpreted := slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	if interpreted {
		return nil, errors.New(file + " is linked dynamically: build it with CGO_ENABLED=0, or install the static variant of it")
	}
	return content, nil
}

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
