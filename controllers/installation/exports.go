// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const (
	// reasonExportNotFound says that what deploy items exported is gone.
	reasonExportNotFound = "ExportNotFound"
	// reasonInvalidExport says that what deploy items or sub-installations exported is not what it has to be.
	reasonInvalidExport = "InvalidExport"
)

// publishExports computes the exports and writes them into the scope of the parent. Former exports stay until they are replaced,
// and are deleted once the Installation does not export them any more.
func (r *Reconciler) publishExports(ctx context.Context, s *scope) error {
	written := map[string]client.Object{}
	if len(s.inst.Spec.Exports.Data)+len(s.inst.Spec.Exports.Targets) > 0 {
		exports, err := r.computeExports(ctx, s)
		if err != nil {
			return err
		}
		if err := r.writeExports(ctx, s, exports, written); err != nil {
			return err
		}
	}
	if err := r.deleteFormerExports(ctx, s, written); err != nil {
		return err
	}
	return r.awaitShown(ctx, s, written)
}

// computeExports runs the export executions with the imports as they are now.
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
	exports, stored, renderErr := r.Inputs.ChildRenderer().Exports(ctx, env, s.plan.values, *seen, previous)
	if err := r.writeState(ctx, s.inst, exportState, previous, stored); err != nil {
		return nil, err
	}
	if renderErr != nil {
		return nil, inputs.RenderingFailed(ctx, shown, jobs.ExportOperation, renderErr)
	}
	if err := exports.Check(s.inst.Spec.Exports); err != nil {
		return nil, inputs.RenderFailure(jobs.ExportOperation, err)
	}
	return exports, s.Reach.CheckExports(exports)
}

// recollect finds inputs and values again when this reconciliation has not needed them so far: in memory, or after a restart by reading them.
// That leaves no trace in the status, which keeps what the children were made from.
func (r *Reconciler) recollect(ctx context.Context, s *scope) error {
	if s.plan != nil || r.recall(s) {
		return nil
	}
	found, err := r.Inputs.Read(ctx, s.inst.DeepCopy(), s.now, s.clusters)
	s.adopt(found)
	return err
}

// exportInputs reads what export executions see: exports of deploy items, and the data and targets in the own scope.
func (r *Reconciler) exportInputs(ctx context.Context, s *scope) (*render.ExportInputs, error) {
	inputs := &render.ExportInputs{
		DeployItems: map[string]any{}, DataObjects: map[string]any{}, Targets: map[string]any{}, Mappings: s.inst.Spec.ExportDataMappings,
	}
	if err := r.readDeployItemExports(ctx, s, inputs); err != nil {
		return nil, err
	}
	var held data.Allowance
	if err := r.readDataOfScope(ctx, s, inputs, &held); err != nil {
		return nil, err
	}
	return inputs, r.readTargetsOfScope(ctx, s, inputs, &held)
}

func (r *Reconciler) readDataOfScope(ctx context.Context, s *scope, inputs *render.ExportInputs, held *data.Allowance) error {
	own := client.MatchingFields{data.ScopeIndex: kit.InstallationScope(s.inst.Name)}
	data := &v1alpha1.DataObjectList{}
	if err := r.List(ctx, data, client.InNamespace(s.inst.Namespace), own); err != nil {
		return err
	}
	for i := range data.Items {
		if s.exportedByOrphan(data.Items[i].Labels) {
			continue
		}
		var value any
		if raw := data.Items[i].Data.RawMessage; len(raw) > 0 {
			if err := json.Unmarshal(raw, &value); err != nil {
				return kit.Stall(jobs.ExportOperation, reasonInvalidExport, "DataObject %s: data is not JSON", client.ObjectKeyFromObject(&data.Items[i]))
			}
		}
		if err := held.Hold(value); err != nil {
			return tooMuch("DataObject", &data.Items[i], err)
		}
		inputs.DataObjects[data.Items[i].Labels[v1alpha1.DataObjectKeyLabel]] = value
	}
	return nil
}

// tooMuch says that export executions would have to see more than a reconciliation may hold.
func tooMuch(kind string, object client.Object, err error) error {
	return kit.Stall(jobs.ExportOperation, reasonInvalidExport, "%s %s: %w", kind, client.ObjectKeyFromObject(object), err)
}

