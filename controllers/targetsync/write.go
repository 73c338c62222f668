// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"cmp"
	"context"
	"crypto/sha256"
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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
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

// write makes the Targets, each after its Secret, so that a Target always has its content.
func (r *Reconciler) write(ctx context.Context, s *scope) error {
	for _, name := range slices.Sorted(maps.Keys(s.wanted)) {
		if err := r.ended(ctx, s); err != nil {
			return err
		}
		wanted := s.wanted[name]
		if wanted.isShoot {
			if renewed, err := r.renewShoot(ctx, s, name, wanted); err != nil {
				return err
			} else if !renewed {
				continue
			}
		}
		err := r.writeOne(ctx, s, name, wanted)
		wanted.copy = nil
		switch {
		case err == nil:
		case protocol.IsTransient(err) || ctx.Err() != nil:
			return err
		default:
			s.fail("cluster %q: %s", name, target.ShownError(err))
		}
	}
	return nil
}

// ended stops a sync whose TargetSync is deleted meanwhile: thousands of clusters take minutes. The event of the deletion starts the sync that cleans up. One
// that is gone, or was made anew under its name, counts as deleted: nothing is written to it.
func (r *Reconciler) ended(ctx context.Context, s *scope) error {
	now := &v1alpha1.TargetSync{}
	err := r.Get(ctx, client.ObjectKeyFromObject(s.sync), now)
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
	return protocol.ErrStop
}

func (r *Reconciler) writeOne(ctx context.Context, s *scope, name string, wanted *wanted) error {
	if wanted.copy != nil {
		if name == s.access.secret.Name {
			return errors.New("its Secret has the name of the one in spec.secretRef, which is never overwritten; rename that one")
		}
		if err := r.writeSecret(ctx, s, name, wanted.copy); err != nil {
			return err
		}
	}
	return r.writeTarget(ctx, s, name, wanted)
}

// writeSecret brings the copy of a Secret to what it has to be. The present one is read live, because no cache holds the content of Secrets,
// but only where this process has not found both equal as they are now.
func (r *Reconciler) writeSecret(ctx context.Context, s *scope, name string, described *corev1.Secret) error {
	original := versionOf(described)
	described.ObjectMeta = made(s.sync.Namespace, name)
	key, present := client.ObjectKeyFromObject(described), &metav1.PartialObjectMetadata{}
	present.SetGroupVersionKind(secretKind)
	if err := r.metadata.Get(ctx, key, present); client.IgnoreNotFound(err) != nil {
		return err
	}
	if last, ok := r.copies.Get(key); ok && original != "" && last == original+versionOf(present) {
		return nil
	}
	copied, err := r.copySecret(ctx, s, described)
	if err == nil {
		r.copies.Add(key, original+versionOf(copied))
	}
	return err
}

// versionOf stands for one state of one object; "" where it has none.
func versionOf(object client.Object) string {
	if object.GetUID() == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", object.GetUID(), object.GetResourceVersion())) // a source chooses how long they are
	return string(sum[:])
}

// copySecret returns the copy as it is afterwards.
func (r *Reconciler) copySecret(ctx context.Context, s *scope, described *corev1.Secret) (*corev1.Secret, error) {
	present := &corev1.Secret{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(described), present)
	if apierrors.IsNotFound(err) {
		return described, r.create(ctx, s, described)
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
		if err := protocol.DeleteLive(ctx, r.Live, r.Client, present, nil); err != nil {
			return nil, err
		}
		return described, r.create(ctx, s, described)
	}
	present.Data = described.Data
	s.changes.update(present)
	return present, r.Update(ctx, present)
}

