// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

const (
	// reasonExportNotFound says that what deploy items exported is gone.
	reasonExportNotFound = "ExportNotFound"
	// reasonInvalidExport says that what deploy items or sub-installations exported is not what it has to be.
	reasonInvalidExport = "InvalidExport"
)

// publishExports computes the exports and publishes them in the scope of the parent. Former exports stay until they are replaced, and are deleted once
// the Installation does not export them any more.
func (r *Reconciler) publishExports(ctx context.Context, s *scope) error {
	written := map[string]client.Object{}
	if s.exportsSomething() {
		exports, err := r.computeExports(ctx, s)
		if err != nil {
			return err
		}
		if err := r.writeExports(ctx, s, exports, written); err != nil {
			return err
		}
	}
	if err := r.deleteFormerExports(ctx, s.inst, written); err != nil {
		return err
	}
	return r.awaitShown(ctx, s, written)
}

// computeExports runs the export executions with the imports as they are now, and what the Execution has exported.
func (r *Reconciler) computeExports(ctx context.Context, s *scope) (*render.ExportValues, error) {
	if err := r.recollect(ctx, s); err != nil {
		return nil, err
	}
	seen, err := r.exportInputs(ctx, s)
	if err != nil {
		return nil, err
	}
	env, shown, err := inputs.Environment(s.inst, &s.Inputs, s.clusters)
	if err != nil {
		return nil, err
	}
	previous, err := r.readState(ctx, s.inst, exportState, env.Blueprint.ExportExecutions)
	if err != nil {
		return nil, err
	}
	exports, stored, renderErr := r.Inputs.Rendering().Exports(ctx, env, s.values, *seen, previous)
	if err := r.writeState(ctx, s.inst, exportState, previous, stored); err != nil {
		return nil, err
	}
	if renderErr != nil {
		return nil, inputs.RenderingFailed(ctx, shown, jobs.ExportOperation, renderErr)
	}
	if err := exports.Check(s.inst.Spec.Exports); err != nil {
		return nil, inputs.RenderFailure(jobs.ExportOperation, err)
	}
	return exports, s.Reach.CheckExports(ctx, exports)
}

// recollect finds inputs and values again when this reconciliation has not needed them so far: in memory, or after a restart by reading them.
// That leaves no trace in the status, which keeps what the children were made from.
func (r *Reconciler) recollect(ctx context.Context, s *scope) error {
	if s.content != nil {
		return nil
	}
	if kept, ok := r.kept.Recall(&s.Inputs, s.inst); ok {
		s.content, s.Blueprint, s.Component, s.Reach = kept.content, kept.blueprint, kept.component, kept.reach
		return nil
	}
	return r.readFor(ctx, s, s.inst.DeepCopy())
}

