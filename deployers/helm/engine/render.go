// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/records"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/rendering"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/secrecy"
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
	made, err := op.make(ctx, rendering.TaskObjects, request, firstInstall(request))
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
func (o *operation) make(ctx context.Context, verb rendering.TaskVerb, request Request, options chartutil.ReleaseOptions) (rendering.Product, error) {
	if err := o.learnCapabilities(request); err != nil {
		return rendering.Product{}, err
	}
	asked := &lookups{cluster: request.Cluster}
	made, err := rendering.Do(ctx, o.children, request.Owner, rendering.Task{
		Verb: verb, Chart: request.Chart.packed, Options: options, Values: request.Values, Secrets: secretsOf(request),
		Capabilities: o.Capabilities, SkipSchema: request.SkipSchemaValidation,
		Kustomizations: request.Kustomizations, Metadata: request.Metadata,
	}, asked.answers())
	return made, asked.explain(err)
}

// prepare renders the chart of a request for a revision of its release, after its definitions are applied as policy says.
func (o *operation) prepare(ctx context.Context, request Request, options chartutil.ReleaseOptions, policy CRDPolicy) (*records.Rendered, error) {
	if err := o.applyDefinitions(ctx, request, policy); err != nil {
		return nil, err
	}
	made, err := o.make(ctx, rendering.TaskRelease, request, options)
	if err != nil {
		return nil, err
	}
	result := &records.Rendered{Manifest: made.Manifest, Notes: made.Notes, Values: copyTree(request.Values), Revision: options.Revision}
	if err := json.Unmarshal(made.Hooks, &result.Hooks); err != nil {
		return nil, err
	}
	if result.Chart, err = records.RecordedChart(made.Record); err != nil {
		return nil, err
	}
	o.journal.Withhold(made.Secrets)
	o.pods.withhold(made.Given)
	o.Releases.Driver = &records.Recording{Driver: o.Releases.Driver, Rendered: result}
	return result, nil
}

// IsKept reports whether an object with these annotations says that Helm never deletes it.
func IsKept(annotations map[string]string) bool {
	return strings.ToLower(strings.TrimSpace(annotations[kube.ResourcePolicyAnno])) == kube.KeepPolicy
}

// Values returns what templates of the chart see, as plain JSON: .Values, .Release and .Chart (with both name and Name).
func (e *Engine) Values(ctx context.Context, request Request) (map[string]any, error) {
	made, err := rendering.Do(ctx, e.children, request.Owner, rendering.Task{
		Verb: rendering.TaskValues, Chart: request.Chart.packed, Options: firstInstall(request), Values: request.Values, Secrets: secretsOf(request), SkipSchema: true,
	}, nil)
	if err != nil {
		return nil, explain("render", request, &operation{journal: &secrecy.Journal{}, pods: &podLog{}}, err)
	}
	var seen map[string]any
	return seen, kjson.UnmarshalCaseSensitivePreserveInts(made.Seen, &seen)
}

// learnCapabilities finds out what the cluster can do, unless that is known and the chart cannot tell the difference.
func (o *operation) learnCapabilities(request Request) error {
	if o.Capabilities != nil {
		return nil
	}
	o.useCapabilities(request)
	if o.Capabilities != nil {
		return nil
	}
	capabilities, err := o.discover(request.mayAskForKinds())
	if err != nil {
		return err
	}
	o.Capabilities = capabilities
	o.state.learn(capabilities)
	return nil
}

// longestVersion is how many bytes the version of a cluster may have: it is remembered.
const longestVersion = 256

// isLong reports whether a version has texts that no API server gives.
func isLong(info *version.Info) bool {
	return len(info.GitVersion)+len(info.Major)+len(info.Minor) > longestVersion
}

// discover asks the cluster for its version and, where the chart may ask for them, for all its kinds.
func (o *operation) discover(withKinds bool) (*chartutil.Capabilities, error) {
	client, err := o.RESTClientGetter.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	served, err := client.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("the version of the cluster cannot be read: %w", err)
	}
	if isLong(served) {
		return nil, errors.New("the version of the cluster cannot be read: it is longer than those of API servers; correct the address of the server")
	}
	kinds := chartutil.DefaultVersionSet
	if withKinds {
		kinds, err = action.GetVersionSet(client)
		if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
			return nil, fmt.Errorf("the kinds of the cluster cannot be listed: %w", err)
		}
	}
	return &chartutil.Capabilities{
		APIVersions: kinds,
		KubeVersion: chartutil.KubeVersion{Version: served.GitVersion, Major: served.Major, Minor: served.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}, nil
}
