// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"cmp"
	"context"
	"regexp"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// kubeconfigKey is the key of every Secret with a kubeconfig, where nothing else is said.
const kubeconfigKey = "kubeconfig"

// Reasons of failures with the access to the source.
const (
	reasonSecretMissing = "SecretNotFound"
	reasonAccess        = "InvalidKubeconfig"
)

// access is the Secret with the kubeconfig of the source, and where in it that stands.
type access struct {
	secret *corev1.Secret
	key    string
}

// openSource opens the source cluster. It sends nothing to it.
func (r *Reconciler) openSource(ctx context.Context, s *scope) error {
	ref := s.sync.Spec.SecretRef
	s.access = access{secret: &corev1.Secret{}, key: ref.Key}
	s.access.key = cmp.Or(s.access.key, kubeconfigKey)
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: s.sync.Namespace, Name: ref.Name}, s.access.secret)
	if apierrors.IsNotFound(err) {
		return protocol.Wait(operation, reasonSecretMissing,
			"Secret %q does not exist in namespace %s; create it or correct spec.secretRef.name", ref.Name, s.sync.Namespace)
	}
	if err != nil {
		return err
	}
	raw := s.access.secret.Data[s.access.key]
	if len(raw) == 0 {
		return protocol.Wait(operation, reasonSecretMissing,
			"Secret %q has no key %q; add it, with the kubeconfig of the source cluster, or correct spec.secretRef.key", ref.Name, s.access.key)
	}
	s.source, err = r.Clusters.OpenKubeconfig(s.sync.Namespace, raw)
	if err != nil {
		return protocol.Stall(operation, reasonAccess, "key %q of Secret %q cannot be used: %w", s.access.key, ref.Name, err)
	}
	return nil
}

var (
	secretKind = corev1.SchemeGroupVersion.WithKind("Secret")
	shootKind  = schema.GroupVersionKind{Group: "core.gardener.cloud", Version: "v1beta1", Kind: "Shoot"}
)

// follow watches what the source is asked for, so that a change there is synced at once.
func (r *Reconciler) follow(_ context.Context, s *scope) error {
	key := client.ObjectKeyFromObject(s.sync)
	if s.pattern == nil {
		r.sources.leave(key)
		return nil
	}
	r.sources.follow(key, s.source, target.Stream{Kind: kindOf(&s.sync.Spec), Namespace: s.sync.Spec.SourceNamespace}, s.pattern)
	return nil
}

// kindOf returns the kind that clusters are known by at the source.
func kindOf(spec *v1alpha1.TargetSyncSpec) schema.GroupVersionKind {
	if spec.ShootNameExpression != "" {
		return shootKind
	}
	return secretKind
}

const (
	// tokenLife is for how long a token is asked for, rotateAfter how old it gets.
	tokenLife   = 90 * 24 * time.Hour
	rotateAfter = 60 * 24 * time.Hour
)

const reasonRotation = "TokenRotationFailed"

// rotateToken puts a new token into the Secret with the access to the source when it is time, or somebody asks. The old token stays valid
// until it expires, so nothing breaks when the process dies in between. A failure is a problem of the TargetSync; the sync goes on.
func (r *Reconciler) rotateToken(ctx context.Context, s *scope) error {
	if s.sync.Spec.TokenRotation == nil || !s.sync.Spec.TokenRotation.Enabled {
		return nil
	}
	if s.sync.Annotations[v1alpha1.RotateTokenAnnotation] == "" {
		s.sync.Status.LastHandledTokenRotation = ""
	}
	left := untilRotation(&s.sync.Status, s.sync.Annotations[v1alpha1.RotateTokenAnnotation], s.now)
	if left > 0 {
		s.wakeIn(left)
		return nil
	}
	if err := r.newToken(ctx, s); err != nil {
		if protocol.IsTransient(err) {
			return err
		}
		s.problems = append(s.problems, err)
		return nil
	}
	s.sync.Status.LastTokenRotationTime = &metav1.Time{Time: s.now}
	s.sync.Status.LastHandledTokenRotation = s.sync.Annotations[v1alpha1.RotateTokenAnnotation]
	s.wakeIn(rotateAfter)
	return r.writeStatus(ctx, s)
}

// untilRotation returns how long the token may stay. Asked is the value of the annotation that asks for a new one.
func untilRotation(status *v1alpha1.TargetSyncStatus, asked string, now time.Time) time.Duration {
	if status.LastTokenRotationTime == nil || protocol.IsAhead(status.LastTokenRotationTime.Time, now) || asked != "" && asked != status.LastHandledTokenRotation {
		return 0
	}
	return max(status.LastTokenRotationTime.Add(rotateAfter).Sub(now), 0)
}

