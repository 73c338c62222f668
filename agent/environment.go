// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

const (
	// fieldManager is who writes the Environment.
	fieldManager = "landscaper-agent"
	// rewriteInterval is how often the agent at most writes an Environment anew that somebody else keeps changing, after rewriteBurst times.
	rewriteInterval = time.Minute
	rewriteBurst    = 5
)

// reasonEnded says that the agent has cleaned up because the Environment was deleted.
const reasonEnded = "EnvironmentEnded"

// environment keeps the Environment as this agent describes it. Fields that it does not write stay as they are.
type environment struct {
	config *Configuration
	link   *Link
	host   *host
	client client.Client
	live   client.Reader
	retry  *queue.Backoff
	say    func(eventType, reason, message string)
	// trouble is why it is not.
	trouble *trouble
	// registered is called when the Environment is as it should be, or has ended, for the first time.
	registered func()
	known      atomic.Bool
	// ended says that the agent has cleaned up because the Environment is being deleted, and gone that it is gone.
	ended bool
	gone  atomic.Bool
	pace  flowcontrol.PassiveRateLimiter
	// again asks for one more look.
	again nudge
}

func (e *environment) setup(mgr ctrl.Manager) error {
	e.pace = flowcontrol.NewTokenBucketPassiveRateLimiter(float32(time.Second)/float32(rewriteInterval), rewriteBurst)
	return ctrl.NewControllerManagedBy(mgr).Named("agent-environment").
		For(&v1alpha1.Environment{}).
		WatchesRawSource(e.again.source(e.request())).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, SkipNameValidation: new(true)}).
		Complete(e)
}

func (e *environment) request() ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Name: e.config.Name}}
}

// Reconcile registers the Environment, writes it anew where somebody has changed it, and cleans up when it is deleted.
func (e *environment) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	after, err := e.reconcile(ctx)
	if err != nil {
		e.trouble.met(err, refuser(err))
		after = e.retry.After(request.NamespacedName, err)
		ctrl.LoggerFrom(ctx).Error(err, "unable to keep the Environment", "retryAfter", after.String())
		return ctrl.Result{RequeueAfter: after}, nil
	}
	e.retry.Forget(request.NamespacedName)
	e.trouble.over()
	return ctrl.Result{RequeueAfter: after}, nil
}

func (e *environment) reconcile(ctx context.Context) (time.Duration, error) {
	if e.gone.Load() {
		return 0, nil
	}
	found := &v1alpha1.Environment{}
	err := e.client.Get(ctx, e.request().NamespacedName, found)
	switch {
	case apierrors.IsNotFound(err) && (e.known.Load() || e.host.ended.Load()):
		return 0, e.deleted(ctx)
	case apierrors.IsNotFound(err):
		return e.write(ctx, nil)
	case err != nil:
		return 0, fmt.Errorf("read Environment %q: %w", e.config.Name, err)
	case !found.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(found, v1alpha1.DeployerManagementFinalizer):
		return 0, e.end(ctx, found)
	}
	return e.write(ctx, found)
}

// write applies the Environment unless it is as wanted already.
func (e *environment) write(ctx context.Context, found *v1alpha1.Environment) (time.Duration, error) {
	deleting := found != nil && !found.DeletionTimestamp.IsZero()
	if found != nil && e.isWanted(found) {
		e.wrote()
		return 0, nil
	}
	if e.known.Load() && !e.pace.TryAccept() {
		e.say(corev1.EventTypeWarning, "EnvironmentContested", fmt.Sprintf(
			"Environment %q is changed by somebody else again and again; remove it from what Flux or others apply, or remove the fields that the agent writes", e.config.Name))
		return rewriteInterval, nil
	}
	content, err := e.apply(deleting && !controllerutil.ContainsFinalizer(found, v1alpha1.AgentFinalizer))
	if err != nil {
		return 0, err
	}
	if err := e.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(content), client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
		return 0, fmt.Errorf("write Environment %q: %w", e.config.Name, err)
	}
	e.wrote()
	return 0, nil
}

func (e *environment) wrote() {
	if e.known.CompareAndSwap(false, true) {
		e.registered()
		e.say(corev1.EventTypeNormal, "EnvironmentRegistered", fmt.Sprintf("Environment %q is registered", e.config.Name))
	}
}

