// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// A secret value is kept in a Secret. Its DataObject stays what importers find, watch and own; its secretRef names the Secret, which belongs to it
// and goes with it. In memory a DataObject that is about to be written has both the value and the reference.

const (
	// valueKey is the key of the Secret that holds the value as JSON.
	valueKey = "value"
	// ReasonSecretExists says that somebody else's Secret has the name of the one that would hold a value.
	ReasonSecretExists = "SecretExists"
)

// Mark makes a DataObject one whose value is kept in a Secret.
func MarkSensitive(object *v1alpha1.DataObject) {
	object.SecretReference = &v1alpha1.ValueReference{Name: ChildName(object.Name, "value"), Key: valueKey}
	delete(object.Annotations, v1alpha1.HashAnnotation)
}

// Stored returns what the API server gets of a DataObject: without the value where a Secret keeps that.
func Stored(object *v1alpha1.DataObject) *v1alpha1.DataObject {
	stored := object.DeepCopy()
	if object.SecretReference != nil {
		stored.Data = v1alpha1.AnyJSON{}
	}
	return stored
}

// SecretOf returns the name of the Secret that a DataObject names, for an index of DataObjects.
func SecretOf(object client.Object) []string {
	if data, ok := object.(*v1alpha1.DataObject); ok && data.SecretReference != nil {
		return []string{data.SecretReference.Name}
	}
	return nil
}

// Unread says that the Secret with a value could not be read: it is not there, or the API server does not give it.
type Unread struct {
	Secret client.ObjectKey
	Err    error
}

// Error names the Secret.
func (u *Unread) Error() string { return fmt.Sprintf("read Secret %s: %s", u.Secret, u.Err) }

// Unwrap returns the answer of the API server.
func (u *Unread) Unwrap() error { return u.Err }

// Value returns the value of a DataObject, nil where it has none; one in a Secret has to be JSON under a key, as Keep writes it. The Secret is read live.
// Errors name the object and never show its content: *Unread, or what is wrong with it.
func Value(ctx context.Context, live client.Reader, object *v1alpha1.DataObject) (any, error) {
	raw, place := object.Data.RawMessage, fmt.Sprintf("DataObject %s: data", client.ObjectKeyFromObject(object))
	if ref := object.SecretReference; ref != nil {
		secret, key := &corev1.Secret{}, client.ObjectKey{Namespace: object.Namespace, Name: ref.Name}
		if err := live.Get(ctx, key, secret); err != nil {
			return nil, &Unread{Secret: key, Err: err}
		}
		content, ok := secret.Data[ref.Key]
		if !ok {
			return nil, fmt.Errorf("the Secret %s has no key %q, which DataObject %s names; add it", key, ref.Key, object.Name)
		}
		raw, place = content, fmt.Sprintf("the Secret %s: key %q", key, ref.Key)
	}
	if len(raw) == 0 {
		return nil, nil
	}
	var value any
	if err := foreign.DecodeJSON(raw, &value); err != nil {
		return nil, fmt.Errorf("%s %s; correct it", place, foreign.Problem(err))
	}
	return value, nil
}

// Keep writes the value of a DataObject that is marked into its Secret; owner is the stored object, whose UID counts. It does nothing where the Secret
// holds the value already. Errors: Stalled where the Secret is somebody else's.
func Keep(ctx context.Context, live client.Reader, c client.Client, object *v1alpha1.DataObject, owner client.Object) error {
	if object.SecretReference == nil {
		return nil
	}
	wanted := secretOf(object, owner)
	existing := &corev1.Secret{}
	err := live.Get(ctx, client.ObjectKeyFromObject(wanted), existing)
	if apierrors.IsNotFound(err) {
		return c.Create(ctx, wanted)
	}
	if err != nil {
		return err
	}
	holder := protocol.ControllerOf(existing, "DataObject")
	switch {
	case holder == nil || holder.Name != object.Name:
		return protocol.Stall("KeepSecret", ReasonSecretExists, "Secret %s/%s exists and does not belong to DataObject %s, whose value it would hold; delete it",
			existing.Namespace, existing.Name, object.Name)
	case holder.UID != owner.GetUID(): // of a DataObject that is gone: garbage that is about to be collected
		if err := protocol.DeleteLive(ctx, live, c, existing, nil); err != nil {
			return err
		}
		return c.Create(ctx, wanted)
	case bytes.Equal(existing.Data[valueKey], wanted.Data[valueKey]) && existing.Annotations[v1alpha1.HashAnnotation] != "":
		return nil
	}
	wanted.ResourceVersion = existing.ResourceVersion
	return c.Update(ctx, wanted)
}

// Drop deletes the Secret of a DataObject that holds its value itself by now.
func Drop(ctx context.Context, live client.Reader, c client.Client, former *v1alpha1.DataObject) error {
	if former.SecretReference == nil {
		return nil
	}
	secret, key := &corev1.Secret{}, client.ObjectKey{Namespace: former.Namespace, Name: former.SecretReference.Name}
	if err := live.Get(ctx, key, secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	if holder := protocol.ControllerOf(secret, "DataObject"); holder == nil || holder.UID != former.UID {
		return nil
	}
	return protocol.DeleteLive(ctx, live, c, secret, nil)
}

// IsKept reports whether the Secret of a DataObject that is marked holds its value.
func IsKept(ctx context.Context, live client.Reader, object *v1alpha1.DataObject) (bool, error) {
	if object.SecretReference == nil {
		return true, nil
	}
	secret, key := &corev1.Secret{}, client.ObjectKey{Namespace: object.Namespace, Name: object.SecretReference.Name}
	err := live.Get(ctx, key, secret)
	return err == nil && bytes.Equal(secret.Data[valueKey], object.Data.RawMessage), client.IgnoreNotFound(err)
}

// Hash returns the content hash of a DataObject as it is stored: of the object, or of its Secret; empty where there is none.
func Hash(ctx context.Context, live client.Reader, object *v1alpha1.DataObject) (string, error) {
	if object.SecretReference == nil {
		return object.Annotations[v1alpha1.HashAnnotation], nil
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := live.Get(ctx, client.ObjectKey{Namespace: object.Namespace, Name: object.SecretReference.Name}, secret)
	return secret.Annotations[v1alpha1.HashAnnotation], client.IgnoreNotFound(err)
}

func secretOf(object *v1alpha1.DataObject, owner client.Object) *corev1.Secret {
	holder := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Name: owner.GetName(), UID: owner.GetUID()}}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: object.Namespace, Name: object.SecretReference.Name,
			Annotations:     map[string]string{v1alpha1.HashAnnotation: DataHash(object.Data)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(holder, v1alpha1.GroupVersion.WithKind("DataObject"))},
		},
		Data: map[string][]byte{valueKey: object.Data.RawMessage},
	}
}