// newToken asks the source for a token of the ServiceAccount that its kubeconfig acts as, and writes it into the Secret.
func (r *Reconciler) newToken(ctx context.Context, s *scope) error {
	secret, key := s.access.secret, s.access.key
	if protocol.IsOwnedByFlux(secret) {
		return protocol.Stall(operation, reasonRotation,
			"Secret %q is applied by Flux, which would put the old token back; take the Secret out of Git, or remove spec.tokenRotation", secret.Name)
	}
	var config clientcmdv1.Config
	if err := foreign.Unmarshal(secret.Data[key], &config); err != nil || len(config.AuthInfos) != 1 || config.AuthInfos[0].Name == "" {
		return protocol.Stall(operation, reasonRotation,
			"key %q of Secret %q has to be a kubeconfig with exactly one user, named as its ServiceAccount in namespace %q of the source cluster; correct it, or remove spec.tokenRotation",
			key, secret.Name, s.sync.Spec.SourceNamespace)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.sync.Spec.SourceNamespace, Name: config.AuthInfos[0].Name}}
	life := int64(tokenLife.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &life}}
	if err := s.source.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return protocol.Again(operation, reasonRotation,
			"no new token for ServiceAccount %q in namespace %q of the source cluster: %w; it needs the right to create serviceaccounts/token for itself",
			account.Name, account.Namespace, err)
	}
	config.AuthInfos[0].AuthInfo = clientcmdv1.AuthInfo{Token: request.Status.Token}
	written, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	secret.Data[key] = written
	return r.Update(ctx, secret)
}

const (
	// shortestPause and longestPause bound the time between two attempts to watch a source. The longest is also how often a source is
	// synced that allows no watch.
	shortestPause = time.Second
	longestPause  = 5 * time.Minute
)

// sources watches the source cluster of each TargetSync. It is safe for concurrent use.
type sources struct {
	// woken takes the TargetSyncs whose source has or may have changed.
	woken chan event.GenericEvent

	mu   sync.Mutex
	open map[types.NamespacedName]*watched
	done bool
}

// watched is the watch of one TargetSync.
type watched struct {
	config  *rest.Config
	stream  target.Stream
	pattern string
	cancel  context.CancelFunc
}

// follow keeps one watch open for a TargetSync: on the objects of stream whose names match pattern.
func (s *sources) follow(key types.NamespacedName, cluster *target.Cluster, stream target.Stream, pattern *regexp.Regexp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	present := s.open[key]
	if s.done || present != nil && present.config == cluster.Config && present.stream == stream && present.pattern == pattern.String() {
		return
	}
	if present != nil {
		present.cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	if s.open == nil {
		s.open = map[types.NamespacedName]*watched{}
	}
	s.open[key] = &watched{config: cluster.Config, stream: stream, pattern: pattern.String(), cancel: cancel}
	go s.watch(ctx, key, cluster, stream, pattern)
}

// leave ends the watch of a TargetSync.
func (s *sources) leave(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if present := s.open[key]; present != nil {
		present.cancel()
		delete(s.open, key)
	}
}

// watch opens the watch again whenever it breaks. The TargetSync is synced when it is open, for what went unnoticed before, and when it
// cannot be opened.
func (s *sources) watch(ctx context.Context, key types.NamespacedName, cluster *target.Cluster, stream target.Stream, pattern *regexp.Regexp) {
	wake := func() { s.wake(ctx, key) }
	pause := shortestPause
	for ctx.Err() == nil {
		began := time.Now()
		err := fault.Survived(ctx, func() error {
			return cluster.Follow(ctx, stream, target.Handler{Opened: wake, Changed: func(object *metav1.PartialObjectMetadata, _ bool) {
				if pattern.MatchString(object.Name) {
					wake()
				}
			}})
		})
		if time.Since(began) > longestPause {
			pause = shortestPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
		if err != nil {
			wake()
		}
	}
}

func (s *sources) wake(ctx context.Context, key types.NamespacedName) {
	sync := &v1alpha1.TargetSync{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	select {
	case s.woken <- event.GenericEvent{Object: sync}:
	case <-ctx.Done():
	}
}

// Start ends all watches with ctx, as a runnable of the manager.
func (s *sources) Start(ctx context.Context) error {
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	for _, present := range s.open {
		present.cancel()
	}
	return nil
}
