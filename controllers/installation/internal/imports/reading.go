// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// reading is what one Collect has read from caches, each object once, however many imports lead to it. Objects are shared with the caches and must not be
// changed.
type reading struct {
	cache client.Reader
	inst  *v1alpha1.Installation
	// dataObjects and targets are those that may be imported, by name.
	dataObjects map[string]*v1alpha1.DataObject
	targets     map[string]*v1alpha1.Target
	// owners are Installations by name.
	owners map[string]owner
	// deployed says by name of a DeployItem whether it deploys for the Installation.
	deployed map[string]bool
	// ofParent are the Targets that the parent imports, by name of its import; nil until they are listed.
	ofParent map[string][]*v1alpha1.Target
}

// owner is what matters of an Installation that owns something. One that does not exist has no UID.
type owner struct {
	uid    types.UID
	parent string
}

func newReading(cache client.Reader, inst *v1alpha1.Installation) *reading {
	return &reading{
		cache: cache, inst: inst, dataObjects: map[string]*v1alpha1.DataObject{}, targets: map[string]*v1alpha1.Target{},
		owners: map[string]owner{}, deployed: map[string]bool{},
	}
}

// goesOn fails once the context has ended: caches do not ask it. That says nothing of an import.
func goesOn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return unreadImport{err}
	}
	return nil
}

// get reads an object of the namespace without a copy.
func (r *reading) get(ctx context.Context, name string, into client.Object) error {
	return r.cache.Get(ctx, client.ObjectKey{Namespace: r.inst.Namespace, Name: name}, into, client.UnsafeDisableDeepCopy)
}

// keyOf is the object that an import names.
func (r *reading) keyOf(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: r.inst.Namespace, Name: kit.DataName(relations.ScopeOf(r.inst), name)}
}

// missing is the function of this name for what an import calls a name.
func (r *reading) missing(err error, kind string, key client.ObjectKey, field, name string) error {
	err = missing(err, kind, key, field)
	if lacking, ok := errors.AsType[*absent](err); ok && !r.inst.IsRoot() && key.Name != strings.TrimPrefix(name, "#") {
		lacking.export, lacking.parent = name, relations.ParentOf(r.inst)
	}
	return err
}

// dataObject returns a DataObject by what an import calls it.
func (r *reading) dataObject(ctx context.Context, name string) (*v1alpha1.DataObject, error) {
	if known := r.dataObjects[name]; known != nil {
		return known, nil
	}
	object, key := &v1alpha1.DataObject{}, r.keyOf(name)
	if err := r.get(ctx, key.Name, object); err != nil {
		return nil, r.missing(err, "DataObject", key, "dataRef", name)
	}
	if err := r.checkSource(ctx, object, "DataObject"); err != nil {
		return nil, err
	}
	r.dataObjects[name] = object
	return object, nil
}

// target returns a Target by what an import calls it.
func (r *reading) target(ctx context.Context, name string) (*v1alpha1.Target, error) {
	if known := r.targets[name]; known != nil {
		return known, nil
	}
	object, key := &v1alpha1.Target{}, r.keyOf(name)
	if err := r.get(ctx, key.Name, object); err != nil {
		return nil, r.missing(err, "Target", key, "target", name)
	}
	if err := r.checkSource(ctx, object, "Target"); err != nil {
		return nil, err
	}
	if data.IsFormerExport(object) {
		return nil, fmt.Errorf("the Target %s is not exported any more and only kept to uninstall what was deployed there; "+
			"export it again or change target", key)
	}
	r.targets[name] = object
	return object, nil
}

// targetsOfParent returns the Targets that the parent imports in a scope, by name of its import.
func (r *reading) targetsOfParent(ctx context.Context, scope string) (map[string][]*v1alpha1.Target, error) {
	if r.ofParent != nil {
		return r.ofParent, nil
	}
	list := &v1alpha1.TargetList{}
	err := r.cache.List(ctx, list, client.InNamespace(r.inst.Namespace), client.MatchingFields{data.ScopeIndex: scope}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, err
	}
	r.ofParent = map[string][]*v1alpha1.Target{}
	for i := range list.Items {
		target := &list.Items[i]
		if target.Labels[v1alpha1.DataObjectSourceTypeLabel] == v1alpha1.DataObjectSourceImport && !data.Retired(target) {
			name := target.Labels[v1alpha1.DataObjectKeyLabel]
			r.ofParent[name] = append(r.ofParent[name], target)
		}
	}
	return r.ofParent, nil
}

// owner returns an Installation by its name.
func (r *reading) owner(ctx context.Context, name string) (owner, error) {
	if known, ok := r.owners[name]; ok {
		return known, nil
	}
	inst := &v1alpha1.Installation{}
	err := r.get(ctx, name, inst)
	if client.IgnoreNotFound(err) != nil {
		return owner{}, err
	}
	found := owner{}
	if err == nil {
		found = owner{inst.UID, relations.ParentOf(inst)}
	}
	r.owners[name] = found
	return found, nil
}

// checkSource refuses what an Installation that does not exist any more has exported: it is about to go.
func (r *reading) checkSource(ctx context.Context, object client.Object, kind string) error {
	reference := data.OtherOwner(object, r.inst)
	if reference == nil || !r.inst.IsRoot() && reference.Name == relations.ParentOf(r.inst) {
		return nil
	}
	source, err := r.owner(ctx, reference.Name)
	if err != nil {
		return err
	}
	if source.uid == "" || source.uid != reference.UID {
		return fmt.Errorf("%s %s was exported by installation %s, which does not exist any more; install it again or change the reference",
			kind, client.ObjectKeyFromObject(object), reference.Name)
	}
	return nil
}

// deploys reports whether a deploy item of the Installation, or of one below it, deploys an object that it imports, as the labels of the object
// say. What such an import holds is an outcome of the Installation's own jobs, as an own export is.
func (r *reading) deploys(ctx context.Context, labels map[string]string) (bool, error) {
	name := labels[v1alpha1.ManifestDeployItemLabel]
	if name == "" {
		return false, nil
	}
	own, known := r.deployed[name]
	if known {
		return own, nil
	}
	own, err := r.isOwn(ctx, name)
	if err == nil {
		r.deployed[name] = own
	}
	return own, err
}

// isOwn reports whether the Installation, or one below it, has a DeployItem. Owners of others' making may form a circle, or a line without end.
func (r *reading) isOwn(ctx context.Context, name string) (bool, error) {
	item := &v1alpha1.DeployItem{}
	if err := r.get(ctx, name, item); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	execution := kit.ControllerOf(item, "Execution")
	if execution == nil {
		return false, nil
	}
	above := execution.Name // an Execution has the name of its Installation
	for range relations.MaxDepth {
		if above == "" || above == r.inst.Name {
			return above != "", nil
		}
		current, err := r.owner(ctx, above)
		if err != nil {
			return false, err
		}
		above = current.parent
	}
	return false, nil
}