// wanted is the part of the spec that the agent writes.
func (e *environment) wanted() v1alpha1.EnvironmentSpec {
	reference, _ := json.Marshal(map[string]any{"kubeconfig": map[string]any{"secretRef": map[string]string{
		"name": e.config.accessName(), "namespace": e.config.Namespace, "key": accessKey,
	}}})
	content := v1alpha1.NewAnyJSON(reference)
	return v1alpha1.EnvironmentSpec{
		HostTarget: v1alpha1.TargetTemplate{
			TargetSpec: v1alpha1.TargetSpec{Type: v1alpha1.KubernetesClusterTargetType, Configuration: &content},
			Annotations: map[string]string{
				v1alpha1.EnvironmentAnnotation: e.config.Name, v1alpha1.DeployerOnlyAnnotation: "true",
			},
		},
		Namespace: e.config.Namespace, LandscaperClusterRestConfig: e.link.Server(), TargetSelectors: e.config.TargetSelectors,
	}
}

// ownFields are the fields of the spec that the agent writes.
var ownFields = []string{"hostTarget", "namespace", "landscaperClusterConfig", "targetSelectors"}

// isWanted reports whether the agent has nothing to write.
func (e *environment) isWanted(found *v1alpha1.Environment) bool {
	if found.DeletionTimestamp.IsZero() && !slices.Contains(found.Finalizers, v1alpha1.AgentFinalizer) {
		return false
	}
	have, errHave := fieldsOf(found.Spec)
	want, errWant := fieldsOf(e.wanted())
	if errHave != nil || errWant != nil {
		return false
	}
	return !slices.ContainsFunc(ownFields, func(name string) bool {
		same, err := storage.SameJSON(have[name], want[name])
		return err != nil || !same
	})
}

func fieldsOf(spec v1alpha1.EnvironmentSpec) (map[string]any, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	return fields, json.Unmarshal(raw, &fields)
}

// apply is what the agent applies. A finalizer cannot be added to what is being deleted.
func (e *environment) apply(withoutFinalizer bool) (*unstructured.Unstructured, error) {
	all, err := fieldsOf(e.wanted())
	if err != nil {
		return nil, fmt.Errorf("write Environment %q: %w", e.config.Name, err)
	}
	spec := map[string]any{}
	for _, name := range ownFields {
		if all[name] != nil {
			spec[name] = all[name]
		}
	}
	metadata := map[string]any{"name": e.config.Name}
	if !withoutFinalizer {
		metadata["finalizers"] = []any{v1alpha1.AgentFinalizer}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Environment", "metadata": metadata, "spec": spec,
	}}, nil
}

// end cleans up in the own cluster once no deployer of the Environment is left. The finalizer of the agent is for an administrator to remove, or
// for the agent where the Environment says so.
func (e *environment) end(ctx context.Context, found *v1alpha1.Environment) error {
	first := !e.ended
	if err := e.host.uninstall(ctx); err != nil {
		return err
	}
	e.ended = true
	if e.known.CompareAndSwap(false, true) {
		e.registered() // by an agent before this process: there is nothing to wait for
	}
	if found.Annotations[v1alpha1.ReleaseAgentAnnotation] == "true" {
		err := protocol.PatchMetadata(ctx, e.client, found, protocol.MetadataChange{RemoveFinalizer: v1alpha1.AgentFinalizer})
		if apierrors.IsConflict(err) {
			return nil // somebody has written it in between, so that it comes again
		}
		return client.IgnoreNotFound(err)
	}
	if first {
		e.say(corev1.EventTypeNormal, reasonEnded, fmt.Sprintf(
			"the access of the deployers to this cluster is deleted; uninstall the agent, then remove the finalizer %s of Environment %q, or let the agent do it by the annotation %s",
			v1alpha1.AgentFinalizer, e.config.Name, v1alpha1.ReleaseAgentAnnotation))
	}
	return nil
}

// deleted ends the work: an Environment that somebody has deleted does not come back by itself.
func (e *environment) deleted(ctx context.Context) error {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Environment"))
	if err := e.live.Get(ctx, e.request().NamespacedName, live); !apierrors.IsNotFound(err) {
		return err
	}
	if err := e.host.uninstall(ctx); err != nil {
		return err
	}
	e.gone.Store(true)
	kind, reason, was := corev1.EventTypeWarning, "EnvironmentDeleted", "was deleted without its end"
	if e.ended {
		kind, reason, was = corev1.EventTypeNormal, reasonEnded, "is gone, and the access of the deployers to this cluster with it"
	}
	e.say(kind, reason, fmt.Sprintf("Environment %q %s; uninstall the agent, or restart it to register the Environment again", e.config.Name, was))
	return nil
}
