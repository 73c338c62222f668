// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
)

// AgentChart is the name of the chart of the agent.
const AgentChart = "landscaper-agent"

// LandscaperChart is the name of the chart of controller and webhooks, which is made of two others: ControllerChart runs them, RightsChart has their
// accounts and rights. WholeChart adds the two usual deployers.
const (
	// WholeChart is the name of the chart with LandscaperChart and the charts of two deployers.
	WholeChart = "flux-landscaper"
	// LandscaperChart is the name of the chart without deployers.
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
	noTag     = `tag: ""`
)

const (
	// refusal is the template by which a chart of a checkout refuses to be installed: it is a part of the chart.
	refusal = "whole.yaml"
	// partsFile has the lines of Chart.yaml that name the charts that a chart is made of. A checkout does not have them there, and Helm would look for
	// them before it renders the refusal.
	partsFile = "dependencies.yaml"
)

// packedChart is a chart as it is released.
type packedChart struct {
	name string
	// archive is the packed chart, metadata its Chart.yaml.
	archive, metadata []byte
}

// Charts writes all charts into a folder, packed as <name>-<version>.tgz. The version has to be a semantic one.
func Charts(dist string, o Options) (err error) {
	defer caught(&err)
	for _, chart := range packCharts(o) {
		write(filepath.Join(dist, chart.name+"-"+o.bare()+".tgz"), chart.archive)
	}
	return nil
}

// bare is the version without v.
func (o Options) bare() string { return strings.TrimPrefix(o.Release.Version, "v") }

// packCharts packs all charts.
func packCharts(o Options) (charts []packedChart) {
	must(o.checkVersion())
	folder := that(os.MkdirTemp("", "charts-"))
	defer func() { _ = os.RemoveAll(folder) }()
	for _, file := range that(filepath.Glob(filepath.Join(o.Source, "charts", "*", "Chart.yaml"))) {
		name := filepath.Base(filepath.Dir(file))
		own := filepath.Join(folder, name)
		if err := Chart(own, name, o); err != nil {
			must(fmt.Errorf("cannot make the chart %s: %w", name, err))
		}
		var packed bytes.Buffer
		that(publishing.Pack(&packed, own, publishing.PackOptions{Prefix: name}))
		charts = append(charts, packedChart{name: name, archive: packed.Bytes(), metadata: contentOf(own, "Chart.yaml")})
	}
	return charts
}

// checkVersion refuses what Helm does not take as the version of a chart.
func (o Options) checkVersion() error {
	if _, err := semver.StrictNewVersion(o.bare()); err != nil {
		return fmt.Errorf("the version %q is not a semantic version, and Helm takes no other for a chart; give one like v1.2.3", o.Release.Version)
	}
	return nil
}

// Chart makes the chart of that name in a folder: its own values and templates, those that it shares with others, the rights of config/rbac or
// flux/agent, version and image of the release.
func Chart(folder, name string, o Options) (err error) {
	defer caught(&err)
	replaced := []string{"v" + noVersion, o.Release.Version, noVersion, o.bare(), noImage, "repository: " + o.Repository}
	if o.Digest != "" {
		replaced = append(replaced, noTag, fmt.Sprintf("tag: %s@%s", o.Release.Version, o.Digest))
	}
	copyTree(folder, filepath.Join(o.Source, "charts", name), strings.NewReplacer(replaced...).Replace)
	must(os.RemoveAll(filepath.Join(folder, "templates", refusal))) // former checkouts have none
	if parts, err := os.ReadFile(filepath.Join(folder, partsFile)); err == nil {
		write(filepath.Join(folder, "Chart.yaml"), append(contentOf(folder, "Chart.yaml"), parts...))
		must(os.Remove(filepath.Join(folder, partsFile)))
	}
	const names = "_names.tpl"
	switch name {
	case WholeChart:
		for _, part := range []string{LandscaperChart, "helm" + deployerSuffix, "manifest" + deployerSuffix} {
			must(Chart(filepath.Join(folder, "charts", part), part, o))
		}
	case LandscaperChart: // with the CRDs, and the charts that it is made of
		copyTree(filepath.Join(folder, "crds"), filepath.Join(o.Source, "config", "crd", "bases"), nil)
		must(Chart(filepath.Join(folder, "charts", ControllerChart), ControllerChart, o))
		must(Chart(filepath.Join(folder, "charts", RightsChart), RightsChart, o))
	case ControllerChart: // with flux/own-environment and flux/ui, which it fills in for its values deployerManagement.agent and ui
		write(filepath.Join(folder, "templates", names), contentOf(o.Source, "charts", "process", "templates", names))
		for _, part := range []string{"own-environment", "ui"} {
			from := filepath.Join(o.Source, "flux", part)
			if _, err := os.Stat(from); err == nil || part != "ui" { // former checkouts have no flux/ui
				write(filepath.Join(folder, part+".yaml"), build(from))
			}
		}
	case RightsChart: // with the roles of config/rbac, one after the other
		write(filepath.Join(folder, "templates", names), contentOf(o.Source, "charts", "process", "templates", names))
		write(filepath.Join(folder, "roles.yaml"), build(filepath.Join(o.Source, "config", "rbac")))
	default:
		completeProcess(folder, name, o)
	}
	return nil
}

