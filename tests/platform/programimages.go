// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/images"
)

// busybox is where the package busybox-static puts its program.
const busybox = "/bin/busybox"

// LandscaperImage builds cmd/landscaper of this checkout and returns an image of it, with user 65532.
func LandscaperImage(ctx context.Context) (v1.Image, error) {
	binary, err := binaries.BuildStatic(ctx, "./cmd/landscaper")
	if err != nil {
		return nil, err
	}
	return containerimage.Landscaper(binary, v1.Platform{}, containerimage.Release{})
}

// ProgramImage builds a main package of this checkout, e.g. "./tests/e2e/node/cmd/reader", and returns an image with nothing but it: no
// shell, no other file. Its user is root.
func ProgramImage(ctx context.Context, pkg string) (v1.Image, error) {
	binary, err := binaries.BuildStatic(ctx, pkg)
	if err != nil {
		return nil, err
	}
	return images.Program(binary)
}

// ShellImage returns an image with the shell and the commands of BusyBox, which is on machines that can run a node. Its user is root.
func ShellImage() (v1.Image, error) { return images.Shell(busybox) }

// ImportImage puts an image into the node's own store under a reference with a tag, so that Pods find it without a registry, unless their
// pull policy is Always.
func (n *Node) ImportImage(ctx context.Context, reference string, image v1.Image) error {
	parsed, err := name.NewTag(reference)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(n.dir, "image-*.tar")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if err := errors.Join(tarball.Write(parsed, image, file), file.Close()); err != nil {
		return fmt.Errorf("cannot write the image %s: %w", reference, err)
	}
	_, err = n.ctr(ctx, "images", "import", file.Name())
	return err
}

// importPause gives the node the image that holds the namespaces of each Pod.
func (n *Node) importPause(ctx context.Context) error {
	image, err := ProgramImage(ctx, "./tests/platform/cmd/pause")
	if err != nil {
		return err
	}
	return n.ImportImage(ctx, pauseImage, image)
}
