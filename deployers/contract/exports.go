// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

const (
	// exportKey is the key of the export Secret that holds the exports as JSON.
	exportKey = "config"
	// maxExports is the largest accepted export in bytes; a Secret holds no more than 1 MiB.
	maxExports = 1<<20 - 4<<10

	operationExport = "createExport"
)

// publish makes the export Secret what the job exported and returns the reference for the status; nil without exports. It reads only
// where an earlier job left a Secret, and writes only what changed.
func (r *reconciler) publish(ctx context.Context, item *v1alpha1.DeployItem, exports map[string]any) (*v1alpha1.ObjectReference, error) {
	wanted, err := ExportSecret(item, exports)
	if err != nil {
		return nil, err
	}
	if exports == nil {
		return nil, r.withdraw(ctx, item, wanted)
	}
	reference := &v1alpha1.ObjectReference{Name: wanted.Name, Namespace: wanted.Namespace}
	if item.Status.ExportReference == nil {
		err = r.client.Create(ctx, wanted.DeepCopy())
		if !apierrors.IsAlreadyExists(err) {
			return reference, exportFailure(wanted, err)
		}
	}
	return reference, exportFailure(wanted, r.replace(ctx, item, wanted))
}

// ExportSecret returns the Secret with the exports of an item.
func ExportSecret(item *v1alpha1.DeployItem, exports map[string]any) (*corev1.Secret, error) {
	raw, err := json.Marshal(exports)
	if err != nil {
		return nil, protocol.Stall(operationExport, "ExportInvalid", "the exports cannot be written as JSON: %w", err)
	}
	if len(raw) > maxExports {
		return nil, protocol.Stall(operationExport, "ExportTooLarge", "the exports have %d bytes, at most %d fit into a Secret; export less", len(raw), maxExports)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: item.Name + "-export", Namespace: item.Namespace,
			Annotations: map[string]string{v1alpha1.HashAnnotation: storage.DataHash(v1alpha1.NewAnyJSON(raw))},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "DeployItem", Name: item.Name, UID: item.UID, Controller: new(true),
			}},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{exportKey: raw},
	}, nil
}

// replace gives an existing export Secret its new content. A Secret that is not an export of an item of this name is left alone.
func (r *reconciler) replace(ctx context.Context, item *v1alpha1.DeployItem, wanted *corev1.Secret) error {
	current := &corev1.Secret{}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(wanted), current)
	if apierrors.IsNotFound(err) {
		return r.client.Create(ctx, wanted.DeepCopy())
	}
	if err != nil {
		return err
	}
	ref := item.Status.ExportReference // it is also that of an earlier item of this name
	if (ref == nil || ref.Name != current.Name) && !slices.ContainsFunc(current.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.Kind == "DeployItem" && owner.Name == item.Name
	}) {
		return protocol.Stall(operationExport, "ExportSecretForeign", "Secret %q exists and does not belong to the DeployItem; rename or remove it", wanted.Name)
	}
	if bytes.Equal(current.Data[exportKey], wanted.Data[exportKey]) && isOwner(current, item.UID) {
		return nil
	}
	current.Annotations = wanted.Annotations
	current.OwnerReferences = wanted.OwnerReferences
	current.Data = wanted.Data
	return r.client.Update(ctx, current)
}

func isOwner(secret *corev1.Secret, uid types.UID) bool {
	return slices.ContainsFunc(secret.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == uid })
}

// withdraw deletes the export Secret of an earlier job.
func (r *reconciler) withdraw(ctx context.Context, item *v1alpha1.DeployItem, secret *corev1.Secret) error {
	if item.Status.ExportReference == nil {
		return nil
	}
	current := &corev1.Secret{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(secret), current); err != nil {
		return exportFailure(secret, client.IgnoreNotFound(err))
	}
	if !isOwner(current, item.UID) {
		return nil
	}
	preconditions := client.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion}
	return exportFailure(secret, client.IgnoreNotFound(r.client.Delete(ctx, current, preconditions)))
}

func exportFailure(secret *corev1.Secret, err error) error {
	if err == nil || protocol.IsUnrecoverable(err) {
		return err
	}
	return protocol.Again(operationExport, "ExportFailed", "write the exports to Secret %q: %w", secret.Name, err)
}
