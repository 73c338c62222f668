// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/children"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/plan"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/sensitive"
)

// PublishImports copies the imports of the blueprint into the scope of the Installation, where sub-installations and export
// executions find them. Copies that are as wanted already are left alone; copies of former imports are deleted.
func (b *Publisher) PublishImports(ctx context.Context, p *plan.Plan, f *children.Family) error {
	copies, err := wantedCopies(p)
	if err != nil {
		return err
	}
	written := map[string]client.Object{}
	for _, object := range copies {
		written[object.GetName()] = object
		if err := b.publish(ctx, p.Inst, object); err != nil {
			return err
		}
	}
	if err := b.retireFormerCopies(ctx, f, written); err != nil || len(p.Subinstallations) == 0 {
		return err
	}
	return b.awaitShown(ctx, p.Alarm, written)
}

// publish creates a copy, or replaces one that has other content or belongs to a former Installation of the name.
func (b *Publisher) publish(ctx context.Context, inst *v1alpha1.Installation, object client.Object) error {
	var existing client.Object = &v1alpha1.DataObject{}
	if _, isTarget := object.(*v1alpha1.Target); isTarget {
		existing = &v1alpha1.Target{}
	}
	err := b.Get(ctx, client.ObjectKeyFromObject(object), existing)
	if apierrors.IsNotFound(err) {
		err = b.create(ctx, object)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		err = b.Live.Get(ctx, client.ObjectKeyFromObject(object), existing)
	}
	if err == nil && b.written(object).Stale(existing) {
		err = b.Live.Get(ctx, client.ObjectKeyFromObject(object), existing)
	}
	if err != nil {
		return err
	}
	if data.OwnedByUID(existing, inst) && data.SameContent(existing, object) {
		return b.keep(ctx, object, existing)
	}
	if data.OtherOwner(existing, inst) != nil {
		return b.succeed(ctx, object, existing)
	}
	return b.replace(ctx, object, existing)
}

// succeed creates an object in place of one that belongs to somebody else and is about to be collected as garbage: what replaced its content
// would be collected, too.
func (b *Publisher) succeed(ctx context.Context, object, garbage client.Object) error {
	if err := kit.DeleteLive(ctx, b.Live, b.Client, garbage, nil); err != nil {
		return err
	}
	return b.create(ctx, object)
}

// retireFormerCopies deletes the copies of imports that the blueprint does not have any more. Targets that sub-installations may still use
// are only marked. What it touched counts as written: no sub-installation may start from a cache that still shows it as an import. It touches
// nothing once a sub-installation has the running job, and with it the spec of before that may import them: the job that follows does.
func (b *Publisher) retireFormerCopies(ctx context.Context, f *children.Family, written map[string]client.Object) error {
	if f.SomeChildHasJob() {
		return nil
	}
	copies, err := b.copies(ctx, f.Inst)
	if err != nil {
		return err
	}
	mark := f.Inst.Status.JobID
	for _, object := range copies {
		if written[object.GetName()] != nil {
			continue
		}
		object = object.DeepCopyObject().(client.Object)
		if _, isTarget := object.(*v1alpha1.Target); !isTarget || len(f.Children) == 0 {
			err = kit.DeleteLive(ctx, b.Live, b.Client, object, b.written(object))
		} else if !data.Retired(object) {
			err = b.retire(ctx, object, mark)
		}
		if err != nil {
			return err
		}
		written[object.GetName()] = object
	}
	return nil
}

func (b *Publisher) retire(ctx context.Context, object client.Object, mark string) error {
	change := kit.MetadataChange{Annotations: map[string]*string{data.RetiredAnnotation: &mark}}
	if err := kit.PatchMetadata(ctx, b.Client, object, change); err != nil {
		return err
	}
	b.written(object).Wrote(object)
	return nil
}

// DeleteRetiredCopies deletes what retireFormerCopies has marked.
func (b *Publisher) DeleteRetiredCopies(ctx context.Context, p *plan.Plan) error {
	if p.Inst.Status.SubInstCache == nil {
		return nil
	}
	copies, err := b.copies(ctx, p.Inst)
	if err != nil {
		return err
	}
	for _, object := range copies {
		if !data.Retired(object) {
			continue
		}
		if err := kit.DeleteLive(ctx, b.Live, b.Client, object.DeepCopyObject().(client.Object), nil); err != nil {
			return err
		}
	}
	return nil
}

// copies returns the imports in the own scope as the cache has them, with which they are shared: they must not be changed. An object that only has the
// labels belongs to whoever made it.
func (b *Publisher) copies(ctx context.Context, inst *v1alpha1.Installation) ([]client.Object, error) {
	own := client.MatchingFields{data.ScopeIndex: kit.InstallationScope(inst.Name)}
	var copies []client.Object
	for _, list := range []client.ObjectList{&v1alpha1.DataObjectList{}, &v1alpha1.TargetList{}} {
		if err := b.List(ctx, list, client.InNamespace(inst.Namespace), own, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		for _, object := range kit.ItemsOf(list) {
			if object.GetLabels()[v1alpha1.DataObjectSourceTypeLabel] == v1alpha1.DataObjectSourceImport && data.OwnedByUID(object, inst) {
				copies = append(copies, object)
			}
		}
	}
	return copies, nil
}

// HasCopies reports whether the copies of all imports are there as they are wanted, and no others.
func (b *Publisher) HasCopies(ctx context.Context, p *plan.Plan) (bool, error) {
	copies, err := b.copies(ctx, p.Inst)
	if err != nil {
		return false, err
	}
	wanted, err := wantedCopies(p)
	if err != nil || !sameContents(slices.DeleteFunc(copies, data.Retired), wanted) {
		return false, err
	}
	for _, object := range wanted {
		if value, ok := object.(*v1alpha1.DataObject); ok {
			if kept, err := sensitive.IsKept(ctx, b.Live, value); err != nil || !kept {
				return false, err
			}
		}
	}
	return true, nil
}

// sameContents reports whether two sets of managed objects are the same by name and content.
func sameContents(has, wanted []client.Object) bool {
	byName := map[string]client.Object{}
	for _, object := range has {
		byName[object.GetName()] = object
	}
	return len(has) == len(wanted) && !slices.ContainsFunc(wanted, func(object client.Object) bool {
		present := byName[object.GetName()]
		return present == nil || !data.SameContent(present, object)
	})
}
