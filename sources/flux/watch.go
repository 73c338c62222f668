// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Key is the value under which referring objects are indexed and a source finds them: "kind/namespace/name".
func Key(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// KeyOf returns the Key of a source object, or "" if o is none.
func KeyOf(o client.Object) string {
	k, ok := kindOf(o)
	if !ok {
		return ""
	}
	return Key(k.name, o.GetNamespace(), o.GetName())
}

// KindOf returns the name of the kind of a source object, or "" if o is none.
func KindOf(o client.Object) string {
	k, _ := kindOf(o)
	return k.name
}

// KeyFor returns the Key of what ref names for an object in namespace owner.
func KeyFor(owner string, ref v1alpha1.SourceReference) string {
	return Key(ref.Kind, namespaceOf(owner, ref), ref.Name)
}

// RevisionChanged passes the events of a source that can change what Lookup returns about it: another revision or digest,
// or another reason why there is none. Retries, intervals and metadata of a usable source pass nobody. Objects of the
// initial list are left out, because whoever refers to them is listed at the same time.
func RevisionChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc:  func(e event.UpdateEvent) bool { return outcome(e.ObjectOld) != outcome(e.ObjectNew) },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// verdict is what a referring object depends on.
type verdict struct{ revision, digest, problem, unverified string }

func outcome(o client.Object) verdict {
	k, known := kindOf(o)
	source, typed := o.(Object)
	if !known || !typed {
		return verdict{}
	}
	if err := judge(k, source); err != nil {
		return verdict{problem: err.Error()}
	}
	a := source.GetArtifact()
	return verdict{revision: a.Revision, digest: a.Digest, unverified: unverified(source)}
}

// unverified is what a source that asks for verification says while it is not verified.
func unverified(o Object) string {
	if !asksForVerification(o) {
		return ""
	}
	if err := (Source{Object: o}).RequireVerified(); err != nil {
		return err.Error()
	}
	return ""
}
