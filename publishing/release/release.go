// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
)

// Options say what to release.
type Options struct {
	// Source is the checkout, Programs the folder with what was built from it: <command>_<os>_<architecture>, with .exe for Windows.
	Source, Programs string
	// Repository is where the images are to be found by clusters.
	Repository string
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

// program is a program of the folder Programs.
type program struct{ file, command, os, architecture string }

// Images returns the images of the programs landscaper_linux_* in a folder.
func Images(programs string, release containerimage.Release) (*containerimage.Set, error) {
	built, err := programsIn(programs)
	if err != nil {
		return nil, err
	}
	var own []containerimage.Program
	for _, p := range built {
		if p.command == "landscaper" && p.os == "linux" {
			own = append(own, containerimage.Program{File: p.file, Architecture: p.architecture})
		}
	}
	if len(own) == 0 {
		return nil, fmt.Errorf("folder %s has no program landscaper_linux_<architecture>: build it first, as make images does", programs)
	}
	return containerimage.NewSet(own, release)
}

// programsIn lists the programs of a folder, sorted by name.
func programsIn(folder string) ([]program, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot list the programs to release: %w", err)
	}
	var found []program
	for _, entry := range entries {
		parts := strings.Split(strings.TrimSuffix(entry.Name(), ".exe"), "_")
		if len(parts) == 3 {
			found = append(found, program{filepath.Join(folder, entry.Name()), parts[0], parts[1], parts[2]})
		}
	}
	return found, nil
}

// Make writes all files of a release into folder dist, which it makes, and returns the images. What an earlier release left there is removed.
func Make(dist string, o Options) (*containerimage.Set, error) {
	if err := o.checkVersion(); err != nil {
		return nil, err
	}
	images, err := Images(o.Programs, o.Release)
	if err != nil {
		return nil, err
	}
	digest, err := images.Digest()
	if err != nil {
		return nil, err
	}
	if err := emptied(dist); err != nil {
		return nil, err
	}
	steps := []func() error{
		func() error { return images.WriteLayout(filepath.Join(dist, ImagesFolder), o.Release.Version) },
		func() error { return writeManifests(dist, o, digest.String()) },
		func() error { return writeSchemas(dist, filepath.Join(o.Source, "config", "crd", "bases")) },
		func() error { return Charts(dist, o) },
		func() error { return writeChartArtifacts(dist, o) },
		func() error { return writeArchives(dist, o) },
		func() error { return writePlugin(dist, o) },
		func() error { return writeMaterials(dist, o) },
		func() error { return writeChecksums(dist, o.Key) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return images, nil
}

// emptied removes the files and folders of releases from a folder, and makes the folder.
func emptied(dist string) error {
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dist)
	for _, entry := range entries {
		if entry.Name() != "bin" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dist, entry.Name())))
		}
	}
	return err
}

// writeMaterials writes a bill of materials for each program.
func writeMaterials(dist string, o Options) error {
	built, err := programsIn(o.Programs)
	if err != nil {
		return err
	}
	for _, p := range built {
		content, err := containerimage.Materials(p.file, o.Release)
		if err != nil {
			return err
		}
		name := strings.Join([]string{p.command, p.os, p.architecture}, "_") + ".spdx.json"
		if err := os.WriteFile(filepath.Join(dist, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// commandLines returns the programs of the command line for people.
func commandLines(folder string) ([]program, error) {
	built, err := programsIn(folder)
	return slices.DeleteFunc(built, func(p program) bool { return p.command != "flux-landscaper" }), err
}