// exportInputs reads what export executions see: exports of deploy items, and the data and targets in the own scope.
func (r *Reconciler) exportInputs(ctx context.Context, s *scope) (*render.ExportInputs, error) {
	seen := &render.ExportInputs{DataObjects: map[string]any{}, Targets: map[string]any{}, Mappings: s.inst.Spec.ExportDataMappings}
	var err error
	if seen.DeployItems, err = r.readDeployItemExports(ctx, s.execution); err != nil {
		return nil, err
	}
	data, targets := &v1alpha1.DataObjectList{}, &v1alpha1.TargetList{}
	for _, list := range []client.ObjectList{data, targets} {
		own := client.MatchingFields{relations.ScopeIndex: storage.InstallationScope(s.inst.Name)}
		if err := r.List(ctx, list, client.InNamespace(s.inst.Namespace), own, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
	}
	for i := range data.Items {
		if exportedByOrphan(s.inst, data.Items[i].Labels) {
			continue
		}
		value, err := storage.Value(ctx, r.Live, &data.Items[i])
		if err != nil {
			return nil, notExported(err)
		}
		seen.DataObjects[data.Items[i].Labels[v1alpha1.DataObjectKeyLabel]] = value
	}
	for i := range targets.Items {
		if relations.Retired(&targets.Items[i]) || exportedByOrphan(s.inst, targets.Items[i].Labels) {
			continue
		}
		target := &v1alpha1.Target{ObjectMeta: targets.Items[i].ObjectMeta, Spec: targets.Items[i].Spec}
		target.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Target"))
		if seen.Targets[target.Labels[v1alpha1.DataObjectKeyLabel]], err = relations.JSONLike(target); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// readDeployItemExports reads what the Execution collected. It writes that before it ends its job, so what is missing or broken now comes with the next
// job only.
func (r *Reconciler) readDeployItemExports(ctx context.Context, execution *v1alpha1.Execution) (map[string]any, error) {
	if execution == nil || execution.Status.ExportReference == nil {
		return map[string]any{}, nil
	}
	object := &v1alpha1.DataObject{}
	key := client.ObjectKey{Namespace: execution.Namespace, Name: execution.Status.ExportReference.Name}
	if err := r.Live.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return nil, protocol.Stall(jobs.ExportOperation, reasonExportNotFound, "DataObject %s with the exports of execution %s does not exist; run the job again",
			key, execution.Name)
	} else if err != nil {
		return nil, fmt.Errorf("read exports of execution %s from DataObject %s: %w", execution.Name, key, err)
	}
	value, err := storage.Value(ctx, r.Live, object)
	items, isMap := value.(map[string]any)
	switch {
	case err != nil:
		return nil, notExported(err)
	case !isMap && value != nil:
		return nil, protocol.Stall(jobs.ExportOperation, reasonInvalidExport, "DataObject %s: data is no map of deploy items; run the job again", key)
	case items == nil:
		return map[string]any{}, nil
	}
	return items, nil
}

// notExported says why what export executions have to see cannot be read: it is gone or broken, or the API server does not give it now.
func notExported(err error) error {
	unread, ok := errors.AsType[*storage.Unread](err)
	switch {
	case ok && apierrors.IsNotFound(err):
		return protocol.Stall(jobs.ExportOperation, reasonExportNotFound, "Secret %s, which holds an export, does not exist; run the job again", unread.Secret)
	case ok:
		return err
	}
	return protocol.Stall(jobs.ExportOperation, reasonInvalidExport, "%w, or run the job again", err)
}

// exportedByOrphan reports whether a sub-installation that is not active any more exported an object of the own scope.
func exportedByOrphan(inst *v1alpha1.Installation, labels map[string]string) bool {
	if labels[v1alpha1.DataObjectSourceTypeLabel] != v1alpha1.DataObjectSourceExport {
		return false
	}
	return inst.Status.SubInstCache == nil || !slices.ContainsFunc(inst.Status.SubInstCache.ActiveSubs, func(pair v1alpha1.SubNamePair) bool {
		return storage.InstallationScope(pair.ObjectName) == labels[v1alpha1.DataObjectSourceLabel]
	})
}

func (r *Reconciler) writeExports(ctx context.Context, s *scope, exports *render.ExportValues, written map[string]client.Object) error {
	inst := s.inst
	write := func(object client.Object) error {
		written[relations.KeyOf(object)] = object
		return r.writeExport(ctx, inst, object)
	}
	for _, export := range inst.Spec.Exports.Data {
		raw, err := json.Marshal(exports.Data[export.Name])
		if err != nil {
			return fmt.Errorf("encode export %q: %w", export.Name, err)
		}
		data := v1alpha1.NewAnyJSON(raw)
		object := &v1alpha1.DataObject{ObjectMeta: metaOf(inst, v1alpha1.DataObjectSourceExport, relations.ScopeOf(inst), export.DataRef, storage.DataHash(data)), Data: data}
		if s.exportIsSensitive(export) {
			storage.MarkSensitive(object)
		}
		if err := write(object); err != nil {
			return err
		}
	}
	for _, export := range inst.Spec.Exports.Targets {
		object, err := exportedTarget(inst, export, exports.Targets[export.Name])
		if err != nil {
			return err
		}
		if err := write(object); err != nil {
			return err
		}
	}
	return nil
}

func exportedTarget(inst *v1alpha1.Installation, export v1alpha1.TargetExport, template render.TargetTemplate) (*v1alpha1.Target, error) {
	raw, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encode target export %q: %w", export.Name, err)
	}
	object := &v1alpha1.Target{
		ObjectMeta: metaOf(inst, v1alpha1.DataObjectSourceExport, relations.ScopeOf(inst), export.Target, storage.DataHash(v1alpha1.NewAnyJSON(raw))),
		Spec: v1alpha1.TargetSpec{
			Type: template.Type, Configuration: template.Configuration, SecretRef: template.SecretRef, ServiceAccountName: template.ServiceAccountName,
		},
	}
	addMissing(object.Labels, template.Labels)
	addMissing(object.Annotations, template.Annotations)
	return object, nil
}

// addMissing adds what a map does not have yet.
func addMissing(into, from map[string]string) {
	for key, value := range from {
		if _, own := into[key]; !own {
			into[key] = value
		}
	}
}

// writeExport creates or replaces one export, unless another Installation exports it. One that is only kept for uninstalling is replaced: the new
// one serves for that as well.
func (r *Reconciler) writeExport(ctx context.Context, inst *v1alpha1.Installation, object client.Object) error {
	existing := relations.EmptyOf(object)
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(object), existing)
	switch {
	case apierrors.IsNotFound(err):
		return r.createData(ctx, object)
	case err != nil:
		return err
	case !existing.GetDeletionTimestamp().IsZero():
		err := protocol.PatchMetadata(ctx, r.Client, existing, protocol.MetadataChange{RemoveFinalizer: v1alpha1.InUseFinalizer})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		return r.createData(ctx, object)
	case relations.OtherOwner(existing, inst) != nil:
		return r.claimExport(ctx, inst, object, existing)
	case relations.OwnedByUID(existing, inst) && relations.SameContent(existing, object):
		return r.keepValue(ctx, object, existing)
	}
	return r.replaceData(ctx, object, existing)
}