// writeTarget brings a Target to what it has to be. Labels and annotations of others stay.
func (r *Reconciler) writeTarget(ctx context.Context, s *scope, name string, wanted *wanted) error {
	ref := wanted.ref
	described := &v1alpha1.Target{
		ObjectMeta: made(s.sync.Namespace, name), Spec: v1alpha1.TargetSpec{Type: v1alpha1.KubernetesClusterTargetType, SecretRef: &ref},
	}
	if wanted.renewed != "" {
		described.Annotations = map[string]string{v1alpha1.LastTargetSyncAnnotation: wanted.renewed}
	}
	present := &v1alpha1.Target{}
	if err := r.Get(ctx, client.ObjectKeyFromObject(described), present); err == nil && checkMade(present, "Target") == nil && !complete(present, described) {
		return nil
	}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(described), present)
	if apierrors.IsNotFound(err) {
		return r.create(ctx, s, described)
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
	return r.Update(ctx, present)
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

func (r *Reconciler) create(ctx context.Context, s *scope, object client.Object) error {
	s.changes.create(object)
	return r.Create(ctx, object)
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

// prune deletes what earlier syncs have made for clusters that the source no longer knows. After a problem it deletes nothing.
func (r *Reconciler) prune(ctx context.Context, s *scope) error {
	if len(s.problems) > 0 {
		return nil
	}
	return r.deleteMade(ctx, s, func(object client.Object) bool {
		wanted := s.wanted[object.GetName()]
		return wanted == nil || isSecret(object) && wanted.ref.Name != object.GetName()
	})
}

// uninstall deletes in a deletion whatever was made. Another TargetSync of the namespace takes it over as it is: its next sync deletes what
// its own source does not know.
func (r *Reconciler) uninstall(ctx context.Context, s *scope) error {
	if s.sync.DeletionTimestamp.IsZero() {
		return nil
	}
	r.sources.leave(client.ObjectKeyFromObject(s.sync))
	heirs, err := others(ctx, r.Live, s.sync)
	if err != nil {
		return err
	}
	if len(heirs) == 0 {
		if err := r.deleteMade(ctx, s, func(client.Object) bool { return true }); err != nil {
			return err
		}
	}
	err = patchMetadata(ctx, r.Client, s.sync, protocol.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	return protocol.ErrStop
}

// deleteMade deletes of what TargetSyncs have made in the namespace that which useless selects: Targets first, so that none is left without
// content. It stops where another TargetSync has come, which may have made it. The Secret with the access to the source is never deleted.
func (r *Reconciler) deleteMade(ctx context.Context, s *scope, useless func(client.Object) bool) error {
	reader := r.Live // of others once; the cache shows who comes meanwhile
	for _, kind := range []schema.GroupVersionKind{v1alpha1.GroupVersion.WithKind("Target"), secretKind} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := r.Live.List(ctx, list, client.InNamespace(s.sync.Namespace), client.MatchingLabels{v1alpha1.TargetSyncLabel: v1alpha1.TargetSyncOK})
		if err != nil {
			return err
		}
		for i := range list.Items {
			object := &list.Items[i]
			object.SetGroupVersionKind(kind)
			isAccess := isSecret(object) && object.Name == s.sync.Spec.SecretRef.Name
			if isAccess || !isMade(object) || !object.DeletionTimestamp.IsZero() || !useless(object) {
				continue
			}
			if others, err := others(ctx, reader, s.sync); err != nil || len(others) > 0 {
				return cmp.Or(err, protocol.ErrStop)
			}
			reader = r.Client
			s.changes.delete(object)
			if err := protocol.DeleteLive(ctx, r.Live, r.Client, object, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func isSecret(object client.Object) bool {
	return object.GetObjectKind().GroupVersionKind().GroupKind() == secretKind.GroupKind()
}

const reasonClusterRemoved = "ClusterRemoved"

// skipIndex finds the DeployItems whose uninstall may be skipped.
const skipIndex = "skip-uninstall-if-cluster-removed"

func skipsUninstall(object client.Object) []string {
	if item, ok := object.(*v1alpha1.DeployItem); ok && item.Spec.OnDelete != nil && item.Spec.OnDelete.SkipUninstallIfClusterRemoved {
		return []string{"true"}
	}
	return nil
}

// skipUninstalls lets DeployItems go whose Shoot is gone or in deletion. Before that it notes on each which Shoot it deploys to: in its
// deletion the Target may be gone, too.
func (r *Reconciler) skipUninstalls(ctx context.Context, s *scope) error {
	if s.pattern == nil || s.sync.Spec.ShootNameExpression == "" {
		return nil
	}
	items := &v1alpha1.DeployItemList{}
	if err := r.List(ctx, items, client.InNamespace(s.sync.Namespace), client.MatchingFields{skipIndex: "true"}); err != nil {
		return err
	}
	for i := range items.Items {
		if err := r.skipUninstall(ctx, s, &items.Items[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) skipUninstall(ctx context.Context, s *scope, item *v1alpha1.DeployItem) error {
	cluster, err := r.clusterOf(ctx, item)
	if err != nil || cluster == "" {
		return err
	}
	change := protocol.MetadataChange{Annotations: map[string]*string{v1alpha1.ClusterNameAnnotation: &cluster}}
	skipped := !item.DeletionTimestamp.IsZero() && s.isRemoved(cluster) && item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] != "true"
	if skipped {
		yes := "true"
		change.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] = &yes
	}
	if err := protocol.PatchMetadata(ctx, r.Client, item, change); err != nil {
		return err
	}
	if skipped {
		r.Recorder.Eventf(item, corev1.EventTypeWarning, reasonClusterRemoved,
			"Shoot %s in namespace %s of the source cluster is gone or in deletion: the DeployItem is deleted without uninstall, as spec.onDelete.skipUninstallIfClusterRemoved says",
			cluster, s.sync.Spec.SourceNamespace)
	}
	return nil
}

// clusterOf returns the Shoot that a DeployItem deploys to; empty where no TargetSync made its Target. The copies of a Target that
// Installations make name the same Secret, which has the name of the Shoot.
func (r *Reconciler) clusterOf(ctx context.Context, item *v1alpha1.DeployItem) (string, error) {
	noted := item.Annotations[v1alpha1.ClusterNameAnnotation]
	if item.Spec.Target == nil {
		return "", nil
	}
	used := &v1alpha1.Target{}
	err := r.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.Target.Name}, used)
	if err != nil {
		return noted, client.IgnoreNotFound(err)
	}
	if used.Labels[v1alpha1.TargetSyncLabel] != v1alpha1.TargetSyncOK || used.Spec.SecretRef == nil {
		return "", nil
	}
	return used.Spec.SecretRef.Name, nil
}

// isRemoved reports whether the source knows no Shoot of a name, or is deleting it. A name that is not selected says nothing about its Shoot.
func (s *scope) isRemoved(cluster string) bool {
	return s.pattern.MatchString(cluster) && (s.wanted[cluster] == nil || s.wanted[cluster].leaving)
}
