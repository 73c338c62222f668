// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// exportKey is the key of the Secret in which a deployer leaves the exports of an item.
const exportKey = "config"

// collectExports writes the exports of all items, by item name, into one DataObject. Without any export there is none.
func (r *Reconciler) collectExports(ctx context.Context, s *scope) error {
	exports := map[string]any{}
	some := false
	var documents foreign.Several
	for name, item := range s.items {
		value, err := r.readExport(ctx, item, &documents)
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
	return r.writeExports(ctx, s, v1alpha1.NewAnyJSON(raw))
}

// readExport returns the exports of one item, nil when it has none.
func (r *Reconciler) readExport(ctx context.Context, item *v1alpha1.DeployItem, documents *foreign.Several) (any, error) {
	ref := item.Status.ExportReference
	if ref == nil {
		return nil, nil
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: item.Namespace, Name: ref.Name}
	if err := r.Live.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("read exports of deploy item %s from Secret %s: %w", item.Name, key, err)
	}
	var value any
	if err := documents.Unmarshal(secret.Data[exportKey], &value); err != nil {
		return nil, kit.Stall(operation, "InvalidExport", "Secret %s: key %s %s", key, exportKey, foreign.Problem(err))
	}
	return value, nil
}

func (r *Reconciler) writeExports(ctx context.Context, s *scope, data v1alpha1.AnyJSON) error {
	scopeName := kit.ExecutionScope(s.execution.Name)
	object := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{
		Name: kit.DataName(scopeName, ""), Namespace: s.execution.Namespace,
		Labels: map[string]string{
			v1alpha1.DataObjectContextLabel: scopeName, v1alpha1.DataObjectSourceLabel: scopeName,
			v1alpha1.DataObjectSourceTypeLabel: v1alpha1.DataObjectSourceExport,
			v1alpha1.DataObjectJobIDLabel:      s.execution.Status.JobID,
		},
		Annotations: map[string]string{v1alpha1.HashAnnotation: kit.DataHash(data)},
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(s.execution, v1alpha1.GroupVersion.WithKind("Execution")),
		},
	}, Data: data}
	s.execution.Status.ExportReference = &v1alpha1.ObjectReference{Name: object.Name, Namespace: object.Namespace}
	existing := &v1alpha1.DataObject{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(object), existing)
	if apierrors.IsNotFound(err) {
		return r.Create(ctx, object)
	}
	if err != nil || existing.Annotations[v1alpha1.HashAnnotation] == object.Annotations[v1alpha1.HashAnnotation] {
		return err
	}
	object.ResourceVersion = existing.ResourceVersion
	return r.Update(ctx, object)
}
