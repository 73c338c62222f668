// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/rendering"
)

// CRDPolicy says what an operation does with the definitions in the crds directories of a chart.
type CRDPolicy string

// Policies for definitions. None deletes any.
const (
	// CRDsSkip leaves definitions alone.
	CRDsSkip CRDPolicy = "Skip"
	// CRDsCreate creates those that do not exist.
	CRDsCreate CRDPolicy = "Create"
	// CRDsCreateReplace also replaces the spec of those that exist.
	CRDsCreateReplace CRDPolicy = "CreateReplace"
)

const (
	definitionKind = "CustomResourceDefinition"
	// definitionTime is how long Helm itself waits until the cluster serves new kinds.
	definitionTime = time.Minute
)

// applyDefinitions creates, and with CRDsCreateReplace replaces, the definitions of a chart, as Helm creates them in an install only. It
// returns when the cluster serves the kinds.
func (o *operation) applyDefinitions(ctx context.Context, request Request, policy CRDPolicy) error {
	if policy == CRDsSkip || !request.Chart.hasDefinitions {
		return nil
	}
	made, err := rendering.Do(ctx, o.children, request.Owner, rendering.Task{
		Verb: rendering.TaskDefinitions, Chart: request.Chart.packed, Values: request.Values, Secrets: secretsOf(request),
	}, nil)
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
func applyDefinition(ctx context.Context, c client.Client, wanted *unstructured.Unstructured, policy CRDPolicy) (bool, error) {
	owner := client.FieldOwner(kube.ManagedFieldsManager)
	err := c.Create(ctx, wanted.DeepCopy(), owner)
	if !apierrors.IsAlreadyExists(err) {
		return err == nil, err
	}
	if policy != CRDsCreateReplace || wanted.GetKind() != definitionKind {
		return false, nil
	}
	for range maxLostRaces {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(wanted.GroupVersionKind())
		if err := c.Get(ctx, types.NamespacedName{Name: wanted.GetName()}, live); err != nil {
			return false, err
		}
		live.SetLabels(joined(live.GetLabels(), wanted.GetLabels()))
		live.SetAnnotations(joined(live.GetAnnotations(), wanted.GetAnnotations()))
		live.Object["spec"] = wanted.Object["spec"]
		// The UID and the version that were read go along.
		err := c.Update(ctx, live, owner)
		if !apierrors.IsConflict(err) {
			return err == nil, err
		}
	}
	return false, errors.New("it changes all the time")
}

func joined(base, over map[string]string) map[string]string {
	if len(over) == 0 {
		return base
	}
	all := maps.Clone(base)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, over)
	return all
}

// awaitDefinitions returns when the cluster serves the kinds of definitions.
func (o *operation) awaitDefinitions(definitions []map[string]any) error {
	if len(definitions) == 0 {
		return nil
	}
	manifest, err := rendering.WriteManifest(definitions)
	if err != nil {
		return err
	}
	built, err := o.KubeClient.Build(bytes.NewReader(manifest.Bytes()), false)
	if err != nil {
		return err
	}
	return o.KubeClient.Wait(built, definitionTime)
}
