// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

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
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/plan"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/sensitive"
)

// PublishExports writes the exports, nil where there are none, into the scope of the parent. Former exports stay until they are replaced,
// and are deleted once the Installation does not export them any more.
func (b *Publisher) PublishExports(ctx context.Context, p *plan.Plan, exports *render.ExportValues) error {
	written := map[string]client.Object{}
	if exports != nil {
		if err := b.writeExports(ctx, p, exports, written); err != nil {
			return err
		}
	}
	if err := b.deleteFormerExports(ctx, p.Inst, written); err != nil {
		return err
	}
	return b.awaitShown(ctx, p.Alarm, written)
}

func (b *Publisher) writeExports(ctx context.Context, p *plan.Plan, exports *render.ExportValues, written map[string]client.Object) error {
	inst := p.Inst
	for _, export := range inst.Spec.Exports.Data {
		raw, err := json.Marshal(exports.Data[export.Name])
		if err != nil {
			return fmt.Errorf("encode export %q: %w", export.Name, err)
		}
		data := v1alpha1.NewAnyJSON(raw)
		object := &v1alpha1.DataObject{ObjectMeta: metaOf(inst, v1alpha1.DataObjectSourceExport, relations.ScopeOf(inst), export.DataRef, kit.DataHash(data)), Data: data}
		if p.ExportIsSensitive(export) {
			sensitive.Mark(object)
		}
		written["DataObject/"+object.Name] = object
		if err := b.writeExport(ctx, inst, object, &v1alpha1.DataObject{}, "DataObject"); err != nil {
			return err
		}
	}
	for _, export := range inst.Spec.Exports.Targets {
		object, err := exportedTarget(inst, export, exports.Targets[export.Name])
		if err != nil {
			return err
		}
		written["Target/"+object.Name] = object
		if err := b.writeExport(ctx, inst, object, &v1alpha1.Target{}, "Target"); err != nil {
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
		ObjectMeta: metaOf(inst, v1alpha1.DataObjectSourceExport, relations.ScopeOf(inst), export.Target, kit.DataHash(v1alpha1.NewAnyJSON(raw))),
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

// writeExport creates or replaces one export, unless another Installation exports it.
func (b *Publisher) writeExport(ctx context.Context, inst *v1alpha1.Installation, object, existing client.Object, kind string) error {
	err := b.Live.Get(ctx, client.ObjectKeyFromObject(object), existing)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil {
		existing = nil
	}
	switch data.PublicationOf(inst, object, existing) {
	case data.PublishNew:
		return b.create(ctx, object)
	case data.PublishInstead:
		return b.replace(ctx, object, existing)
	case data.PublishAfter:
		return b.succeedExport(ctx, object, existing)
	case data.PublishForOther:
		return b.claimExport(ctx, inst, object, existing, kind)
	}
	return b.keep(ctx, object, existing)
}

// claimExport takes over an export that another Installation owns and does not export any more.
func (b *Publisher) claimExport(ctx context.Context, inst *v1alpha1.Installation, object, existing client.Object, kind string) error {
	reference := data.OtherOwner(existing, inst)
	owner, err := b.readOwner(ctx, inst.Namespace, reference)
	if err != nil {
		return err
	}
	parent, err := b.Related.Parent(ctx, inst)
	if err != nil {
		return err
	}
	switch jobs.ClaimOf(inst, parent, owner, kind+"/"+object.GetName()) {
	case jobs.Abandoned:
		return b.succeed(ctx, object, existing)
	case jobs.Inherited:
		return b.replace(ctx, object, existing)
	case jobs.Early:
		return apierrors.NewConflict(schema.GroupResource{Group: v1alpha1.GroupName, Resource: "installations"}, reference.Name,
			errors.New("its parent has not written its spec yet"))
	}
	return kit.Stall(jobs.ExportOperation, jobs.ReasonExportOwnedByOther,
		"spec.exports: %s %s is already exported by installation %s; change one of the two exports", kind, object.GetName(), reference.Name)
}

// readOwner reads an owner live, nil when it is gone.
func (b *Publisher) readOwner(ctx context.Context, namespace string, owner *metav1.OwnerReference) (*v1alpha1.Installation, error) {
	inst := &v1alpha1.Installation{}
	err := b.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: owner.Name}, inst)
	if apierrors.IsNotFound(err) || err == nil && inst.UID != owner.UID {
		return nil, nil
	}
	return inst, err
}

// deleteFormerExports deletes what an earlier job exported and this one does not. An object that only has the labels belongs to whoever made it.
func (b *Publisher) deleteFormerExports(ctx context.Context, inst *v1alpha1.Installation, written map[string]client.Object) error {
	own := client.MatchingFields{data.ExporterIndex: kit.InstallationScope(inst.Name)}
	for kind, list := range map[string]client.ObjectList{"DataObject": &v1alpha1.DataObjectList{}, "Target": &v1alpha1.TargetList{}} {
		if err := b.List(ctx, list, client.InNamespace(inst.Namespace), own, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		for _, object := range kit.ItemsOf(list) {
			if written[kind+"/"+object.GetName()] != nil || !data.OwnedByUID(object, inst) {
				continue
			}
			if err := b.deleteExport(ctx, inst, object.DeepCopyObject().(client.Object)); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteExport deletes a former export. A Target goes when the last DeployItem is gone that has to be uninstalled through it; that is watched
// where the finalizer is taken off again. What another Installation exports by now stays.
func (b *Publisher) deleteExport(ctx context.Context, inst *v1alpha1.Installation, object client.Object) error {
	if err := b.Live.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return client.IgnoreNotFound(err)
	}
	if data.OtherOwner(object, inst) != nil || !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if _, ok := object.(*v1alpha1.Target); ok {
		err := kit.PatchMetadata(ctx, b.Client, object, kit.MetadataChange{AddFinalizer: v1alpha1.InUseFinalizer})
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		b.targets.Wrote(object)
	}
	uid, version := object.GetUID(), object.GetResourceVersion()
	return client.IgnoreNotFound(b.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version}))
}

// succeedExport replaces a former export that is only kept for uninstalling: the new one serves for that as well.
func (b *Publisher) succeedExport(ctx context.Context, object, former client.Object) error {
	err := kit.PatchMetadata(ctx, b.Client, former, kit.MetadataChange{RemoveFinalizer: v1alpha1.InUseFinalizer})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	return b.create(ctx, object)
}
