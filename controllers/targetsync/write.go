// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// changes counts what a sync has done.
type changes struct {
	created, updated, deleted int
	// objects tells the same counts for other objects apart, in whatever order those come.
	objects uint64
}

func (c *changes) create(object client.Object) { c.note(&c.created, "create", object) }
func (c *changes) update(object client.Object) { c.note(&c.updated, "update", object) }
func (c *changes) delete(object client.Object) { c.note(&c.deleted, "delete", object) }

func (c *changes) note(count *int, verb string, object client.Object) {
	*count++
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s %T %s", verb, object, object.GetName())
	c.objects += hash.Sum64()
}

func (c *changes) any() bool { return *c != changes{} }

// token is another one for changes of other objects, and the same where somebody else keeps changing an object back.
func (c *changes) token() string { return strconv.FormatUint(c.objects, 16) }

// writer makes Targets and the Secrets behind them.
type writer struct {
	client.Client
	live client.Reader
	// metadata reads Secrets from the cache of metadata.
	metadata client.Reader
	copies   *copies
}

// write makes the Targets, each after its Secret, so that a Target always has its content.
func (w writer) write(ctx context.Context, s *scope) error {
	w.copies.keep(client.ObjectKeyFromObject(s.sync), s.wanted)
	for _, name := range slices.Sorted(maps.Keys(s.wanted)) {
		if err := w.ended(ctx, s); err != nil {
			return err
		}
		err := w.writeOne(ctx, s, name)
		switch {
		case err == nil:
		case kit.IsTransient(err) || ctx.Err() != nil:
			return err
		default:
			s.fail("cluster %q: %s", name, target.ShownError(err))
		}
	}
	return nil
}

// ended stops a sync whose TargetSync is deleted meanwhile: thousands of clusters take minutes. The event of the deletion starts the sync that cleans up. One
// that is gone, or was made anew under its name, counts as deleted: nothing is written to it.
func (w writer) ended(ctx context.Context, s *scope) error {
	now := &v1alpha1.TargetSync{}
	err := w.Get(ctx, client.ObjectKeyFromObject(s.sync), now)
	switch {
	case apierrors.IsNotFound(err) || err == nil && now.UID != s.sync.UID:
		s.sync.DeletionTimestamp = &metav1.Time{Time: s.now}
	case err != nil:
		return err
	case now.DeletionTimestamp.IsZero():
		return nil
	default:
		s.sync.DeletionTimestamp = now.DeletionTimestamp
	}
	return kit.ErrStop
}

func (w writer) writeOne(ctx context.Context, s *scope, name string) error {
	wanted := s.wanted[name]
	if wanted.failed {
		return nil
	}
	if wanted.copy != nil {
		if name == s.access.secret.Name {
			return errors.New("its Secret has the name of the one in spec.secretRef, which is never overwritten; rename that one")
		}
		if err := w.writeSecret(ctx, s, name, wanted.copy); err != nil {
			return err
		}
	}
	return w.writeTarget(ctx, s, name, wanted)
}

// cachedVersion returns the state of a Secret in the cache of metadata.
func (w writer) cachedVersion(ctx context.Context, key types.NamespacedName) (version, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(secretKind)
	if err := w.metadata.Get(ctx, key, secret); err != nil {
		return version{}, client.IgnoreNotFound(err)
	}
	return versionOf(secret), nil
}

// writeSecret brings the copy of a Secret to what it has to be. The present one is read live, because no cache holds the content of Secrets,
// but only where this process has not seen both as they are now.
func (w writer) writeSecret(ctx context.Context, s *scope, name string, described *corev1.Secret) error {
	original := versionOf(described)
	described.ObjectMeta = made(s.sync.Namespace, name)
	key, sync := client.ObjectKeyFromObject(described), client.ObjectKeyFromObject(s.sync)
	if present, err := w.cachedVersion(ctx, key); err != nil || w.copies.known(sync, name, original, present) {
		return err
	}
	copied, err := w.copySecret(ctx, s, described)
	if err != nil {
		return err
	}
	w.copies.note(sync, name, original, versionOf(copied))
	return nil
}

