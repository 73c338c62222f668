// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package contract is the deployer side of the DeployItem protocol: it selects items, claims their jobs, watches the clock and
// the cluster for them, and writes their status. A deployer only implements Deployer.
package contract

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Deployer carries out the DeployItems of one type. Its methods are idempotent: they may be called again at any point of
// a job, also after the process died in the middle of an earlier call, and they return early when ctx ends (timeout,
// interrupt, shutdown).
type Deployer interface {
	// Name is written to status.deployer.name, for example manifest.deployer.landscaper.gardener.cloud.
	Name() string
	// Type is the spec.type of the items, for example landscaper.gardener.cloud/kubernetes-manifest.
	Type() string
	// Ensure brings the target to what the item says. It returns an outcome also together with an error when it has
	// something to record (for example the resources handled so far).
	Ensure(ctx context.Context, item *Item) (Outcome, error)
	// Delete removes from the target what earlier jobs of the item put there.
	Delete(ctx context.Context, item *Item) (Outcome, error)
}

// Planner is a Deployer that knows before it reaches the target what a job sets out to put there. What it plans is recorded with
// the write that picks the job up, so that nothing is lost when the process dies in the middle of the job. Its Delete is called also when the
// target cannot be opened, because its records say whether the target is needed; see Item.TargetProblem.
type Planner interface {
	Deployer
	// Plan returns the provider status that records what the job of an item sets out to do, beside what the provider status of the
	// item says already. To is where the item's Target leads; of a cluster that does not answer it has the name of the Target only, and
	// nothing where the item names none. Plan only looks at the item, and must not change it. Nil leaves the provider status as it is.
	//
	// The Target may lead somewhere else when the deployer is called. Then it calls Item.Record before it changes anything there.
	//
	// The contract takes the plan back when a job ends that never touched the target, see Outcome.Untouched.
	Plan(item *v1alpha1.DeployItem, to managedresource.ClusterReference) *runtime.RawExtension
	// IsAt reports whether what the last job of an item deployed is where its Target leads, as far as the record says. Of a cluster that
	// does not answer the address is known only.
	IsAt(item *v1alpha1.DeployItem, to managedresource.ClusterReference) bool
	// Close returns what is left to record of status, a provider status with which the deployer ends the running job of an item: not what the
	// target refused to the job, because that was never created. A job that somebody else ends is not closed: a write of it may be on its way.
	Close(item *v1alpha1.DeployItem, status *runtime.RawExtension) *runtime.RawExtension
}

// Typed is a Deployer that knows all keys of its configurations. A key that is near to a known one fails the job before the deployer is called: what
// it was to say may be all that keeps what is deployed. Other unknown keys are shown by a condition and an event.
type Typed interface {
	Deployer
	// Configuration returns a value of the type that spec.config of an item is read into.
	Configuration(item *v1alpha1.DeployItem) any
}

