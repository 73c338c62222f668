// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"fmt"
	"maps"
	"strings"

	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/fields"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// FieldManager owns the fields that this package writes.
const FieldManager = fields.Manager

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
	// Warn is that of contract.Item; nil warns nobody.
	Warn func(reason, message string)
	// DeployItems reads other DeployItems of the namespace live; without it every one still holds what carries its marks.
	DeployItems crclient.Reader
	// Siblings reads DeployItems from a cache; nil for none.
	Siblings crclient.Reader

	// Served is how the targets serve kinds.
	Served objects.Served
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
		Warn:       item.Warn,

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

// WarnOfDeletion says, before it comes to it, that a job deletes all objects on record because nothing is desired any more. That may be a mistake of
// a template, and nobody has deleted the item.
func (s *Session) WarnOfDeletion(desired []Desired, recorded []managedresource.ManagedResourceStatus, because string) {
	var names []string
	for _, one := range recorded {
		if !Stays(one) {
			names = append(names, one.Resource.String())
		}
	}
	if s.Warn == nil || len(desired) > 0 || len(names) == 0 {
		return
	}
	s.Warn(protocol.ReasonDeletesAll, fmt.Sprintf("the job deletes all objects that the item has deployed, because %s: %s", because, foreign.Beginning(strings.Join(names, ", "), MaxReason/2)))
}

// On returns the target named name, the target of the DeployItem when name is nil or empty.
func (s *Session) On(ctx context.Context, name *string) (*target.Cluster, error) {
	if (name == nil || *name == "") && s.Cluster != nil {
		return s.Cluster, nil
	}
	if name == nil || *name == "" {
		return nil, objects.Misconfigured("no target is named; set spec.target, or targetName")
	}
	if s.Targets == nil {
		return nil, objects.Misconfigured("target %s cannot be used here, remove targetName", *name)
	}
	cluster, err := s.Targets(ctx, *name)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", *name, err)
	}
	return cluster, nil
}
