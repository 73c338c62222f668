// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmengine "helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/client-go/discovery"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

const notesSuffix = "NOTES.txt"

// Rendering is what a chart renders to.
type Rendering struct {
	// CRDs are the objects of the chart's crds directories.
	CRDs []map[string]any
	// Objects are all others, hooks included, in a stable order.
	Objects []map[string]any
}

// Render renders a chart as for a first install, with look-ups in the cluster, and changes nothing.
func (e *Engine) Render(ctx context.Context, request Request) (*Rendering, error) {
	op, err := e.begin(ctx, request.Cluster, request.Namespace)
	if err != nil {
		return nil, err
	}
	rendering, err := op.render(request)
	if err != nil {
		return nil, explain("render", request, op, err)
	}
	return rendering, nil
}

func (o *operation) render(request Request) (*Rendering, error) {
	chart := request.Chart.fresh()
	values, err := o.renderValues(chart, request, request.SkipSchemaValidation)
	if err != nil {
		return nil, err
	}
	config, err := o.RESTClientGetter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	files, err := helmengine.New(config).Render(chart, values)
	if err != nil {
		return nil, err
	}
	rendering := &Rendering{}
	for _, crd := range chart.CRDObjects() {
		if rendering.CRDs, err = appendObjects(rendering.CRDs, crd.Filename, string(crd.File.Data)); err != nil {
			return nil, err
		}
	}
	for _, name := range manifestFiles(files) {
		if rendering.Objects, err = appendObjects(rendering.Objects, name, files[name]); err != nil {
			return nil, err
		}
	}
	return rendering, nil
}

// IsKept reports whether an object with these annotations says that Helm never deletes it.
func IsKept(annotations map[string]string) bool {
	return strings.ToLower(strings.TrimSpace(annotations[kube.ResourcePolicyAnno])) == kube.KeepPolicy
}

// manifestFiles returns the sorted names of the files that hold manifests.
func manifestFiles(files map[string]string) []string {
	var names []string
	for name := range files {
		if !strings.HasSuffix(name, notesSuffix) && !strings.HasPrefix(path.Base(name), "_") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ParseManifest returns the objects of a manifest of several YAML documents.
func ParseManifest(manifest string) ([]map[string]any, error) {
	return appendObjects(nil, "manifest", manifest)
}

func appendObjects(objects []map[string]any, file, content string) ([]map[string]any, error) {
	documents := releaseutil.SplitManifests(content)
	keys := make([]string, 0, len(documents))
	for key := range documents {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareManifestKeys)
	var read foreign.Several
	for _, key := range keys {
		object, err := parseObject(&read, documents[key])
		if err != nil {
			return nil, fmt.Errorf("file %s of the chart renders to something that is no object: %w", file, err)
		}
		if len(object) > 0 {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

func parseObject(read *foreign.Several, document string) (object map[string]any, err error) {
	raw, err := read.ToJSON([]byte(document))
	if err != nil {
		return nil, err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
		return nil, errors.New("it is neither empty nor a map")
	}
	return object, nil
}

// compareManifestKeys orders keys such as manifest-2 and manifest-10 by their number.
func compareManifestKeys(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// Values returns what templates of the chart see, as plain JSON: .Values, .Release and .Chart (with both name and Name).
func (e *Engine) Values(request Request) (map[string]any, error) {
	values, err := valuesFor(request.Chart.fresh(), request, chartutil.DefaultCapabilities, true)
	if err != nil {
		return nil, explain("render", request, &operation{journal: &journal{}, pods: &podLog{}}, err)
	}
	plain := map[string]any{}
	for _, key := range []string{"Values", "Release", "Chart"} {
		raw, err := json.Marshal(values[key])
		if err != nil {
			return nil, fmt.Errorf("chart %s: the %s cannot be written as JSON: %w", request.Chart.Name, key, err)
		}
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, fmt.Errorf("chart %s: the %s cannot be read as JSON: %w", request.Chart.Name, key, err)
		}
		plain[key] = value
	}
	addTemplateNames(plain["Chart"])
	return plain, nil
}

// addTemplateNames adds the upper-case names by which templates know the fields of Chart.yaml.
func addTemplateNames(chart any) {
	fields, ok := chart.(map[string]any)
	if !ok {
		return
	}
	for key, value := range fields {
		fields[strings.ToUpper(key[:1])+key[1:]] = value
	}
}

func (o *operation) renderValues(chart *helmchart.Chart, request Request, skipSchema bool) (chartutil.Values, error) {
	o.useCapabilities(request.Chart)
	if o.Capabilities == nil {
		capabilities, err := o.discover()
		if err != nil {
			return nil, err
		}
		o.Capabilities = capabilities
		o.state.learn(capabilities)
	}
	return valuesFor(chart, request, o.Capabilities, skipSchema)
}

func valuesFor(chart *helmchart.Chart, request Request, capabilities *chartutil.Capabilities, skipSchema bool) (chartutil.Values, error) {
	values := copyTree(request.Values)
	if err := chartutil.ProcessDependenciesWithMerge(chart, values); err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: request.Name, Namespace: request.Namespace, Revision: 1, IsInstall: true}
	return chartutil.ToRenderValuesWithSchemaValidation(chart, values, options, capabilities, skipSchema)
}

// discover asks the cluster for its version and kinds.
func (o *operation) discover() (*chartutil.Capabilities, error) {
	client, err := o.RESTClientGetter.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("the version of the cluster cannot be read: %w", err)
	}
	kinds, err := action.GetVersionSet(client)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("the kinds of the cluster cannot be listed: %w", err)
	}
	return &chartutil.Capabilities{
		APIVersions: kinds,
		KubeVersion: chartutil.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}, nil
}
