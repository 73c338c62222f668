// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// floorNamespace is where the floor is written. Our programs do not run meanwhile.
const floorNamespace = "bench-floor"

// floorResult is how fast the same servers take the writes of the units when nothing stands between them.
type floorResult struct {
	Units         int      `json:"units"`
	Writes        int      `json:"writes"`
	WritesPerUnit int      `json:"writesPerUnit"`
	Wall          float64  `json:"wallSeconds"`
	Rate          float64  `json:"writesPerSecond"`
	CPUPerWrite   float64  `json:"cpuMillisecondsPerWrite"` // of all processes, the writer included
	Order         []string `json:"order"`
}

// pattern holds the objects of one finished unit: the floor writes objects of their kinds and sizes.
type pattern struct {
	installation, execution, item, deployed, event *unstructured.Unstructured
	copies                                         []*unstructured.Unstructured
}

// readPattern reads the objects of unit 0.
func (r *run) readPattern(ctx context.Context) (*pattern, error) {
	name, namespace := r.units.Name(0), r.units.Namespace
	p := &pattern{
		installation: ourObject("Installation", namespace, name), execution: ourObject("Execution", namespace, name),
		deployed: object(corev1.SchemeGroupVersion.WithKind("ConfigMap"), r.units.Deployed, name),
	}
	for _, obj := range []*unstructured.Unstructured{p.installation, p.execution, p.deployed} {
		if err := r.Client().Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return nil, err
		}
	}
	items, err := r.list(ctx, v1alpha1.GroupVersion.WithKind("DeployItem"), client.MatchingLabels{v1alpha1.ExecutionManagedByLabel: name})
	if err != nil || len(items) != 1 {
		return nil, fmt.Errorf("unit 0 has %d DeployItems: %w", len(items), err)
	}
	p.item = items[0]
	for _, kind := range []string{"Target", "DataObject"} {
		copies, err := r.list(ctx, v1alpha1.GroupVersion.WithKind(kind), client.MatchingLabels{v1alpha1.DataObjectContextLabel: "Inst." + name})
		if err != nil {
			return nil, err
		}
		p.copies = append(p.copies, copies...)
	}
	events, err := r.list(ctx, corev1.SchemeGroupVersion.WithKind("Event"), client.MatchingFields{"involvedObject.name": name})
	if len(events) > 0 {
		p.event = events[0]
	}
	return p, err
}

func (r *run) list(ctx context.Context, kind schema.GroupVersionKind, selector client.ListOption) ([]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := r.Client().List(ctx, list, client.InNamespace(r.units.Namespace), selector); err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects, nil
}

func ourObject(kind, namespace, name string) *unstructured.Unstructured {
	return object(v1alpha1.GroupVersion.WithKind(kind), namespace, name)
}

func object(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// A step is one write of the floor.
type step struct {
	name string
	do   func(ctx context.Context, c client.Client) error
}

// floor writes, for as many units and with so many writers at a time, what design.md lists write by write, with the harness's own create
// before it and the deployed object in between.
func (r *run) floor(p *pattern, units, writers int) floorResult {
	ctx, cancel := context.WithTimeout(r.b.Context(), phaseTimeout+time.Duration(units)*unitTimeout)
	defer cancel()
	writer, err := rig.NewClient(r.Cluster, floorUser)
	r.must("make the writer of the floor", err)
	r.must("make the namespace of the floor", r.Apply(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: floorNamespace}}))
	result := floorResult{Units: units}
	for _, s := range p.steps(0) {
		result.Order = append(result.Order, s.name)
	}
	begin, used := time.Now(), r.cpuOfAll()
	err = rig.Parallel(ctx, writers, units, func(ctx context.Context, i int) error {
		for _, s := range p.steps(i) {
			if err := s.do(ctx, writer); err != nil {
				return fmt.Errorf("%s of unit %d: %w", s.name, i, err)
			}
		}
		return nil
	})
	r.must("write the floor", err)
	result.Wall = time.Since(begin).Seconds()
	result.WritesPerUnit = len(result.Order)
	result.Writes = units * result.WritesPerUnit
	result.Rate = float64(result.Writes) / result.Wall
	result.CPUPerWrite = (r.cpuOfAll() - used) * 1000 / float64(result.Writes)
	sayf("%s: the floor took %.2f s for %d writes, %.0f writes per second", r.name, result.Wall, result.Writes, result.Rate)
	return result
}

// cpuOfAll returns the CPU seconds that all processes of the run have used so far.
func (r *run) cpuOfAll() float64 {
	total := programs.CPUSeconds(r.pid)
	for _, p := range r.processes() {
		total += programs.FamilySeconds(p.PID())
	}
	return total
}

// steps are the writes of floor unit i in their order.
func (p *pattern) steps(i int) []step {
	inst, exec, item := p.clone(p.installation, i), p.clone(p.execution, i), p.clone(p.item, i)
	steps := []step{create(inst), annotate(inst), status(p.installation, inst)}
	for _, one := range p.copies {
		steps = append(steps, create(p.clone(one, i)))
	}
	steps = append(steps,
		create(exec), status(p.execution, exec),
		create(item), status(p.item, item), status(p.item, item),
		create(p.clone(p.deployed, i)),
		status(p.item, item), status(p.execution, exec), status(p.installation, inst),
	)
	if p.event != nil {
		event := p.clone(p.event, i)
		_ = unstructured.SetNestedField(event.Object, floorNamespace, "involvedObject", "namespace")
		steps = append(steps, create(event))
	}
	return steps
}

// clone returns the object as it is created for floor unit i: without owners and finalizers, so that nobody has to act.
func (p *pattern) clone(from *unstructured.Unstructured, i int) *unstructured.Unstructured {
	obj := object(from.GroupVersionKind(), floorNamespace, fmt.Sprintf("%.40s-f%05d", from.GetName(), i))
	obj.SetLabels(from.GetLabels())
	obj.SetAnnotations(from.GetAnnotations())
	for key, value := range from.DeepCopy().Object {
		switch key {
		case "apiVersion", "kind", "metadata", "status":
		default:
			obj.Object[key] = value
		}
	}
	return obj
}

func create(obj *unstructured.Unstructured) step {
	return step{"create " + obj.GetKind(), func(ctx context.Context, c client.Client) error { return c.Create(ctx, obj) }}
}

func annotate(obj *unstructured.Unstructured) step {
	patch := []byte(`{"metadata":{"annotations":{"example.org/floor":"finalizer.landscaper.gardener.cloud"}}}`)
	return step{"patch " + obj.GetKind(), func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))
	}}
}

// status writes the status of the model. Every write differs from the one before, because an equal one would not reach etcd.
func status(model, obj *unstructured.Unstructured) step {
	return step{"status " + obj.GetKind(), func(ctx context.Context, c client.Client) error {
		content, _, _ := unstructured.NestedMap(model.Object, "status")
		content = maps.Clone(content)
		content["jobID"] = "floor-" + obj.GetResourceVersion()
		obj.Object["status"] = content
		return c.Status().Update(ctx, obj)
	}}
}