// copySecret returns the copy as it is afterwards.
func (w writer) copySecret(ctx context.Context, s *scope, described *corev1.Secret) (*corev1.Secret, error) {
	present := &corev1.Secret{}
	err := w.live.Get(ctx, client.ObjectKeyFromObject(described), present)
	if apierrors.IsNotFound(err) {
		return described, w.create(ctx, s, described)
	}
	if err != nil {
		return nil, err
	}
	if err := checkMade(present, "Secret"); err != nil {
		return nil, err
	}
	if maps.EqualFunc(present.Data, described.Data, slices.Equal[[]byte]) && present.Type == described.Type {
		return present, nil
	}
	if present.Type != described.Type || present.Immutable != nil && *present.Immutable {
		return described, w.replace(ctx, s, present, described)
	}
	present.Data = described.Data
	s.changes.update(present)
	return present, w.Update(ctx, present)
}

// replace deletes a Secret that the API server does not let change, and creates it anew.
func (w writer) replace(ctx context.Context, s *scope, present, described *corev1.Secret) error {
	if err := kit.DeleteLive(ctx, w.live, w.Client, present, nil); err != nil {
		return err
	}
	return w.create(ctx, s, described)
}

// writeTarget brings a Target to what it has to be. Labels and annotations of others stay.
func (w writer) writeTarget(ctx context.Context, s *scope, name string, wanted *wanted) error {
	ref := wanted.ref
	described := &v1alpha1.Target{
		ObjectMeta: made(s.sync.Namespace, name), Spec: v1alpha1.TargetSpec{Type: v1alpha1.KubernetesClusterTargetType, SecretRef: &ref},
	}
	if wanted.renewed != "" {
		described.Annotations = map[string]string{v1alpha1.LastTargetSyncAnnotation: wanted.renewed}
	}
	present := &v1alpha1.Target{}
	if err := w.Get(ctx, client.ObjectKeyFromObject(described), present); err == nil && checkMade(present, "Target") == nil && !complete(present, described) {
		return nil
	}
	err := w.live.Get(ctx, client.ObjectKeyFromObject(described), present)
	if apierrors.IsNotFound(err) {
		return w.create(ctx, s, described)
	}
	if err != nil {
		return err
	}
	if err := checkMade(present, "Target"); err != nil {
		return err
	}
	if !complete(present, described) {
		return nil
	}
	s.changes.update(present)
	return w.Update(ctx, present)
}

// complete makes a Target what it has to be, and reports whether that changed it.
func complete(present, described *v1alpha1.Target) bool {
	before := present.DeepCopy()
	present.Spec = described.Spec
	present.Spec.HealthCheck = before.Spec.HealthCheck
	for key, value := range described.Annotations {
		metav1.SetMetaDataAnnotation(&present.ObjectMeta, key, value)
	}
	return !equality.Semantic.DeepEqual(before.Spec, present.Spec) || !maps.Equal(before.Annotations, present.Annotations)
}

func (w writer) create(ctx context.Context, s *scope, object client.Object) error {
	s.changes.create(object)
	return w.Create(ctx, object)
}

// made is the metadata of everything that a TargetSync makes.
func made(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{v1alpha1.TargetSyncLabel: v1alpha1.TargetSyncOK}}
}

// isMade reports whether an object was made by a TargetSync. The copies of a Target that Installations make for their sub-installations have
// all its labels, and those of the data flow.
func isMade(object client.Object) bool {
	labels := object.GetLabels()
	return labels[v1alpha1.TargetSyncLabel] == v1alpha1.TargetSyncOK && labels[v1alpha1.DataObjectContextLabel] == ""
}

// checkMade fails for an object that a TargetSync must not change.
func checkMade(object client.Object, kind string) error {
	switch {
	case !isMade(object):
		return fmt.Errorf("%s %q exists and was not made by a TargetSync; delete or rename it, or hand it over with the label %s: %s",
			kind, object.GetName(), v1alpha1.TargetSyncLabel, v1alpha1.TargetSyncOK)
	case !object.GetDeletionTimestamp().IsZero():
		return fmt.Errorf("%s %q is being deleted; it is made again when it is gone", kind, object.GetName())
	}
	return nil
}
