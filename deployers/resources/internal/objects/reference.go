// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Limits of the requests to a target.
const (
	// Attempts bounds how often one call answers a lost race with another read.
	Attempts = 5
	// Parallel bounds the requests that one call has under way at a time.
	Parallel = 16
)

// Client returns the client for the objects of a kind in a namespace. The namespace of cluster-scoped kinds is ignored.
func Client(cluster *target.Cluster, kind ResourceKind, namespace string) dynamic.ResourceInterface {
	if kind.Namespaced {
		return cluster.Dynamic.Resource(kind.GVR).Namespace(namespace)
	}
	return cluster.Dynamic.Resource(kind.GVR)
}

// Watched names an object for contract.Outcome.Watch.
func Watched(cluster *target.Cluster, ref managedresource.ResourceReference) contract.Watched {
	return contract.Watched{Cluster: cluster, APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// ReferenceTo names an object together with its UID.
func ReferenceTo(object *unstructured.Unstructured) managedresource.ResourceReference {
	return managedresource.ResourceReference{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName(),
		Namespace: object.GetNamespace(), UID: object.GetUID(),
	}
}

// Answered returns a reference with the UID of the object that the target has answered, and its name where the API server chose it. Nothing else is kept
// of the answer.
func Answered(asked managedresource.ResourceReference, live *unstructured.Unstructured) managedresource.ResourceReference {
	asked.UID = live.GetUID()
	if asked.Name == "" {
		asked.Name = live.GetName()
	}
	if live.GetNamespace() == "" { // its kind has none, whatever the manifest says
		asked.Namespace = ""
	}
	return asked
}

// Preconditions tie a destructive call to the state that it was decided on.
func Preconditions(live *unstructured.Unstructured) *metav1.Preconditions {
	uid, version := types.UID(live.GetUID()), live.GetResourceVersion()
	return &metav1.Preconditions{UID: &uid, ResourceVersion: &version}
}

// Identity tells objects apart across versions of their kind.
type Identity struct {
	GroupKind       schema.GroupKind
	Namespace, Name string
}

// IdentityOf returns what tells a referenced object apart.
func IdentityOf(ref managedresource.ResourceReference) Identity {
	return Identity{GroupKind: GVKOf(ref).GroupKind(), Namespace: ref.Namespace, Name: ref.Name}
}

// GVKOf returns the kind of a reference.
func GVKOf(ref managedresource.ResourceReference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
}

// ReferenceOf returns a reference of the API as records write it, without UID.
func ReferenceOf(ref *v1alpha1.TypedObjectReference) managedresource.ResourceReference {
	return managedresource.ResourceReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, Namespace: ref.Namespace}
}

// HasCondition reports whether an object has a condition with a status.
func HasCondition(object *unstructured.Unstructured, kind, status string) bool {
	return Condition(object, kind)["status"] == status
}

// Condition returns the fields of a condition of an object, nil for none.
func Condition(object *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok && fields["type"] == kind {
			return fields
		}
	}
	return nil
}

// Each calls work for the indexes below count, several at a time, and waits for all. A panic of one goes on in the caller.
func Each(count int, work func(i int)) {
	var running errgroup.Group
	running.SetLimit(Parallel)
	for i := range count {
		running.Go(func() error {
			return fault.Survived(context.Background(), func() error {
				work(i)
				return nil
			})
		})
	}
	if err := running.Wait(); err != nil {
		panic(err)
	}
}