func (r *Reconciler) readTargetsOfScope(ctx context.Context, s *scope, inputs *render.ExportInputs, held *data.Allowance) error {
	own := client.MatchingFields{data.ScopeIndex: kit.InstallationScope(s.inst.Name)}
	targets := &v1alpha1.TargetList{}
	if err := r.List(ctx, targets, client.InNamespace(s.inst.Namespace), own); err != nil {
		return err
	}
	for i := range targets.Items {
		if data.Retired(&targets.Items[i]) || s.exportedByOrphan(targets.Items[i].Labels) {
			continue
		}
		targets.Items[i].Status = v1alpha1.TargetStatus{}
		shown, err := data.JSONLike(&targets.Items[i])
		if err != nil {
			return err
		}
		if err := held.Hold(shown); err != nil {
			return tooMuch("Target", &targets.Items[i], err)
		}
		inputs.Targets[targets.Items[i].Labels[v1alpha1.DataObjectKeyLabel]] = shown
	}
	return nil
}

// readDeployItemExports reads what the Execution collected. It writes that before it ends its job, so what is missing or broken now comes with the next
// job only.
func (r *Reconciler) readDeployItemExports(ctx context.Context, s *scope, inputs *render.ExportInputs) error {
	if s.execution == nil || s.execution.Status.ExportReference == nil {
		return nil
	}
	object := &v1alpha1.DataObject{}
	key := client.ObjectKey{Namespace: s.inst.Namespace, Name: s.execution.Status.ExportReference.Name}
	if err := r.Live.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return kit.Stall(jobs.ExportOperation, reasonExportNotFound, "DataObject %s with the exports of execution %s does not exist; run the job again",
			key, s.execution.Name)
	} else if err != nil {
		return fmt.Errorf("read exports of execution %s from DataObject %s: %w", s.execution.Name, key, err)
	}
	if err := json.Unmarshal(object.Data.RawMessage, &inputs.DeployItems); err != nil {
		return kit.Stall(jobs.ExportOperation, reasonInvalidExport, "DataObject %s: data is not a map of deploy items; run the job again", key)
	}
	return nil
}

func (r *Reconciler) writeExports(ctx context.Context, s *scope, exports *render.ExportValues, written map[string]client.Object) error {
	for _, export := range s.inst.Spec.Exports.Data {
		raw, err := json.Marshal(exports.Data[export.Name])
		if err != nil {
			return fmt.Errorf("encode export %q: %w", export.Name, err)
		}
		data := v1alpha1.NewAnyJSON(raw)
		object := &v1alpha1.DataObject{ObjectMeta: exportMeta(s, export.DataRef, kit.DataHash(data)), Data: data}
		written["DataObject/"+object.Name] = object
		if err := r.writeExport(ctx, s, object, &v1alpha1.DataObject{}, "DataObject"); err != nil {
			return err
		}
	}
	for _, export := range s.inst.Spec.Exports.Targets {
		object, err := exportedTarget(s, export, exports.Targets[export.Name])
		if err != nil {
			return err
		}
		written["Target/"+object.Name] = object
		if err := r.writeExport(ctx, s, object, &v1alpha1.Target{}, "Target"); err != nil {
			return err
		}
	}
	return nil
}

func exportedTarget(s *scope, export v1alpha1.TargetExport, template render.TargetTemplate) (*v1alpha1.Target, error) {
	raw, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encode target export %q: %w", export.Name, err)
	}
	object := &v1alpha1.Target{
		ObjectMeta: exportMeta(s, export.Target, kit.DataHash(v1alpha1.NewAnyJSON(raw))),
		Spec: v1alpha1.TargetSpec{
			Type: template.Type, Configuration: template.Configuration, SecretRef: template.SecretRef, ServiceAccountName: template.ServiceAccountName,
		},
	}
	for key, value := range template.Labels {
		if _, own := object.Labels[key]; !own {
			object.Labels[key] = value
		}
	}
	for key, value := range template.Annotations {
		if _, own := object.Annotations[key]; !own {
			object.Annotations[key] = value
		}
	}
	return object, nil
}

