// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/client-go/discovery"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Rendering is what a chart renders to.
type Rendering struct {
	// CRDs are the objects of the chart's crds directories.
	CRDs []map[string]any
	// Objects are all others, hooks included, in a stable order, with the kustomizations and the metadata of the request.
	Objects []map[string]any
}

// Render renders a chart as for a first install, with look-ups in the cluster, and changes nothing.
func (e *Engine) Render(ctx context.Context, request Request) (*Rendering, error) {
	op, err := e.begin(ctx, request.Cluster, request.Namespace)
	if err != nil {
		return nil, err
	}
	made, err := op.make(ctx, taskObjects, request, firstInstall(request))
	if err != nil {
		return nil, explain("render", request, op, err)
	}
	rendering := &Rendering{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(made.Definitions, &rendering.CRDs); err != nil {
		return nil, err
	}
	return rendering, kjson.UnmarshalCaseSensitivePreserveInts(made.Objects, &rendering.Objects)
}

// firstInstall is what templates see of a release that does not exist yet.
func firstInstall(request Request) chartutil.ReleaseOptions {
	return chartutil.ReleaseOptions{Name: request.Name, Namespace: request.Namespace, Revision: 1, IsInstall: true}
}

// make renders the chart of a request in a child.
func (o *operation) make(ctx context.Context, verb taskVerb, request Request, options chartutil.ReleaseOptions) (product, error) {
	if err := o.learnCapabilities(request.Chart); err != nil {
		return product{}, err
	}
	asked := &lookups{cluster: request.Cluster}
	made, err := do(ctx, o.children, request.Owner, task{
		Verb: verb, Chart: request.Chart.packed, Options: options, Values: request.Values, Secrets: secretsOf(request),
		Capabilities: o.Capabilities, SkipSchema: request.SkipSchemaValidation,
		Kustomizations: request.Kustomizations, Metadata: request.Metadata,
	}, asked.answers())
	return made, asked.explain(err)
}

// prepare renders the chart of a request for a revision of its release, after its definitions are applied as policy says.
func (o *operation) prepare(ctx context.Context, request Request, options chartutil.ReleaseOptions, policy CRDPolicy) (*rendered, error) {
	if err := o.applyDefinitions(ctx, request, policy); err != nil {
		return nil, err
	}
	made, err := o.make(ctx, taskRelease, request, options)
	if err != nil {
		return nil, err
	}
	result := &rendered{manifest: made.Manifest, notes: made.Notes, values: copyTree(request.Values), revision: options.Revision}
	if err := json.Unmarshal(made.Hooks, &result.hooks); err != nil {
		return nil, err
	}
	if result.chart, err = recordedChart(made.Record); err != nil {
		return nil, err
	}
	o.journal.withhold(made.Secrets)
	o.Releases.Driver = &recording{Driver: o.Releases.Driver, rendered: result}
	return result, nil
}

// IsKept reports whether an object with these annotations says that Helm never deletes it.
func IsKept(annotations map[string]string) bool {
	return strings.ToLower(strings.TrimSpace(annotations[kube.ResourcePolicyAnno])) == kube.KeepPolicy
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
			return nil, fmt.Errorf("file %s of the chart renders to something that is not an object: %w", file, err)
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
func (e *Engine) Values(ctx context.Context, request Request) (map[string]any, error) {
	made, err := do(ctx, e.children, request.Owner, task{
		Verb: taskValues, Chart: request.Chart.packed, Options: firstInstall(request), Values: request.Values, Secrets: secretsOf(request), SkipSchema: true,
	}, nil)
	if err != nil {
		return nil, explain("render", request, &operation{journal: &journal{}, pods: &podLog{}}, err)
	}
	var seen map[string]any
	return seen, json.Unmarshal(made.Seen, &seen)
}

// learnCapabilities finds out what the cluster can do, unless that is known and the chart cannot tell the difference.
func (o *operation) learnCapabilities(chart *Chart) error {
	o.useCapabilities(chart)
	if o.Capabilities != nil {
		return nil
	}
	capabilities, err := o.discover()
	if err != nil {
		return err
	}
	o.Capabilities = capabilities
	o.state.learn(capabilities)
	return nil
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
