// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// publishImports copies the imports of the blueprint into the scope of the Installation, where sub-installations and export
// executions find them. Copies that are as wanted already are left alone; copies of former imports are deleted.
func (r *Reconciler) publishImports(ctx context.Context, s *scope) error {
	copies, err := s.wantedCopies()
	if err != nil {
		return err
	}
	written := map[string]client.Object{}
	for _, object := range copies {
		written[object.GetName()] = object
		if err := r.publish(ctx, s.inst, object); err != nil {
			return err
		}
	}
	if err := r.retireFormerCopies(ctx, s, written); err != nil || len(s.plan.subinstallations) == 0 {
		return err
	}
	return r.awaitShown(ctx, s, written)
}

// publish creates a copy, or replaces one that has other content or belongs to a former Installation of the name.
func (r *Reconciler) publish(ctx context.Context, inst *v1alpha1.Installation, object client.Object) error {
	var existing client.Object = &v1alpha1.DataObject{}
	if _, isTarget := object.(*v1alpha1.Target); isTarget {
		existing = &v1alpha1.Target{}
	}
	err := r.Get(ctx, client.ObjectKeyFromObject(object), existing)
	if apierrors.IsNotFound(err) {
		err = r.create(ctx, object)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		err = r.Live.Get(ctx, client.ObjectKeyFromObject(object), existing)
	}
	if err == nil && r.written(object).Stale(existing) {
		err = r.Live.Get(ctx, client.ObjectKeyFromObject(object), existing)
	}
	if err != nil || data.OwnedByUID(existing, inst) && data.SameContent(existing, object) {
		return err
	}
	if data.OtherOwner(existing, inst) != nil {
		return r.succeed(ctx, object, existing)
	}
	return r.replace(ctx, object, existing)
}

// succeed creates an object in place of one that belongs to somebody else and is about to be collected as garbage: what replaced its content
// would be collected, too.
func (r *Reconciler) succeed(ctx context.Context, object, garbage client.Object) error {
	if err := kit.DeleteLive(ctx, r.Live, r.Client, garbage, nil); err != nil {
		return err
	}
	return r.create(ctx, object)
}

// retireFormerCopies deletes the copies of imports that the blueprint does not have any more. Targets that sub-installations may still use
// are only marked. What it touched counts as written: no sub-installation may start from a cache that still shows it as an import. It touches
// nothing once a sub-installation has the running job, and with it the spec of before that may import them: the job that follows does.
func (r *Reconciler) retireFormerCopies(ctx context.Context, s *scope, written map[string]client.Object) error {
	if s.someChildHasJob() {
		return nil
	}
	copies, err := r.copies(ctx, s)
	if err != nil {
		return err
	}
	mark := s.inst.Status.JobID
	for _, object := range copies {
		if written[object.GetName()] != nil {
			continue
		}
		if _, isTarget := object.(*v1alpha1.Target); !isTarget || len(s.children) == 0 {
			err = kit.DeleteLive(ctx, r.Live, r.Client, object, r.written(object))
		} else if !data.Retired(object) {
			err = r.retire(ctx, object, mark)
		}
		if err != nil {
			return err
		}
		written[object.GetName()] = object
	}
	return nil
}

func (r *Reconciler) retire(ctx context.Context, object client.Object, mark string) error {
	change := kit.MetadataChange{Annotations: map[string]*string{data.RetiredAnnotation: &mark}}
	if err := kit.PatchMetadata(ctx, r.Client, object, change); err != nil {
		return err
	}
	r.written(object).Wrote(object)
	return nil
}

// deleteRetiredCopies deletes what retireFormerCopies has marked.
func (r *Reconciler) deleteRetiredCopies(ctx context.Context, s *scope) error {
	if s.inst.Status.SubInstCache == nil {
		return nil
	}
	copies, err := r.copies(ctx, s)
	if err != nil {
		return err
	}
	for _, object := range copies {
		if !data.Retired(object) {
			continue
		}
		if err := kit.DeleteLive(ctx, r.Live, r.Client, object, nil); err != nil {
			return err
		}
	}
	return nil
}

// copies returns the imports in the own scope as the cache has them. An object that only has the labels belongs to whoever made it.
func (r *Reconciler) copies(ctx context.Context, s *scope) ([]client.Object, error) {
	own := client.MatchingFields{data.ScopeIndex: kit.InstallationScope(s.inst.Name)}
	var copies []client.Object
	for _, list := range []client.ObjectList{&v1alpha1.DataObjectList{}, &v1alpha1.TargetList{}} {
		if err := r.List(ctx, list, client.InNamespace(s.inst.Namespace), own); err != nil {
			return nil, err
		}
		for _, object := range kit.ItemsOf(list) {
			if object.GetLabels()[v1alpha1.DataObjectSourceTypeLabel] == v1alpha1.DataObjectSourceImport && data.OwnedByUID(object, s.inst) {
				copies = append(copies, object)
			}
		}
	}
	return copies, nil
}