// claimExport takes over an export that another Installation owns and does not export any more.
func (r *Reconciler) claimExport(ctx context.Context, inst *v1alpha1.Installation, object, existing client.Object) error {
	reference := relations.OtherOwner(existing, inst)
	owner, err := r.readOwner(ctx, inst.Namespace, reference)
	if err != nil {
		return err
	}
	parent, err := r.related.Parent(ctx, inst)
	if err != nil {
		return err
	}
	switch jobs.ClaimOf(inst, parent, owner, relations.KeyOf(object)) {
	case jobs.Abandoned:
		return r.replaceGarbage(ctx, object, existing)
	case jobs.Inherited:
		return r.replaceData(ctx, object, existing)
	case jobs.Early:
		return apierrors.NewConflict(schema.GroupResource{Group: v1alpha1.GroupName, Resource: "installations"}, reference.Name,
			errors.New("its parent has not written its spec yet"))
	}
	return protocol.Stall(jobs.ExportOperation, jobs.ReasonExportOwnedByOther,
		"spec.exports: %s is already exported by installation %s; change one of the two exports", strings.Replace(relations.KeyOf(object), "/", " ", 1), reference.Name)
}

// readOwner reads an owner live, nil when it is gone.
func (r *Reconciler) readOwner(ctx context.Context, namespace string, owner *metav1.OwnerReference) (*v1alpha1.Installation, error) {
	inst := &v1alpha1.Installation{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: owner.Name}, inst)
	if apierrors.IsNotFound(err) || err == nil && inst.UID != owner.UID {
		return nil, nil
	}
	return inst, err
}

