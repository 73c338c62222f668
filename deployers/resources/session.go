// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

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
	Served Served
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
		return nil, Misconfigured("no target is named; set spec.target, or targetName")
	}
	if s.Targets == nil {
		return nil, Misconfigured("target %s cannot be used here, remove targetName", *name)
	}
	cluster, err := s.Targets(ctx, *name)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", *name, err)
	}
	return cluster, nil
}

const (
	// namedInWaiting bounds how many reasons Progress.Waiting spells out.
	namedInWaiting = 3
	// MaxReason is the length of a reason in bytes: it is kept as long as a job waits, and may hold what an object of the target says.
	MaxReason = 1024
)

// Progress says what a piece of work waits for. The zero value is complete.
type Progress struct {
	// Reasons say what is missing, one sentence for each object.
	Reasons []string
	// Watch lists the objects whose next change may bring the work on.
	Watch []contract.Watched
}

// Done reports whether nothing is missing.
func (p Progress) Done() bool { return len(p.Reasons) == 0 }

// Waiting returns the reasons as one sentence for contract.Outcome.Waiting.
func (p Progress) Waiting() string {
	if len(p.Reasons) <= namedInWaiting {
		return strings.Join(p.Reasons, "; ")
	}
	return strings.Join(p.Reasons[:namedInWaiting], "; ") + "; and more"
}

// Outcome returns an unfinished outcome that waits for what is missing.
func (p Progress) Outcome() contract.Outcome {
	return contract.Outcome{Waiting: p.Waiting(), Watch: p.Watch}
}

// Wait adds a reason to wait, with the objects to watch for its end.
func (p *Progress) Wait(reason string, watch ...contract.Watched) {
	p.Reasons = append(p.Reasons, foreign.Beginning(reason, MaxReason))
	p.Watch = append(p.Watch, watch...)
}

// Add makes what other waits for part of what p waits for.
func (p *Progress) Add(other Progress) {
	p.Reasons = append(p.Reasons, other.Reasons...)
	p.Watch = append(p.Watch, other.Watch...)
}

// Orphans returns the known resources that are not among the current ones: neither their UID nor their group, kind, namespace
// and name is.
func Orphans(known, current []managedresource.ManagedResourceStatus) []managedresource.ManagedResourceStatus {
	names := Identities(current)
	uids := map[string]bool{}
	for _, c := range current {
		uids[string(c.Resource.UID)] = c.Resource.UID != ""
	}
	return slices.DeleteFunc(slices.Clone(known), func(k managedresource.ManagedResourceStatus) bool {
		_, named := names[IdentityOf(k.Resource)]
		return named || uids[string(k.Resource.UID)]
	})
}

// Union returns the first resources and those of the second that are not among them.
func Union(first, second []managedresource.ManagedResourceStatus) []managedresource.ManagedResourceStatus {
	return append(slices.Clone(first), Orphans(second, first)...)
}

// Distinct returns resources without those whose identity one before them has.
func Distinct(all iter.Seq[managedresource.ManagedResourceStatus]) []managedresource.ManagedResourceStatus {
	known := map[Identity]bool{}
	var distinct []managedresource.ManagedResourceStatus
	for one := range all {
		if identity := IdentityOf(one.Resource); !known[identity] {
			known[identity], distinct = true, append(distinct, one)
		}
	}
	return distinct
}

// Stays reports whether a policy says that an object is never deleted.
func Stays(m managedresource.ManagedResourceStatus) bool {
	return m.Policy == managedresource.KeepPolicy || m.Policy == managedresource.IgnorePolicy
}

// Identities returns records by the identities of their objects.
func Identities(managed []managedresource.ManagedResourceStatus) map[Identity]managedresource.ManagedResourceStatus {
	set := make(map[Identity]managedresource.ManagedResourceStatus, len(managed))
	for _, m := range managed {
		set[IdentityOf(m.Resource)] = m
	}
	return set
}

// References returns the objects that records name, without those that are to be ignored.
func References(records []managedresource.ManagedResourceStatus) []managedresource.ResourceReference {
	var refs []managedresource.ResourceReference
	for _, record := range records {
		if record.Policy != managedresource.IgnorePolicy {
			refs = append(refs, record.Resource)
		}
	}
	return slices.Clip(refs)
}
