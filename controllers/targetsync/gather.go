// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// pageSize is how many objects a source is asked for at a time. Secrets may be as large as 1 MiB.
	pageSize = 25
	// maxClusters is how many clusters of one source are synced.
	maxClusters = 5000
	// maxBytes is how much the Secrets of one source may hold that are synced: they are in memory together.
	maxBytes = 16 << 20
	// maxPages bounds what one sync reads of a source, names that do not match included.
	maxPages = 4 * maxClusters / pageSize
	// maxName is the length of the longest name that a Secret, a Shoot or a Target can have.
	maxName = 253
)

const reasonSource = "SourceFailed"

// wanted is a Target that the sync makes.
type wanted struct {
	// ref is the Secret with the kubeconfig.
	ref v1alpha1.LocalSecretReference
	// copy is what that Secret has to be; nil where the present one is right.
	copy *corev1.Secret
	// isShoot says that the cluster is a Shoot of the source, and leaving that this is in deletion.
	isShoot, leaving bool
	// renewed is when the kubeconfig of a Shoot was last renewed, as the Target says.
	renewed string
}

// gatherSecrets takes the Secrets of the source that match and hold a kubeconfig.
func gatherSecrets(ctx context.Context, s *scope) error {
	if s.pattern == nil || s.sync.Spec.ShootNameExpression != "" {
		return nil
	}
	list := &corev1.SecretList{}
	return s.eachPage(ctx, list, func() {
		for i := range list.Items {
			s.takeSecret(&list.Items[i])
		}
	})
}

// takeSecret notes a Secret of the source as a Target, and as one that is no good where it holds no kubeconfig.
func (s *scope) takeSecret(secret *corev1.Secret) {
	switch {
	case !s.selects(secret.Name):
		return
	case len(secret.Data[kubeconfigKey]) == 0:
		s.noteUnusable(secret.Name)
		return
	}
	s.bytes += sizeOf(secret)
	if s.bytes > maxBytes {
		return
	}
	s.wanted[secret.Name] = &wanted{
		ref: v1alpha1.LocalSecretReference{Name: secret.Name, Key: kubeconfigKey},
		copy: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{UID: secret.UID, ResourceVersion: secret.ResourceVersion}, Data: secret.Data, Type: secret.Type,
		},
	}
}

// selects reports whether the sync is for an object of that name.
func (s *scope) selects(name string) bool { return len(name) <= maxName && s.pattern.MatchString(name) }

// sizeOf returns what is kept of a Secret, in bytes.
func sizeOf(secret *corev1.Secret) int {
	size := len(secret.UID) + len(secret.ResourceVersion) + len(secret.Type)
	for key, value := range secret.Data {
		size += len(key) + len(value)
	}
	return size
}

// gatherSource adds the source itself.
func gatherSource(_ context.Context, s *scope) error {
	spec := s.sync.Spec
	if !spec.CreateTargetToSource {
		return nil
	}
	name := cmp.Or(spec.TargetToSourceName, spec.SourceNamespace)
	if s.wanted[name] != nil {
		s.fail("Target %q is to lead to the source cluster, which has a cluster of that name; set spec.targetToSourceName to another name", name)
		return nil
	}
	s.wanted[name] = &wanted{ref: v1alpha1.LocalSecretReference{Name: s.access.secret.Name, Key: s.access.key}}
	return nil
}

// eachPage reads the objects of the source namespace page by page into list, and calls take after each. A source may heed no limit of a page.
func (s *scope) eachPage(ctx context.Context, list client.ObjectList, take func()) error {
	seen := 0
	err := target.Pages(maxPages, func(limit int64, next string) (string, error) {
		err := s.source.Client.List(ctx, list, client.InNamespace(s.sync.Spec.SourceNamespace), client.Limit(min(limit, pageSize)), client.Continue(next))
		if err != nil {
			return "", err
		}
		if next == "" {
			seen, s.bytes, s.unusable, s.unusableNames = 0, 0, 0, nil
			clear(s.wanted)
		}
		take()
		seen += meta.LenList(list)
		if len(s.wanted) > maxClusters || s.bytes > maxBytes || seen > maxPages*pageSize {
			return "", target.ErrTooManyPages
		}
		return list.GetContinue(), nil
	})
	switch {
	case err == nil && seen == 0:
		return s.findNamespace(ctx)
	case err == nil:
		return nil
	case !errors.Is(err, target.ErrTooManyPages):
		return s.sourceProblem(err)
	}
	return protocol.Stall(operation, reasonSource, "namespace %q of the source cluster holds too many objects, or more than %d that match, or Secrets of more than %d MiB; narrow the expression, or use several namespaces",
		s.sync.Spec.SourceNamespace, maxClusters, maxBytes>>20)
}

