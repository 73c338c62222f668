// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmengine "helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/confined"
)

// Rendering is what a chart renders to.
type Rendering struct {
	// CRDs are the objects of the chart's crds directories.
	CRDs []map[string]any
	// Objects are all others, hooks included, in a stable order, with the post renderers and the metadata of the request.
	Objects []map[string]any
}

// Render renders a chart as for a first install, with look-ups in the cluster, and changes nothing.
func (e *Engine) Render(ctx context.Context, request Request) (*Rendering, error) {
	op, err := e.begin(ctx, request)
	if err != nil {
		return nil, err
	}
	made, err := op.render(ctx, taskObjects, request, firstInstall(request))
	if err != nil {
		return nil, explain("render", request, op.journal, err)
	}
	return renderingOf(made)
}

func renderingOf(made product) (*Rendering, error) {
	rendering := &Rendering{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(made.Definitions, &rendering.CRDs); err != nil {
		return nil, err
	}
	return rendering, kjson.UnmarshalCaseSensitivePreserveInts(made.Objects, &rendering.Objects)
}

// Preview is what an upgrade would make.
type Preview struct {
	// Manifest is as in Release.
	Manifest string
	// Hooks are what the upgrade would run, as Job/NAME.
	Hooks []string
}

// Preview renders the revision that Upgrade would make, whose From is to be set, and changes nothing. Definitions are left out.
func (e *Engine) Preview(ctx context.Context, request Request) (*Preview, error) {
	op, err := e.begin(ctx, request)
	if err != nil {
		return nil, err
	}
	made, err := op.render(ctx, taskRelease, request, nextRevision(request, request.From))
	if err != nil {
		return nil, explain("render", request, op.journal, err)
	}
	var hooks []*release.Hook
	if err := json.Unmarshal(made.Hooks, &hooks); err != nil {
		return nil, err
	}
	preview := &Preview{Manifest: made.Manifest}
	for _, hook := range hooks {
		runs := slices.Contains(hook.Events, release.HookPreUpgrade) || slices.Contains(hook.Events, release.HookPostUpgrade)
		if runs && !request.DisableHooks {
			preview.Hooks = append(preview.Hooks, hook.Kind+"/"+hook.Name)
		}
	}
	return preview, nil
}

// errNoCluster is the answer to a chart that asks for objects where there is no cluster.
var errNoCluster = errors.New("the chart looks objects up in its target (lookup)")

// RenderAlone is Render without a cluster: what a chart asks of its version and kinds is answered as for a new one, and look-ups fail.
func (e *Engine) RenderAlone(ctx context.Context, request Request) (*Rendering, error) {
	t, err := taskOf(taskObjects, request)
	if err != nil {
		return nil, err
	}
	t.Options, t.Capabilities, t.SkipSchema = firstInstall(request), chartutil.DefaultCapabilities, request.SkipSchemaValidation
	t.PostRenderers, t.Metadata = request.PostRenderers, request.Metadata
	made, err := e.do(ctx, request.Owner, t, map[string]confined.Answer{
		lookupQuestion: confined.AnswerWith(func(context.Context, sought) (map[string]any, error) { return nil, errNoCluster }),
	})
	if err != nil {
		return nil, explain("render", request, &journal{}, err)
	}
	return renderingOf(made)
}

// Values returns what templates of the chart see, as plain JSON: .Values, .Release and .Chart (with both name and Name).
func (e *Engine) Values(ctx context.Context, request Request) (map[string]any, error) {
	t, err := taskOf(taskValues, request)
	if err != nil {
		return nil, err
	}
	t.Options, t.SkipSchema = firstInstall(request), true
	made, err := e.do(ctx, request.Owner, t, nil)
	if err != nil {
		return nil, explain("render", request, &journal{}, err)
	}
	var seen map[string]any
	return seen, kjson.UnmarshalCaseSensitivePreserveInts(made.Seen, &seen)
}

// firstInstall is what templates see of a release that does not exist yet.
func firstInstall(request Request) chartutil.ReleaseOptions {
	return chartutil.ReleaseOptions{Name: request.Name, Namespace: request.Namespace, Revision: 1, IsInstall: true}
}

// nextRevision is what templates see of the revision that an upgrade makes after another.
func nextRevision(request Request, from int) chartutil.ReleaseOptions {
	return chartutil.ReleaseOptions{Name: request.Name, Namespace: request.Namespace, Revision: from + 1, IsUpgrade: true}
}

func taskOf(verb taskVerb, request Request) (task, error) {
	values, err := json.Marshal(request.Values)
	return task{Verb: verb, Chart: request.Chart.packed, Values: values, Secrets: request.secretTexts()}, err
}

// render renders the chart of a request in a child.
func (o *operation) render(ctx context.Context, verb taskVerb, request Request, options chartutil.ReleaseOptions) (product, error) {
	if err := o.learnCapabilities(request); err != nil {
		return product{}, err
	}
	t, err := taskOf(verb, request)
	if err != nil {
		return product{}, err
	}
	t.Options, t.Capabilities, t.SkipSchema = options, o.Capabilities, request.SkipSchemaValidation
	t.PostRenderers, t.Metadata = request.PostRenderers, request.Metadata
	var failed error // of a question
	made, err := o.do(ctx, request.Owner, t, map[string]confined.Answer{
		// With the rights of the connection, as Helm's own function does it.
		lookupQuestion: confined.AnswerWith(func(ctx context.Context, asked sought) (map[string]any, error) {
			found, err := helmengine.NewLookupFunction(newGetter(ctx, request.Cluster, asked.Namespace).config)(
				asked.APIVersion, asked.Kind, asked.Namespace, asked.Name)
			if err != nil {
				failed = err
			}
			return found, err
		}),
	})
	if err != nil && failed != nil {
		err = &askedError{error: err, question: failed}
	}
	return made, err
}

// askedError is the error of a task that has asked for something in vain.
type askedError struct {
	error
	question error
}

// Unwrap returns both errors.
func (a *askedError) Unwrap() []error { return []error{a.error, a.question} }

// prepare renders the chart of a request for a revision of its release, after its definitions are applied as policy says.
func (o *operation) prepare(ctx context.Context, request Request, options chartutil.ReleaseOptions, policy helmv1alpha1.CRDPolicy) (*rendered, error) {
	if err := o.applyDefinitions(ctx, request, policy); err != nil {
		return nil, err
	}
	made, err := o.render(ctx, taskRelease, request, options)
	if err != nil {
		return nil, err
	}
	result := &rendered{manifest: made.Manifest, notes: made.Notes, values: request.Values, revision: options.Revision, chart: &helmchart.Chart{}}
	if err := json.Unmarshal(made.Hooks, &result.hooks); err != nil {
		return nil, err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(made.Record, result.chart); err != nil {
		return nil, err
	}
	o.journal.withhold(made.Secrets, made.Given)
	o.records.rendered = result
	return result, nil
}

// learnCapabilities asks the cluster for its version and, where what is rendered may depend on them, for all its kinds. A chart can render texts of its
// values as templates.
func (o *operation) learnCapabilities(request Request) error {
	client, err := o.RESTClientGetter.ToDiscoveryClient()
	if err != nil {
		return err
	}
	served, err := client.ServerVersion()
	if err != nil {
		return fmt.Errorf("the version of the cluster cannot be read: %w", err)
	}
	kinds := chartutil.DefaultVersionSet
	if request.Chart.dynamic || asksForKindsIn(fmt.Append(nil, request.Values)) {
		kinds, err = action.GetVersionSet(client)
		if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
			return fmt.Errorf("the kinds of the cluster cannot be listed: %w", err)
		}
	}
	o.Capabilities = &chartutil.Capabilities{
		APIVersions: kinds,
		KubeVersion: chartutil.KubeVersion{Version: served.GitVersion, Major: served.Major, Minor: served.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}
	return nil
}

const (
	definitionKind = "CustomResourceDefinition"
	// definitionTime is how long Helm itself waits until the cluster serves new kinds.
	definitionTime = time.Minute
)

// applyDefinitions creates, and with CRDsCreateReplace replaces, the definitions of a chart, as Helm creates them in an install only. It
// returns when the cluster serves the kinds.
func (o *operation) applyDefinitions(ctx context.Context, request Request, policy helmv1alpha1.CRDPolicy) error {
	if policy == helmv1alpha1.CRDsSkip || !request.Chart.hasDefinitions {
		return nil
	}
	t, err := taskOf(taskDefinitions, request)
	if err != nil {
		return err
	}
	made, err := o.do(ctx, request.Owner, t, nil)
	if err != nil {
		return err
	}
	var wanted, applied []map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(made.Definitions, &wanted); err != nil {
		return err
	}
	for _, object := range wanted {
		definition := &unstructured.Unstructured{Object: object}
		isChanged, err := applyDefinition(ctx, request.Cluster.Client, definition, policy)
		if err != nil {
			return fmt.Errorf("%s %s of the chart cannot be applied: %w", definition.GetKind(), definition.GetName(), err)
		}
		if isChanged {
			applied = append(applied, object)
		}
	}
	return o.awaitDefinitions(applied)
}

// applyDefinition reports whether it has written something.
func applyDefinition(ctx context.Context, c client.Client, wanted *unstructured.Unstructured, policy helmv1alpha1.CRDPolicy) (bool, error) {
	owner := client.FieldOwner(kube.ManagedFieldsManager)
	err := c.Create(ctx, wanted.DeepCopy(), owner)
	if !apierrors.IsAlreadyExists(err) {
		return err == nil, err
	}
	if policy != helmv1alpha1.CRDsCreateReplace || wanted.GetKind() != definitionKind {
		return false, nil
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(wanted.GroupVersionKind())
		if err := c.Get(ctx, client.ObjectKeyFromObject(wanted), live); err != nil {
			return err
		}
		live.SetLabels(joined(live.GetLabels(), wanted.GetLabels()))
		live.SetAnnotations(joined(live.GetAnnotations(), wanted.GetAnnotations()))
		live.Object["spec"] = wanted.Object["spec"]
		// The UID and the version that were read go along.
		return c.Update(ctx, live, owner)
	})
	return err == nil, err
}

func joined(base, over map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, base)
	maps.Copy(all, over)
	return all
}

// awaitDefinitions returns when the cluster serves the kinds of definitions.
func (o *operation) awaitDefinitions(definitions []map[string]any) error {
	if len(definitions) == 0 {
		return nil
	}
	manifest, err := writeManifest(definitions)
	if err != nil {
		return err
	}
	built, err := o.kube.Build(bytes.NewReader(manifest), false)
	if err != nil {
		return err
	}
	return o.kube.Wait(built, definitionTime)
}