func exportMeta(s *scope, key, hash string) metav1.ObjectMeta {
	scope := relations.ScopeOf(s.inst)
	labels := map[string]string{
		v1alpha1.DataObjectSourceLabel: kit.InstallationScope(s.inst.Name), v1alpha1.DataObjectSourceTypeLabel: v1alpha1.DataObjectSourceExport,
		v1alpha1.DataObjectKeyLabel: key, v1alpha1.DataObjectJobIDLabel: s.inst.Status.JobID,
	}
	if scope != "" {
		labels[v1alpha1.DataObjectContextLabel] = scope
	}
	return metav1.ObjectMeta{
		Name: kit.DataName(scope, key), Namespace: s.inst.Namespace, Labels: labels,
		Annotations: map[string]string{v1alpha1.HashAnnotation: hash},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation", Name: s.inst.Name, UID: s.inst.UID,
		}},
	}
}

// writeExport creates or replaces one export, unless another Installation exports it.
func (r *Reconciler) writeExport(ctx context.Context, s *scope, object, existing client.Object, kind string) error {
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(object), existing)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil {
		existing = nil
	}
	switch data.PublicationOf(s.inst, object, existing) {
	case data.PublishNew:
		return r.create(ctx, object)
	case data.PublishInstead:
		return r.replace(ctx, object, existing)
	case data.PublishAfter:
		return r.succeedExport(ctx, object, existing)
	case data.PublishForOther:
		return r.claimExport(ctx, s, object, existing, kind)
	}
	return nil
}

// claimExport takes over an export that another Installation owns and does not export any more.
func (r *Reconciler) claimExport(ctx context.Context, s *scope, object, existing client.Object, kind string) error {
	reference := data.OtherOwner(existing, s.inst)
	owner, err := r.readOwner(ctx, s.inst.Namespace, reference)
	if err != nil {
		return err
	}
	parent, err := r.related.Parent(ctx, s.inst)
	if err != nil {
		return err
	}
	switch jobs.ClaimOf(s.inst, parent, owner, kind+"/"+object.GetName()) {
	case jobs.Abandoned:
		return r.succeed(ctx, object, existing)
	case jobs.Inherited:
		return r.replace(ctx, object, existing)
	case jobs.Early:
		return apierrors.NewConflict(schema.GroupResource{Group: v1alpha1.GroupName, Resource: "installations"}, reference.Name,
			errors.New("its parent has not written its spec yet"))
	}
	return kit.Stall(jobs.ExportOperation, jobs.ReasonExportOwnedByOther,
		"spec.exports: %s %s is already exported by installation %s; change one of the two exports", kind, object.GetName(), reference.Name)
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
func (r *Reconciler) deleteFormerExports(ctx context.Context, s *scope, written map[string]client.Object) error {
	own := client.MatchingFields{data.ExporterIndex: kit.InstallationScope(s.inst.Name)}
	for kind, list := range map[string]client.ObjectList{"DataObject": &v1alpha1.DataObjectList{}, "Target": &v1alpha1.TargetList{}} {
		if err := r.List(ctx, list, client.InNamespace(s.inst.Namespace), own); err != nil {
			return err
		}
		for _, object := range kit.ItemsOf(list) {
			if written[kind+"/"+object.GetName()] != nil || !data.OwnedByUID(object, s.inst) {
				continue
			}
			if err := r.deleteExport(ctx, s.inst, object); err != nil {
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
	if data.OtherOwner(object, inst) != nil || !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if _, ok := object.(*v1alpha1.Target); ok {
		err := kit.PatchMetadata(ctx, r.Client, object, kit.MetadataChange{AddFinalizer: v1alpha1.InUseFinalizer})
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		r.targets.Wrote(object)
	}
	uid, version := object.GetUID(), object.GetResourceVersion()
	return client.IgnoreNotFound(r.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version}))
}

// succeedExport replaces a former export that is only kept for uninstalling: the new one serves for that as well.
func (r *Reconciler) succeedExport(ctx context.Context, object, former client.Object) error {
	err := kit.PatchMetadata(ctx, r.Client, former, kit.MetadataChange{RemoveFinalizer: v1alpha1.InUseFinalizer})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	return r.create(ctx, object)
}