// findNamespace returns an error unless the source has a namespace of that name: where there is none, an empty list does not mean that the clusters are gone.
// Without the right to read namespaces, nobody knows, and the list counts.
func (s *scope) findNamespace(ctx context.Context) error {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := s.source.Client.Get(ctx, client.ObjectKey{Name: s.sync.Spec.SourceNamespace}, namespace)
	switch {
	case err == nil, apierrors.IsForbidden(err):
		return nil
	case apierrors.IsNotFound(err):
		return protocol.Again(operation, reasonSource, "the source cluster has no namespace %q; correct spec.sourceNamespace, or create the namespace", s.sync.Spec.SourceNamespace)
	}
	return s.sourceProblem(err)
}

// sourceProblem says what the source did not let the sync do.
func (s *scope) sourceProblem(err error) error {
	kind := kindOf(&s.sync.Spec).Kind
	switch {
	case meta.IsNoMatchError(err):
		return protocol.Stall(operation, reasonSource,
			"the source cluster does not know the kind %s; spec.secretRef has to lead to a cluster of Gardener, or use spec.secretNameExpression", kind)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return protocol.Again(operation, reasonSource, "%ss in namespace %q of the source cluster cannot be listed: %w; give the user of spec.secretRef the rights to list and watch them, or renew its token",
			kind, s.sync.Spec.SourceNamespace, err)
	}
	return protocol.Again(operation, reasonSource, "%ss in namespace %q of the source cluster cannot be listed: %w", kind, s.sync.Spec.SourceNamespace, err)
}

const (
	// kubeconfigLife is for how long the kubeconfig of a Shoot is asked for.
	kubeconfigLife = 24 * time.Hour
	// renewAfter is how old a kubeconfig of that life gets.
	renewAfter = kubeconfigLife / 2
)

// gatherShoots takes the Shoots of the source that match.
func gatherShoots(ctx context.Context, s *scope) error {
	if s.pattern == nil || s.sync.Spec.ShootNameExpression == "" {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(shootKind.GroupVersion().WithKind(shootKind.Kind + "List"))
	return s.eachPage(ctx, list, func() {
		for i := range list.Items {
			if shoot := &list.Items[i]; s.selects(shoot.Name) {
				s.wanted[shoot.Name] = &wanted{
					ref:     v1alpha1.LocalSecretReference{Name: shoot.Name, Key: kubeconfigKey},
					isShoot: true, leaving: !shoot.DeletionTimestamp.IsZero(),
				}
			}
		}
	})
}

// renewShoot asks for a kubeconfig where the last one is old or lost. It returns false where there is none: what an earlier sync has made stays.
func (r *Reconciler) renewShoot(ctx context.Context, s *scope, name string, shoot *wanted) (bool, error) {
	last, err := r.renewedAt(ctx, s, name)
	if err != nil {
		return false, err
	}
	if left := last.Add(renewAfter).Sub(s.now); left > 0 {
		s.wakeIn(left)
		shoot.renewed = last.Format(time.RFC3339)
		return true, nil
	}
	kubeconfig, life, err := requestKubeconfig(ctx, s.source, s.sync.Spec.SourceNamespace, name)
	if err != nil {
		s.fail("no kubeconfig for Shoot %q: %w", name, err)
		return false, nil
	}
	shoot.copy = &corev1.Secret{Data: map[string][]byte{kubeconfigKey: kubeconfig}, Type: corev1.SecretTypeOpaque}
	// The annotation has one meaning for every reader: half a day after it the next renewal is due. A shorter life therefore moves it back.
	due := min(life/2, renewAfter)
	shoot.renewed = s.now.Add(due - renewAfter).UTC().Format(time.RFC3339)
	s.wakeIn(due)
	return true, nil
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
