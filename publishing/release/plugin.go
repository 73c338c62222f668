// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
)

// pluginVersion is an entry of versions in the manifest of a Flux plugin.
type pluginVersion struct {
	Version   string           `json:"version"`
	Platforms []pluginPlatform `json:"platforms"`
}

type pluginPlatform struct {
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	URL      string `json:"url"`
	Checksum string `json:"checksum"`
}

// writePlugin writes the manifest by which `flux plugin install landscaper` finds the command line of the release: that of the checkout with one
// more version. It reads the archives, so they come before.
func writePlugin(dist string, o Options) error {
	content, err := os.ReadFile(filepath.Join(o.Source, "flux", "plugin", "landscaper.yaml"))
	if err != nil {
		return err
	}
	var manifest struct {
		APIVersion  string          `json:"apiVersion"`
		Kind        string          `json:"kind"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Homepage    string          `json:"homepage"`
		Source      string          `json:"source"`
		Bin         string          `json:"bin"`
		Versions    []pluginVersion `json:"versions"`
	}
	if err := foreign.Unmarshal(content, &manifest); err != nil {
		return fmt.Errorf("cannot read flux/plugin/landscaper.yaml: %w", err)
	}
	added := pluginVersion{Version: strings.TrimPrefix(o.Release.Version, "v")}
	programs, err := commandLines(o.Programs)
	if err != nil {
		return err
	}
	for _, p := range programs {
		archive, err := os.ReadFile(filepath.Join(dist, archiveOf(p, o)))
		if err != nil {
			return err
		}
		added.Platforms = append(added.Platforms, pluginPlatform{
			OS: p.os, Arch: p.architecture, Checksum: fmt.Sprintf("sha256:%x", sha256.Sum256(archive)),
			URL: fmt.Sprintf("%s/releases/download/%s/%s", containerimage.Source, o.Release.Version, archiveOf(p, o)),
		})
	}
	manifest.Versions = append([]pluginVersion{added}, manifest.Versions...)
	content, err = yaml.Marshal(manifest)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, "plugin.yaml"), content, 0o644)
}
