// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package releases makes releases of this checkout and pushes them to the registry of a platform, as make release and make components do.
package releases

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
	"github.com/flux-landscaper/flux-landscaper/publishing/release"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// Manifests is the repository of the manifests for Flux.
const Manifests = "manifests"

// Push pushes a release, given as v1.2.3: the image of a program, and the manifests for Flux. Source is the folder of the checkout, and dir an empty
// one.
func Push(ctx context.Context, registry *servers.Registry, program, source, dir, version string) error {
	programs, dist := filepath.Join(dir, "programs"), filepath.Join(dir, "dist")
	if err := os.Mkdir(programs, 0o755); err != nil {
		return err
	}
	if err := os.Symlink(program, filepath.Join(programs, "landscaper_linux_"+runtime.GOARCH)); err != nil {
		return err
	}
	options := release.Options{
		Source: source, Programs: programs, Repository: registry.Host + "/landscaper",
		Release: containerimage.Release{Version: version, Revision: "0123456789abcdef0123456789abcdef01234567", Created: time.Unix(1_700_000_000, 0)},
	}
	set, err := release.Make(dist, options)
	if err != nil {
		return err
	}
	if err := set.Push(ctx, options.Repository, version, true); err != nil {
		return err
	}
	artifact, err := release.Artifact(filepath.Join(dist, release.ManifestsFolder), options.Release)
	if err != nil {
		return err
	}
	_, err = release.PushArtifact(ctx, registry.Host+"/"+Manifests, version, artifact, true)
	return err
}

// PushPrevious pushes a release of the previous commit, given as v1.2.3, by the command of that commit. Dir is an empty folder.
func PushPrevious(ctx context.Context, registry *servers.Registry, previous *binaries.Previous, dir, version string) error {
	program, err := previous.Build(ctx, "./cmd/landscaper")
	if err != nil {
		return err
	}
	command, err := previous.Build(ctx, "./cmd/release")
	if err != nil {
		return err
	}
	programs := filepath.Join(dir, "programs")
	if err := os.Mkdir(programs, 0o755); err != nil {
		return err
	}
	if err := os.Symlink(program, filepath.Join(programs, "landscaper_linux_"+runtime.GOARCH)); err != nil {
		return err
	}
	said, err := exec.CommandContext(ctx, command, "all", "--source", previous.Source, "--programs", programs, "--dist", filepath.Join(dir, "dist"),
		"--version", version, "--revision", previous.Commit, "--push", registry.Host, "--plain-http").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// PushComponents pushes the component versions of a release, given as v1.2.3, into a component repository of the registry.
func PushComponents(ctx context.Context, registry *servers.Registry, source, dir, version, imageReference, repository string) error {
	err := release.Charts(dir, release.Options{Source: source, Repository: registry.Host + "/landscaper", Release: containerimage.Release{Version: version}})
	if err != nil {
		return err
	}
	binary, err := binaries.BuildCLI(ctx)
	if err != nil {
		return err
	}
	push := exec.CommandContext(ctx, binary, "component", "push", "--file", filepath.Join(source, "charts", "components", "component-constructor.yaml"),
		"--repository", "oci://"+registry.Host+"/"+repository, "VERSION="+strings.TrimPrefix(version, "v"), "CHARTS="+dir, "IMAGE="+imageReference)
	if said, err := push.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}
