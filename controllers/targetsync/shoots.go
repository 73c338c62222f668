// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// kubeconfigLife is for how long the kubeconfig of a Shoot is asked for.
	kubeconfigLife = 24 * time.Hour
	// renewAfter is how old a kubeconfig of that life gets.
	renewAfter = kubeconfigLife / 2
	// nextShoots is when the next sync renews those that one sync has no memory for. Kubeconfigs of the usual size all fit; a source that sends the largest
	// ones, and has them renewed all the time, writes 1.6 MiB a second.
	nextShoots = 10 * time.Second
)

// gatherShoots takes the Shoots of the source that match, with new kubeconfigs for those whose last one is old.
func (r *Reconciler) gatherShoots(ctx context.Context, s *scope) error {
	if s.pattern == nil || s.sync.Spec.ShootNameExpression == "" {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(shootKind.GroupVersion().WithKind(shootKind.Kind + "List"))
	err := s.eachPage(ctx, list, func() {
		for i := range list.Items {
			s.takeShoot(&list.Items[i])
		}
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.wanted)) {
		if err := r.renewShoot(ctx, s, name); err != nil {
			return err
		}
	}
	return nil
}

// takeShoot notes a Shoot of the source as a Target.
func (s *scope) takeShoot(shoot *metav1.PartialObjectMetadata) {
	if !s.selects(shoot.Name) {
		return
	}
	s.wanted[shoot.Name] = &wanted{
		ref:     v1alpha1.LocalSecretReference{Name: shoot.Name, Key: kubeconfigKey},
		leaving: !shoot.DeletionTimestamp.IsZero(),
	}
}

// renewShoot asks for a kubeconfig where the last one is old or lost.
func (r *Reconciler) renewShoot(ctx context.Context, s *scope, name string) error {
	last, err := r.renewedAt(ctx, s, name)
	if err != nil {
		return err
	}
	shoot := s.wanted[name]
	if left := last.Add(renewAfter).Sub(s.now); left > 0 {
		s.wakeIn(left)
		shoot.renewed = last.Format(time.RFC3339)
		return nil
	}
	if s.bytes > maxBytes-corev1.MaxSecretSize { // kubeconfigs are in memory together until they are written
		shoot.failed = true
		s.wakeIn(nextShoots)
		return nil
	}
	kubeconfig, life, err := requestKubeconfig(ctx, s.source, s.sync.Spec.SourceNamespace, name)
	if err != nil {
		shoot.failed = true
		s.fail("no kubeconfig for Shoot %q: %w", name, err)
		return nil
	}
	shoot.copy = &corev1.Secret{Data: map[string][]byte{kubeconfigKey: kubeconfig}, Type: corev1.SecretTypeOpaque}
	s.bytes += sizeOf(shoot.copy)
	// The annotation has one meaning for every reader: half a day after it the next renewal is due. A shorter life therefore moves it back.
	due := min(life/2, renewAfter)
	shoot.renewed = s.now.Add(due - renewAfter).UTC().Format(time.RFC3339)
	s.wakeIn(due)
	return nil
}

// renewedAt returns when the kubeconfig of a Shoot was last renewed; zero where that is not known or its Secret is gone.
func (r *Reconciler) renewedAt(ctx context.Context, s *scope, name string) (time.Time, error) {
	present := &v1alpha1.Target{}
	key := client.ObjectKey{Namespace: s.sync.Namespace, Name: name}
	if err := r.Get(ctx, key, present); err != nil || !isMade(present) {
		return time.Time{}, client.IgnoreNotFound(err)
	}
	last, err := time.Parse(time.RFC3339, present.Annotations[v1alpha1.LastTargetSyncAnnotation])
	if err != nil || last.After(s.now) {
		return time.Time{}, nil
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(secretKind)
	if err := r.Live.Get(ctx, key, secret); err != nil {
		return time.Time{}, client.IgnoreNotFound(err)
	}
	return last, nil
}

var (
	errNoKubeconfig    = errors.New("the answer holds none")
	errLargeKubeconfig = errors.New("the answer is larger than a Secret may be")
)

// requestKubeconfig asks Gardener for an administrator's kubeconfig of a Shoot, and returns it with its life.
func requestKubeconfig(ctx context.Context, source *target.Cluster, namespace, name string) ([]byte, time.Duration, error) {
	shoot := &unstructured.Unstructured{}
	shoot.SetGroupVersionKind(shootKind)
	shoot.SetNamespace(namespace)
	shoot.SetName(name)
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.gardener.cloud/v1alpha1", "kind": "AdminKubeconfigRequest",
		"spec": map[string]any{"expirationSeconds": int64(kubeconfigLife.Seconds())},
	}}
	began := time.Now()
	if err := source.Client.SubResource("adminkubeconfig").Create(ctx, shoot, request); err != nil {
		return nil, 0, err
	}
	encoded, _, _ := unstructured.NestedString(request.Object, "status", "kubeconfig")
	kubeconfig, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case err != nil, len(kubeconfig) == 0:
		return nil, 0, errNoKubeconfig
	case len(kubeconfig) > corev1.MaxSecretSize:
		return nil, 0, errLargeKubeconfig
	}
	return kubeconfig, lifeOf(request, began), nil
}

// lifeOf returns how long a kubeconfig is valid. Gardener may grant less than it was asked for.
func lifeOf(answer *unstructured.Unstructured, began time.Time) time.Duration {
	text, _, _ := unstructured.NestedString(answer.Object, "status", "expirationTimestamp")
	expires, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return kubeconfigLife
	}
	return max(expires.Sub(began), 2*time.Minute)
}

// wakeIn has the TargetSync synced again after d at the latest.
func (s *scope) wakeIn(d time.Duration) {
	if s.requeue == 0 || d < s.requeue {
		s.requeue = d
	}
}
