// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// exportKey is the key of the Secret in which a deployer leaves the exports of an item.
const exportKey = "config"

// maxExports caps, in bytes, the texts of what all items of an Execution export. A DataObject takes less, and memory up to twenty times as much.
const maxExports = 4 << 20

// exporter collects the exports of DeployItems.
type exporter struct {
	client.Client
	live client.Reader
}

// collect writes the exports of all items, by item name, into one DataObject. Without any export there is none.
func (e exporter) collect(ctx context.Context, s *scope) error {
	exports := map[string]any{}
	some := false
	bytes := 0
	for name, item := range s.items {
		value, err := e.read(ctx, item, &bytes)
		if err != nil {
			return err
		}
		exports[name] = value
		some = some || value != nil
	}
	if !some {
		s.execution.Status.ExportReference = nil
		return nil
	}
	raw, err := json.Marshal(exports)
	if err != nil {
		return fmt.Errorf("encode exports of execution %s: %w", s.execution.Name, err)
	}
	return e.write(ctx, s, v1alpha1.NewAnyJSON(raw))
}

// read returns the exports of one item, nil when it has none, and adds their size to bytes. The deployer writes them before it ends the job, so what is missing now
// comes with the next job only.
func (e exporter) read(ctx context.Context, item *v1alpha1.DeployItem, bytes *int) (any, error) {
	ref := item.Status.ExportReference
	if ref == nil {
		return nil, nil
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: item.Namespace, Name: ref.Name}
	if problems := validation.NameIsDNSSubdomain(ref.Name, false); len(problems) > 0 {
		return nil, protocol.Stall(operation, "InvalidExport", "deploy item %s: status.exportRef.name %.253q is not a valid name of a Secret", item.Name, ref.Name)
	}
	if err := e.live.Get(ctx, key, secret); apierrors.IsNotFound(err) {
		return nil, protocol.Stall(operation, "ExportNotFound", "deploy item %s: Secret %s with its exports does not exist; run the job again", item.Name, key)
	} else if err != nil {
		return nil, fmt.Errorf("read exports of deploy item %s from Secret %s: %w", item.Name, key, err)
	}
	if *bytes += len(secret.Data[exportKey]); *bytes > maxExports {
		return nil, protocol.Stall(operation, "InvalidExport", "Secret %s: all deploy items together export more than %d bytes, which no DataObject holds; export less",
			key, maxExports)
	}
	var value any
	err := foreign.Unmarshal(secret.Data[exportKey], &value)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, protocol.Stall(operation, "InvalidExport", "Secret %s: key %s %s", key, exportKey, foreign.Problem(err))
	}
	return value, nil
}

// write makes the DataObject with the exports what the job exported. One that belongs to an earlier Execution of this name is made
// anew, one without owner is taken over, and one that belongs to somebody else is left alone.
func (e exporter) write(ctx context.Context, s *scope, data v1alpha1.AnyJSON) error {
	wanted := exportObject(s.execution, data)
	if s.execution.Spec.SensitiveExports {
		storage.MarkSensitive(wanted)
	}
	stored := storage.Stored(wanted)
	existing := &v1alpha1.DataObject{}
	err := e.live.Get(ctx, client.ObjectKeyFromObject(wanted), existing)
	switch {
	case apierrors.IsNotFound(err):
		err = e.Create(ctx, stored)
	case err != nil:
		return err
	case !belongsTo(existing, s.execution):
		return protocol.Stall(operation, "ExportExists", "DataObject %s/%s exists and does not belong to execution %s; delete it",
			existing.Namespace, existing.Name, s.execution.Name)
	case isOfEarlier(existing, s.execution):
		err = e.replace(ctx, existing, stored)
	case !metav1.IsControlledBy(existing, s.execution), !storage.SameRawJSON(existing.Data.RawMessage, stored.Data.RawMessage),
		(existing.SecretReference == nil) != (wanted.SecretReference == nil):
		err = e.update(ctx, existing, wanted, stored)
	default:
		stored = existing
	}
	s.execution.Status.ExportReference = &v1alpha1.ObjectReference{Name: wanted.Name, Namespace: wanted.Namespace}
	if err != nil {
		return err
	}
	return storage.Keep(ctx, e.live, e.Client, wanted, stored)
}

// update writes the DataObject over the one that exists. A value that moves is never without a place.
func (e exporter) update(ctx context.Context, existing, wanted, stored *v1alpha1.DataObject) error {
	if err := storage.Keep(ctx, e.live, e.Client, wanted, existing); err != nil {
		return err
	}
	stored.ResourceVersion = existing.ResourceVersion
	if err := e.Update(ctx, stored); err != nil || wanted.SecretReference != nil {
		return err
	}
	return storage.Drop(ctx, e.live, e.Client, existing)
}

// isOfEarlier reports whether a DataObject belongs to an Execution that is gone, so that garbage collection is about to take it.
func isOfEarlier(object *v1alpha1.DataObject, execution *v1alpha1.Execution) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && owner.UID != execution.UID
}

func (e exporter) replace(ctx context.Context, existing, wanted *v1alpha1.DataObject) error {
	if err := protocol.DeleteLive(ctx, e.live, e.Client, existing, nil); err != nil {
		return err
	}
	return e.Create(ctx, wanted)
}

// belongsTo reports whether a DataObject holds exports of an Execution of this name.
func belongsTo(object *v1alpha1.DataObject, execution *v1alpha1.Execution) bool {
	if owner := metav1.GetControllerOf(object); owner != nil {
		own := protocol.ControllerOf(object, "Execution")
		return own != nil && own.Name == execution.Name
	}
	return object.Labels[v1alpha1.DataObjectContextLabel] == storage.ExecutionScope(execution.Name)
}

// exportObject returns the DataObject with the exports of an Execution.
func exportObject(execution *v1alpha1.Execution, data v1alpha1.AnyJSON) *v1alpha1.DataObject {
	scopeName := storage.ExecutionScope(execution.Name)
	return &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{
		Name: storage.DataName(scopeName, ""), Namespace: execution.Namespace,
		Labels: map[string]string{
			v1alpha1.DataObjectContextLabel: scopeName, v1alpha1.DataObjectSourceLabel: scopeName,
			v1alpha1.DataObjectSourceTypeLabel: v1alpha1.DataObjectSourceExport,
			v1alpha1.DataObjectJobIDLabel:      execution.Status.JobID,
		},
		Annotations: map[string]string{v1alpha1.HashAnnotation: storage.DataHash(data)},
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(execution, v1alpha1.GroupVersion.WithKind("Execution")),
		},
	}, Data: data}
}