// completeProcess adds what the charts of deployers and of the agent share.
func completeProcess(folder, name string, o Options) {
	charts := filepath.Join(o.Source, "charts")
	shared, kind, roles := []string{"process"}, "Role", []string{filepath.Join("flux", "agent", "rights.yaml")}
	if deployer, isDeployer := strings.CutSuffix(name, deployerSuffix); isDeployer {
		shared, kind = append(shared, "deployer"), "ClusterRole"
		roles = []string{filepath.Join("config", "rbac", "deployer.yaml"), filepath.Join("config", "rbac", "deployer-"+deployer+".yaml")}
	}
	for _, from := range shared {
		copyTree(filepath.Join(folder, "templates"), filepath.Join(charts, from, "templates"), nil)
	}
	write(filepath.Join(folder, schemaFile), valuesSchema(charts, append(shared, name)))
	write(filepath.Join(folder, "rights.yaml"), rulesOf(kind, o.Source, roles))
}

// schemaFile is where Helm looks for the JSON schema of the values.
const schemaFile = "values.schema.json"

// valuesSchema joins the schemas in some folders of the charts. Not every folder has one.
func valuesSchema(charts string, folders []string) []byte {
	joined := map[string]any{}
	for _, folder := range folders {
		content, err := os.ReadFile(filepath.Join(charts, folder, schemaFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		must(err)
		var schema map[string]any
		if err := json.Unmarshal(content, &schema); err != nil {
			must(fmt.Errorf("cannot read the schema of charts/%s: %w", folder, err))
		}
		join(joined, schema)
	}
	return that(json.MarshalIndent(joined, "", "  "))
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
func rulesOf(kind, source string, files []string) []byte {
	var rules []any
	for i, name := range files {
		content, err := os.ReadFile(filepath.Join(source, name))
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			continue
		}
		must(err)
		for _, document := range strings.Split(string(content), "\n---\n") {
			var role struct {
				Kind  string `json:"kind"`
				Rules []any  `json:"rules"`
			}
			if err := foreign.Unmarshal([]byte(document), &role); err != nil {
				must(fmt.Errorf("cannot read %s: %w", name, err))
			}
			if role.Kind == kind {
				rules = append(rules, role.Rules...)
			}
		}
	}
	return that(yaml.Marshal(rules))
}

// Media types of what `helm push` makes.
const (
	helmConfig  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	helmContent types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// ChartArtifact is a chart as registries have it for Helm and Flux.
type ChartArtifact struct {
	// Name of the chart. Helm wants repositories to end with it.
	Name string
	// Tag is the version as Helm looks for it: a tag has no +, so that _ stands for it.
	Tag string
	// Image is the artifact.
	Image v1.Image
}

// ChartArtifacts returns all charts as the OCI artifacts that `helm push` makes of them. The version has to be a semantic one.
func ChartArtifacts(o Options) (artifacts []ChartArtifact, err error) {
	defer caught(&err)
	for _, chart := range packCharts(o) {
		artifacts = append(artifacts, ChartArtifact{Name: chart.name, Tag: strings.ReplaceAll(o.bare(), "+", "_"), Image: chart.artifact(o.Release)})
	}
	return artifacts, nil
}

// artifact returns the chart with its metadata as the configuration, where Helm reads them.
func (c packedChart) artifact(release containerimage.Release) v1.Image {
	var metadata map[string]any
	must(foreign.Unmarshal(c.metadata, &metadata))
	annotations := maps.Clone(release.Labels())
	annotations["org.opencontainers.image.title"] = c.name
	annotations["org.opencontainers.image.version"] = strings.TrimPrefix(release.Version, "v")
	annotations["org.opencontainers.image.created"] = release.Created.UTC().Format(time.RFC3339)
	if description, isText := metadata["description"].(string); isText {
		annotations["org.opencontainers.image.description"] = description
	}
	annotated := mutate.Annotations(artifact(static.NewLayer(c.archive, helmContent), helmConfig), annotations).(v1.Image)
	config, manifest := that(json.Marshal(metadata)), that(annotated.Manifest()).DeepCopy()
	var err error
	manifest.Config.Digest, manifest.Config.Size, err = v1.SHA256(bytes.NewReader(config))
	must(err)
	return configured{Image: annotated, config: config, manifest: manifest}
}

// configured is an image whose configuration is no description of an image.
type configured struct {
	v1.Image
	config   []byte
	manifest *v1.Manifest
}

// What follows are the methods of an image that go by its configuration.

func (c configured) RawConfigFile() ([]byte, error)  { return c.config, nil }
func (c configured) ConfigName() (v1.Hash, error)    { return c.manifest.Config.Digest, nil }
func (c configured) Manifest() (*v1.Manifest, error) { return c.manifest, nil }
func (c configured) RawManifest() ([]byte, error)    { return json.Marshal(c.manifest) }
func (c configured) Digest() (v1.Hash, error)        { return partial.Digest(c) }
func (c configured) Size() (int64, error)            { return partial.Size(c) }
