// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// Concurrency that the programs have by default: ours by --concurrent, the Flux controllers by theirs.
const (
	ourConcurrency   = 16
	theirConcurrency = 4
)

// rivalTarget is the Target of our items: the cluster itself, as the Flux controllers have it.
const rivalTarget = "cluster"

// contender is a program that brings units to what objects of one kind say.
type contender struct {
	program string
	kind    schema.GroupVersionKind
	users   []string // whom its requests come from
	start   func(concurrency string) (*rig.Program, error)
	// spec says that a unit is to have a version.
	spec func(unit, version string) map[string]any
	// again makes the program work on a unit as it is.
	again func(ctx context.Context, obj *unstructured.Unstructured, token string) error
	// jobs says that whoever writes the objects also makes the program work on them, as an Execution does; it gives them a finalizer, too.
	jobs bool
	// handled says whether the program has done what the object and the token ask for.
	handled func(obj *unstructured.Unstructured, token string) (bool, error)
}

// ourDeployer is the deployer of ours with items of a type. Its Executions are played by the harness, which hands the jobs over.
func (r *rivalry) ourDeployer(program, itemType string, config func(unit, version string) any) contender {
	return contender{
		program: program, kind: v1alpha1.GroupVersion.WithKind("DeployItem"), users: []string{program, targetUser},
		jobs: true,
		start: func(concurrency string) (*rig.Program, error) {
			return rig.Start(r.Cluster, r.binary, program, nil, append(concurrencyFlag(concurrency), strings.Fields(options.programArgs)...)...)
		},
		spec: func(unit, version string) map[string]any {
			return map[string]any{"type": itemType, "target": map[string]any{"name": rivalTarget}, "config": config(unit, version)}
		},
		again: func(ctx context.Context, obj *unstructured.Unstructured, token string) error {
			return r.writer.Status().Patch(ctx, obj, mergePatch(map[string]any{
				"status": map[string]any{"jobID": token, "jobIDGenerationTime": metav1.Now()},
			}))
		},
		handled: func(obj *unstructured.Unstructured, token string) (bool, error) {
			item := &v1alpha1.DeployItem{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, item); err != nil {
				return false, err
			}
			ended := item.Status.JobIDFinished == token
			if ended && item.Status.Phase.IsFailed() {
				return false, fmt.Errorf("%s has failed: %v", item.Name, item.Status.LastError)
			}
			return ended && item.Status.Phase == v1alpha1.PhaseSucceeded, nil
		},
	}
}

// fluxController is a controller of Flux with objects of its kind.
func (r *rivalry) fluxController(component binaries.Component, kind schema.GroupVersionKind, spec func(unit, version string) map[string]any) contender {
	return contender{
		program: string(component), kind: kind, users: []string{string(component)}, spec: spec,
		start: func(concurrency string) (*rig.Program, error) {
			return rig.StartFlux(r.Cluster, r.flux.Path(component), component, concurrencyFlag(concurrency)...)
		},
		again: func(ctx context.Context, obj *unstructured.Unstructured, token string) error {
			return r.writer.Patch(ctx, obj, mergePatch(map[string]any{
				"metadata": map[string]any{"annotations": map[string]string{meta.ReconcileRequestAnnotation: token}},
			}))
		},
		handled: func(obj *unstructured.Unstructured, token string) (bool, error) {
			status, err := fluxStatusOf(obj)
			if err != nil {
				return false, err
			}
			conditions := status.Conditions
			if stalled := apimeta.FindStatusCondition(conditions, meta.StalledCondition); stalled != nil && stalled.Status == metav1.ConditionTrue {
				return false, fmt.Errorf("%s is stalled: %s", obj.GetName(), stalled.Message)
			}
			ready := apimeta.FindStatusCondition(conditions, meta.ReadyCondition)
			return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == obj.GetGeneration() &&
				status.ObservedGeneration == obj.GetGeneration() &&
				(token == "" || status.LastHandledReconcileAt == token) &&
				!apimeta.IsStatusConditionTrue(conditions, meta.ReconcilingCondition), nil
		},
	}
}

// fluxStatus is what all kinds of Flux say of their state.
type fluxStatus struct {
	ObservedGeneration     int64              `json:"observedGeneration"`
	LastHandledReconcileAt string             `json:"lastHandledReconcileAt"`
	Conditions             []metav1.Condition `json:"conditions"`
}

func fluxStatusOf(obj *unstructured.Unstructured) (status fluxStatus, err error) {
	fields, _, err := unstructured.NestedMap(obj.Object, "status")
	if err != nil {
		return status, err
	}
	return status, runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status)
}

func concurrencyFlag(concurrency string) []string {
	if concurrency == "" {
		return nil
	}
	return []string{"--concurrent=" + concurrency}
}

// mergePatch returns a merge patch with content that is known to be encodable.
func mergePatch(content map[string]any) client.Patch {
	raw, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	return client.RawPatch(types.MergePatchType, raw)
}

// object returns an empty object that both sides look for in the same namespace.
func (r *rivalry) object(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(rivalNamespace)
	obj.SetName(name)
	return obj
}

// helmContenders deploy the same charts from the same sources as releases of the same names.
func (r *rivalry) helmContenders() (ours, theirs contender) {
	chart := func(unit string) map[string]any { return map[string]any{"kind": "OCIRepository", "name": unit} }
	values := func(version string) map[string]any { return map[string]any{"version": version} }
	ours = r.ourDeployer(rig.HelmDeployer, v1alpha1.HelmDeployItemType, func(unit, version string) any {
		return map[string]any{
			"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
			"name": unit, "namespace": rivalDeployed, "chart": map[string]any{"sourceRef": chart(unit)}, "values": values(version),
		}
	})
	kind := schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
	theirs = r.fluxController(binaries.HelmController, kind, func(unit, version string) map[string]any {
		return map[string]any{
			"interval": rivalSourceLife, "releaseName": unit, "targetNamespace": rivalDeployed, "storageNamespace": rivalDeployed,
			"chartRef": chart(unit), "values": values(version),
		}
	})
	return ours, theirs
}

// manifestContenders deploy the same objects; ours by an update strategy, by default if it is empty. Both wait until they are ready.
func (r *rivalry) manifestContenders(strategy string) (ours, theirs contender) {
	ours = r.ourDeployer(rig.ManifestDeployer, v1alpha1.ManifestDeployItemType, func(unit, version string) any {
		var manifests []any
		for _, obj := range objectsOf(unit, rivalDeployed, version) {
			manifests = append(manifests, map[string]any{"policy": "manage", "manifest": manifestOf(obj)})
		}
		config := map[string]any{
			"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderConfiguration", "manifests": manifests,
		}
		if strategy != "" {
			config["updateStrategy"] = strategy
		}
		return config
	})
	kind := kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind)
	theirs = r.fluxController(binaries.KustomizeController, kind, func(unit, version string) map[string]any {
		return map[string]any{
			"interval": rivalSourceLife, "prune": true, "wait": true, "timeout": time.Minute.String(), "path": "./" + version,
			"sourceRef": map[string]any{"kind": "OCIRepository", "name": unit},
		}
	})
	return ours, theirs
}