// Item is one job of one DeployItem.
type Item struct {
	// DeployItem as read when the job was claimed. Deployers must not change it.
	DeployItem *v1alpha1.DeployItem
	// Target is the opened target; nil when the item names none. A Planner gets nil also in a deletion whose target cannot be opened.
	Target *target.Cluster
	// TargetProblem says in a deletion why the target that the item names cannot be opened. A Planner that has recorded something on
	// that target returns it.
	TargetProblem error
	// Targets opens other Targets of the item's namespace by name (exports, readiness checks and deletion groups may name them).
	Targets func(ctx context.Context, name string) (*target.Cluster, error)
	// Leading opens Targets of the item's namespace that lead to an address, see target.Clients.Leading. Nil finds none.
	Leading func(ctx context.Context, address string) ([]*target.Cluster, error)
	// Changed reports whether something that the last outcome of the job watches may have changed since that call began. Everything else
	// may have. Nil means that everything may.
	Changed func(watched Watched) bool
	// Record writes a provider status at once. A Planner needs it before it changes something that its plan does not cover.
	Record func(ctx context.Context, status *runtime.RawExtension) error
	// DeployItems reads other DeployItems live. What marks on a target say about their owners is true only as far as these exist.
	DeployItems client.Reader
	// Siblings reads other DeployItems of the deployer's type from its cache, which may be behind. What it returns must not be changed.
	Siblings client.Reader
	// Context of the item, with the pull secrets read.
	Context *Context
	// Deadline is when the job times out; zero means never.
	Deadline time.Time
	// Checkpoint names the current step in timeout messages; it returns an error with code ERR_TIMEOUT when the time is up.
	Checkpoint func(name string) error
	// Waits says that the call is about to wait, so that it does not count as one of those worked on at the same time. It returns at once, and may be
	// called at any time and by any goroutine of the call. A call that takes longer than a second counts as one that waits anyhow. It may be nil.
	Waits func()
	// Warn posts a Warning event about what the job is about to do, once a job and reason. Nil posts none.
	Warn func(reason, message string)
	// Wake brings the job back to the deployer, for what no watch shows. It may be called at any time and by anybody, also when the job is over.
	Wake func()
	// Memory is kept between the calls of one job as long as the process lives, so that a call need not repeat what an earlier one
	// has done. It is empty after a restart.
	Memory map[string]any
}

// Context is what a deployer may use of a landscaper Context.
type Context struct {
	// Configuration is the content of the Context object.
	Configuration v1alpha1.ContextConfiguration
	// PullSecrets are the contents of the registry pull secrets, by Secret name and key. Never log them.
	PullSecrets map[string]map[string][]byte
	// OCMConfig is the OCM configuration, which may hold logins; empty when there is none. Never log it.
	OCMConfig []byte
	// Overwrites reads the overwrites of component references, if the Context names any. Nil means that there are none.
	Overwrites func(ctx context.Context) ([]v1alpha1.ComponentVersionOverwrite, error)
}

// Outcome is what one call of a Deployer achieved.
type Outcome struct {
	// Done says that the job is complete. When false and the error is nil, the job waits.
	Done bool
	// Waiting says in a sentence what the job waits for; it is shown in the Ready condition.
	Waiting string
	// Watch lists the objects whose next change brings the job on. With an empty list only the deadline does.
	Watch []Watched
	// ProviderStatus replaces the provider status when set.
	ProviderStatus *runtime.RawExtension
	// Untouched says that the call changed nothing on any target, and that an earlier call of the job which did would have been
	// noticed. It allows the contract to take back what Planner.Plan recorded.
	Untouched bool
	// Warning is something that a person has to know about although the job succeeds. It becomes a Warning event and part of the Ready
	// condition.
	Warning string
	// Sources are what the job has used of sources; they become status.sources. An empty list says that it uses none, or waits for its source, so
	// that another job follows when this one ends before the source offers something. Nil leaves the status as it is.
	Sources []v1alpha1.SourceStatus
	// Event is posted when the job ends well. Nil posts none.
	Event *Event
	// Exports are written to the export Secret once the job is complete. Nil means no exports.
	Exports map[string]any
	// Conditions of the deployer's own are set beside those of the contract. Those of earlier calls stay.
	Conditions []metav1.Condition
}

// Event is a Normal event about what a job has done.
type Event struct {
	// Reason in CamelCase, and the message for people.
	Reason, Message string
	// Revision is what the event is about, for receivers of notifications: of a source, or the version of what was deployed. It may be empty.
	Revision string
}

// Watched is one object, or one kind of objects, on a target whose change brings a waiting job on.
type Watched struct {
	// Cluster the object lives on.
	Cluster *target.Cluster
	// APIVersion and Kind of the object.
	APIVersion, Kind string
	// Namespace of the object; empty for cluster-scoped objects.
	Namespace string
	// Name of the object; empty for all of the kind in the namespace.
	Name string
}
