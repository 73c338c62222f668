// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/publishing/pack"
)

// Deployers are the deployers that have a chart.
var Deployers = []string{"helm", "manifest", "container", "mock"}

// What the charts of a checkout say in place of version and image.
const (
	noVersion = "0.0.0-dev"
	noImage   = "repository: ghcr.io/flux-landscaper/landscaper"
)

// Charts writes the chart of each deployer into a folder, packed as <deployer>-deployer-<version>.tgz. The version has to be a semantic one.
func Charts(dist string, o Options) error {
	if err := o.checkVersion(); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "charts-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for _, deployer := range Deployers {
		name := deployer + "-deployer"
		if err := Chart(filepath.Join(folder, name), deployer, o); err != nil {
			return fmt.Errorf("cannot make the chart of the %s deployer: %w", deployer, err)
		}
		var packed bytes.Buffer
		if _, err := pack.Directory(&packed, filepath.Join(folder, name), pack.Options{Prefix: name}); err != nil {
			return err
		}
		file := filepath.Join(dist, name+"-"+strings.TrimPrefix(o.Release.Version, "v")+".tgz")
		if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// checkVersion refuses what Helm does not take as the version of a chart.
func (o Options) checkVersion() error {
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(o.Release.Version, "v")); err != nil {
		return fmt.Errorf("the version %q is no semantic version, and Helm takes no other for a chart; give one like v1.2.3", o.Release.Version)
	}
	return nil
}

// Chart makes the chart of a deployer in a folder: its own values, the templates that all deployers share, the rights of flux/install, version and
// image of the release.
func Chart(folder, deployer string, o Options) error {
	charts := filepath.Join(o.Source, "charts")
	version := strings.TrimPrefix(o.Release.Version, "v")
	replaced := strings.NewReplacer("v"+noVersion, o.Release.Version, noVersion, version, noImage, "repository: "+o.Repository)
	err := errors.Join(
		copyTree(folder, filepath.Join(charts, deployer+"-deployer"), replaced),
		copyTree(filepath.Join(folder, "templates"), filepath.Join(charts, "deployer", "templates"), strings.NewReplacer()),
	)
	if err != nil {
		return err
	}
	rights, err := rightsOf(filepath.Join(o.Source, "config", "rbac"), deployer)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "rights.yaml"), rights, 0o644)
}

// rightsOf returns the rules of a deployer in the cluster with the DeployItems.
func rightsOf(folder, deployer string) ([]byte, error) {
	var rules []any
	for _, name := range []string{"deployer.yaml", "deployer-" + deployer + ".yaml"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) && name != "deployer.yaml" {
			continue
		}
		if err != nil {
			return nil, err
		}
		var role struct {
			Rules []any `json:"rules"`
		}
		if err := foreign.Unmarshal(content, &role); err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		rules = append(rules, role.Rules...)
	}
	return yaml.Marshal(rules)
}

// copyTree copies the files of a folder with texts replaced.
func copyTree(to, from string, replaced *strings.Replacer) error {
	return filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		return errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, []byte(replaced.Replace(string(content))), 0o644))
	})
}
