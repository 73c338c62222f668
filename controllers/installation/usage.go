// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"encoding/json"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

const (
	// contextIndex finds the Installations with a Context.
	contextIndex = "context"
	// usedByContextIndex finds the Contexts that name an object.
	usedByContextIndex = "used-by-context"
)

// contextsOf indexes Installations by their Context: each needs to know what its blueprint may use.
func contextsOf(obj client.Object) []string {
	inst, ok := obj.(*v1alpha1.Installation)
	if !ok {
		return nil
	}
	return []string{inst.ContextName()}
}

// usedByContext indexes Contexts by what they name: "kind/name" for objects of their namespace, the key of a source, and for Secrets with
// keys of signatures "Secret/namespace/name".
func usedByContext(obj client.Object) []string {
	c, ok := obj.(*v1alpha1.Context)
	if !ok {
		return nil
	}
	var keys []string
	for _, secret := range c.RegistryPullSecrets {
		keys = append(keys, "Secret/"+c.Namespace+"/"+secret.Name)
	}
	if c.OCMConfig != nil {
		keys = append(keys, "ConfigMap/"+c.Namespace+"/"+c.OCMConfig.Name)
	}
	if name := c.ComponentVersionOverwritesReference; name != "" {
		keys = append(keys, "ComponentVersionOverwrites/"+c.Namespace+"/"+name)
	}
	for _, signature := range c.VerificationSignatures {
		for _, ref := range []*v1alpha1.SecretReference{signature.PublicKeySecretReference, signature.CaCertificateSecretReference} {
			if ref != nil {
				keys = append(keys, "Secret/"+secretKey(c.Namespace, ref).String())
			}
		}
	}
	if ref := repositorySource(c.RepositoryContext); ref != nil {
		keys = append(keys, flux.KeyFor(c.Namespace, *ref))
	}
	return keys
}

// secretKey returns the Secret that a reference of an object in a namespace names.
func secretKey(namespace string, ref *v1alpha1.SecretReference) client.ObjectKey {
	if ref.Namespace != "" {
		namespace = ref.Namespace
	}
	return client.ObjectKey{Namespace: namespace, Name: ref.Name}
}

// repositorySource returns the Flux source that a typed repository lies in, nil when it lies elsewhere.
func repositorySource(repository *v1alpha1.AnyJSON) *v1alpha1.SourceReference {
	var typed struct {
		SourceRef *v1alpha1.SourceReference `json:"sourceRef"`
	}
	if repository == nil || json.Unmarshal(repository.RawMessage, &typed) != nil {
		return nil
	}
	return typed.SourceRef
}

// usersOfContext wakes the Installations that may wait for a Context.
func (r *Reconciler) usersOfContext(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.findAll(ctx, contextIndex, obj.GetName(), unsettled, client.InNamespace(obj.GetNamespace()))
}

// unsettled keeps the Installations that are at work or have failed: for the others a Context counts with their next job.
func unsettled(inst *v1alpha1.Installation) bool {
	return !inst.Status.IsIdle() || inst.Status.Phase.IsFailed()
}

// usersThroughContext wakes the Installations that may wait for an object that their Context names.
func (r *Reconciler) usersThroughContext(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		return r.throughContext(ctx, kind+"/"+client.ObjectKeyFromObject(obj).String())
	})
}

func (r *Reconciler) throughContext(ctx context.Context, key string) []reconcile.Request {
	list := &v1alpha1.ContextList{}
	if err := r.List(ctx, list, client.MatchingFields{usedByContextIndex: key}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Contexts that name an object", "key", key)
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, r.usersOfContext(ctx, &list.Items[i])...)
	}
	return requests
}
