// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// FieldManager owns the fields that this package writes.
const FieldManager = "landscaper-deployer"

// Session is the work of one call of a deployer on one target. It is safe for concurrent use.
type Session struct {
	// Cluster is the target; nil in the deletion of a DeployItem whose target cannot be opened.
	Cluster *target.Cluster
	// Targets opens other Targets by name; it may be nil when nothing names one.
	Targets func(ctx context.Context, name string) (*target.Cluster, error)
	// Leading opens Targets that lead to an address; it may be nil, which finds none.
	Leading func(ctx context.Context, address string) ([]*target.Cluster, error)
	// Owner is the DeployItem that the objects belong to.
	Owner Owner
	// Job is the ID of its job.
	Job string
	// Checkpoint names the current step; it returns an error when the time of the DeployItem is up.
	Checkpoint func(name string) error
	// Changed reports whether an object that was watched may have changed since it was read; nil means that all may have.
	Changed func(watched contract.Watched) bool
	// DeployItems reads other DeployItems of the namespace live; without it every one still holds what carries its marks.
	DeployItems crclient.Reader
	// Siblings reads DeployItems from a cache; nil for none.
	Siblings crclient.Reader

	// served is how the targets serve kinds.
	served served
	// releases is what is known of the Helm releases on the targets.
	releases releases
}

// NewSession returns the session of one job. The labels are put on the objects beside the manifest deployer's own.
func NewSession(item *contract.Item, labels map[string]string) *Session {
	return &Session{
		Cluster:    item.Target,
		Targets:    item.Targets,
		Leading:    item.Leading,
		Owner:      Owner{Item: item.DeployItem.Name, Namespace: item.DeployItem.Namespace, UID: item.DeployItem.UID, Labels: maps.Clone(labels)},
		Job:        item.DeployItem.Status.JobID,
		Checkpoint: item.Checkpoint,
		Changed:    item.Changed,

		DeployItems: item.DeployItems, Siblings: item.Siblings,
	}
}

// Step is Checkpoint for sessions with and without one.
func (s *Session) Step(format string, args ...any) error {
	if s.Checkpoint == nil {
		return nil
	}
	return s.Checkpoint(fmt.Sprintf(format, args...))
}

// on returns the target named name, the target of the DeployItem when name is nil or empty.
func (s *Session) on(ctx context.Context, name *string) (*target.Cluster, error) {
	if (name == nil || *name == "") && s.Cluster != nil {
		return s.Cluster, nil
	}
	if name == nil || *name == "" {
		return nil, errors.New("no target is named")
	}
	if s.Targets == nil {
		return nil, fmt.Errorf("target %s cannot be used here, remove targetName", *name)
	}
	cluster, err := s.Targets(ctx, *name)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", *name, err)
	}
	return cluster, nil
}

// get reads one object live.
func (s *served) get(ctx context.Context, cluster *target.Cluster, ref managedresource.ResourceReference) (*unstructured.Unstructured, error) {
	kind, err := s.ofAnyVersion(ctx, cluster, gvkOf(ref))
	if err != nil {
		return nil, err
	}
	live, err := client(cluster, kind, ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if isUnserved(err) {
		if kind, err = s.anew(ctx, cluster, gvkOf(ref).GroupKind()); err != nil {
			return nil, err
		}
		live, err = client(cluster, kind, ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, objectError("read", ref, err)
	}
	return live, nil
}

// client returns the client for the objects of a kind in a namespace. The namespace of cluster-scoped kinds is ignored.
func client(cluster *target.Cluster, kind resourceKind, namespace string) dynamic.ResourceInterface {
	if kind.Namespaced {
		return cluster.Dynamic.Resource(kind.GVR).Namespace(namespace)
	}
	return cluster.Dynamic.Resource(kind.GVR)
}

// watched names an object for contract.Outcome.Watch.
func watched(cluster *target.Cluster, ref managedresource.ResourceReference) contract.Watched {
	return contract.Watched{Cluster: cluster, APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// referenceTo names an object together with its UID.
func referenceTo(object *unstructured.Unstructured) managedresource.ResourceReference {
	return managedresource.ResourceReference{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName(),
		Namespace: object.GetNamespace(), UID: object.GetUID(),
	}
}

// preconditions tie a destructive call to the state that it was decided on.
func preconditions(live *unstructured.Unstructured) *metav1.Preconditions {
	uid, version := types.UID(live.GetUID()), live.GetResourceVersion()
	return &metav1.Preconditions{UID: &uid, ResourceVersion: &version}
}
