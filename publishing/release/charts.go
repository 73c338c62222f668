// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/json"
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

// Deployers are the deployers that have a chart, <deployer>-deployer.
var Deployers = []string{"helm", "manifest", "container", "mock"}

// AgentChart is the name of the chart of the agent.
const AgentChart = "landscaper-agent"

// LandscaperChart is the name of the chart of controller and webhooks, which is made of two others: ControllerChart runs them, RightsChart has their
// accounts and rights.
const (
	LandscaperChart = "landscaper"
	// ControllerChart is the name of the chart with the processes.
	ControllerChart = "landscaper-controller-deployment"
	// RightsChart is the name of the chart with accounts and rights.
	RightsChart = "landscaper-controller-rbac"
)

const deployerSuffix = "-deployer"

// What the charts of a checkout say in place of version and image.
const (
	noVersion = "0.0.0-dev"
	noImage   = "repository: ghcr.io/flux-landscaper/landscaper"
)

// packedChart is a chart as it is released.
type packedChart struct {
	name string
	// archive is the packed chart, metadata its Chart.yaml.
	archive, metadata []byte
}

// Charts writes all charts into a folder, packed as <name>-<version>.tgz. The version has to be a semantic one.
func Charts(dist string, o Options) error {
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	charts, err := packCharts(o)
	if err != nil {
		return err
	}
	for _, chart := range charts {
		file := filepath.Join(dist, chart.name+"-"+strings.TrimPrefix(o.Release.Version, "v")+".tgz")
		if err := os.WriteFile(file, chart.archive, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// packCharts packs all charts.
func packCharts(o Options) ([]packedChart, error) {
	if err := o.checkVersion(); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "charts-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	names := []string{AgentChart, LandscaperChart, ControllerChart, RightsChart}
	for _, deployer := range Deployers {
		names = append(names, deployer+deployerSuffix)
	}
	var charts []packedChart
	for _, name := range names {
		own := filepath.Join(folder, name)
		if err := Chart(own, name, o); err != nil {
			return nil, fmt.Errorf("cannot make the chart %s: %w", name, err)
		}
		metadata, err := os.ReadFile(filepath.Join(own, "Chart.yaml"))
		if err != nil {
			return nil, err
		}
		var packed bytes.Buffer
		if _, err := pack.Directory(&packed, own, pack.Options{Prefix: name}); err != nil {
			return nil, err
		}
		charts = append(charts, packedChart{name: name, archive: packed.Bytes(), metadata: metadata})
	}
	return charts, nil
}

// checkVersion refuses what Helm does not take as the version of a chart.
func (o Options) checkVersion() error {
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(o.Release.Version, "v")); err != nil {
		return fmt.Errorf("the version %q is not a semantic version, and Helm takes no other for a chart; give one like v1.2.3", o.Release.Version)
	}
	return nil
}

// Chart makes the chart of that name in a folder: its own values and templates, those that it shares with others, the rights of config/rbac or
// flux/agent, version and image of the release.
func Chart(folder, name string, o Options) error {
	version := strings.TrimPrefix(o.Release.Version, "v")
	replaced := strings.NewReplacer("v"+noVersion, o.Release.Version, noVersion, version, noImage, "repository: "+o.Repository)
	if err := copyTree(folder, filepath.Join(o.Source, "charts", name), replaced); err != nil {
		return err
	}
	switch name {
	case LandscaperChart:
		return completeLandscaper(folder, o)
	case ControllerChart:
		return errors.Join(shareNames(folder, o), writeOwnEnvironment(folder, o))
	case RightsChart:
		return errors.Join(shareNames(folder, o), writeRoles(folder, o))
	}
	return completeProcess(folder, name, o)
}

// completeLandscaper adds the CRDs, and the charts that the chart landscaper is made of.
func completeLandscaper(folder string, o Options) error {
	return errors.Join(
		copyTree(filepath.Join(folder, "crds"), filepath.Join(o.Source, "config", "crd", "bases"), strings.NewReplacer()),
		Chart(filepath.Join(folder, "charts", ControllerChart), ControllerChart, o),
		Chart(filepath.Join(folder, "charts", RightsChart), RightsChart, o),
	)
}

// shareNames adds the names and labels that all charts have.
func shareNames(folder string, o Options) error {
	const names = "_names.tpl"
	content, err := os.ReadFile(filepath.Join(o.Source, "charts", "process", "templates", names))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "templates", names), content, 0o644)
}

// writeOwnEnvironment adds flux/own-environment, which the chart fills in for its value deployerManagement.agent.
func writeOwnEnvironment(folder string, o Options) error {
	manifests, err := build(filepath.Join(o.Source, "flux", "own-environment"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "own-environment.yaml"), manifests, 0o644)
}

// writeRoles adds the roles of config/rbac, one after the other.
func writeRoles(folder string, o Options) error {
	roles, err := build(filepath.Join(o.Source, "config", "rbac"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "roles.yaml"), roles, 0o644)
}

// completeProcess adds what the charts of deployers and of the agent share.
func completeProcess(folder, name string, o Options) error {
	charts := filepath.Join(o.Source, "charts")
	shared, kind, roles := []string{"process"}, "Role", []string{filepath.Join("flux", "agent", "rights.yaml")}
	if deployer, isDeployer := strings.CutSuffix(name, deployerSuffix); isDeployer {
		shared, kind = append(shared, "deployer"), "ClusterRole"
		roles = []string{filepath.Join("config", "rbac", "deployer.yaml"), filepath.Join("config", "rbac", "deployer-"+deployer+".yaml")}
	}
	for _, from := range shared {
		if err := copyTree(filepath.Join(folder, "templates"), filepath.Join(charts, from, "templates"), strings.NewReplacer()); err != nil {
			return err
		}
	}
	schema, err := valuesSchema(charts, append(shared, name))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, schemaFile), schema, 0o644); err != nil {
		return err
	}
	rules, err := rulesOf(kind, o.Source, roles)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "rights.yaml"), rules, 0o644)
}

// schemaFile is where Helm looks for the JSON schema of the values.
const schemaFile = "values.schema.json"

// valuesSchema joins the schemas in some folders of the charts. Not every folder has one.
func valuesSchema(charts string, folders []string) ([]byte, error) {
	joined := map[string]any{}
	for _, folder := range folders {
		content, err := os.ReadFile(filepath.Join(charts, folder, schemaFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var schema map[string]any
		if err := json.Unmarshal(content, &schema); err != nil {
			return nil, fmt.Errorf("cannot read the schema of charts/%s: %w", folder, err)
		}
		join(joined, schema)
	}
	return json.MarshalIndent(joined, "", "  ")
}

// join puts the fields of a JSON object into another one, objects field by field.
func join(into, from map[string]any) {
	for key, value := range from {
		inner, isObject := value.(map[string]any)
		present, isThere := into[key].(map[string]any)
		if isObject && isThere {
			join(present, inner)
			continue
		}
		into[key] = value
	}
}

// rulesOf returns the rules of the roles of a kind in files of a checkout. Only the first file has to exist.
func rulesOf(kind, source string, files []string) ([]byte, error) {
	var rules []any
	for i, name := range files {
		content, err := os.ReadFile(filepath.Join(source, name))
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, document := range strings.Split(string(content), "\n---\n") {
			var role struct {
				Kind  string `json:"kind"`
				Rules []any  `json:"rules"`
			}
			if err := foreign.Unmarshal([]byte(document), &role); err != nil {
				return nil, fmt.Errorf("cannot read %s: %w", name, err)
			}
			if role.Kind == kind {
				rules = append(rules, role.Rules...)
			}
		}
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