// deleteFormerExports deletes what an earlier job exported and this one does not. An object that only has the labels belongs to whoever made it.
func (r *Reconciler) deleteFormerExports(ctx context.Context, inst *v1alpha1.Installation, written map[string]client.Object) error {
	own := client.MatchingFields{relations.ExporterIndex: storage.InstallationScope(inst.Name)}
	for _, list := range []client.ObjectList{&v1alpha1.DataObjectList{}, &v1alpha1.TargetList{}} {
		if err := r.List(ctx, list, client.InNamespace(inst.Namespace), own, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		for _, object := range protocol.ItemsOf(list) {
			if written[relations.KeyOf(object)] != nil || !relations.OwnedByUID(object, inst) {
				continue
			}
			if err := r.deleteExport(ctx, inst, object.DeepCopyObject().(client.Object)); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteExport deletes a former export. A Target goes when the last DeployItem is gone that has to be uninstalled through it; that is watched
// where the finalizer is taken off again. What another Installation exports by now stays.
func (r *Reconciler) deleteExport(ctx context.Context, inst *v1alpha1.Installation, object client.Object) error {
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return client.IgnoreNotFound(err)
	}
	if relations.OtherOwner(object, inst) != nil || !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if _, ok := object.(*v1alpha1.Target); ok {
		if err := r.patch(ctx, object, protocol.MetadataChange{AddFinalizer: v1alpha1.InUseFinalizer}); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	uid, version := object.GetUID(), object.GetResourceVersion()
	return client.IgnoreNotFound(r.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version}))
}

// exportsAreFree reports whether the last job failed because of somebody else's exports, and now nobody holds any of those that the
// Installation wants to write.
func (r *Reconciler) exportsAreFree(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	if !jobs.LostToRival(inst) {
		return false, nil
	}
	others := map[string]*v1alpha1.Installation{}
	for _, key := range relations.ExportsOf(inst) {
		if err := ctx.Err(); err != nil { // the cache does not ask it
			return false, err
		}
		object, name := relations.ObjectOfKey(key)
		err := r.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: name}, object, client.UnsafeDisableDeepCopy)
		owner := relations.OtherOwner(object, inst)
		if err != nil || owner == nil || !object.GetDeletionTimestamp().IsZero() {
			if client.IgnoreNotFound(err) != nil {
				return false, err
			}
			continue
		}
		if others[owner.Name] == nil {
			others[owner.Name] = &v1alpha1.Installation{}
			err := r.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: owner.Name}, others[owner.Name], client.UnsafeDisableDeepCopy)
			if client.IgnoreNotFound(err) != nil {
				return false, err
			}
		}
		if other := others[owner.Name]; other.UID == owner.UID && slices.Contains(relations.ExportsOf(other), key) {
			return false, nil
		}
	}
	return true, nil
}

// lostExport returns an export that the last job of an idle Installation published for its present spec and that is gone; empty where all are
// there. The cache may be behind, so that what it does not show is looked for.
func (r *Reconciler) lostExport(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	if inst.Status.Phase != v1alpha1.PhaseSucceeded || inst.Status.ObservedGeneration != inst.Generation {
		return "", nil
	}
	for _, export := range relations.ExportsOf(inst) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		object, name := relations.ObjectOfKey(export)
		key := client.ObjectKey{Namespace: inst.Namespace, Name: name}
		err := r.Get(ctx, key, object, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) {
			err = r.Live.Get(ctx, key, object)
		}
		if apierrors.IsNotFound(err) {
			return strings.Replace(export, "/", " ", 1), nil
		}
		if err != nil {
			return "", err
		}
		if value, ok := object.(*v1alpha1.DataObject); ok && value.SecretReference != nil {
			if hash, err := storage.Hash(ctx, r.Live, value); err != nil || hash == "" {
				return "Secret " + value.SecretReference.Name, err
			}
		}
	}
	return "", nil
}
