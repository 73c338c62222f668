// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package forecast says what jobs will do before anybody starts them. It copies a landscape into memory, applies the files of a directory to the copy as Flux
// would, lets the controllers of the engine work on it until they rest, and compares. Deployers are not called: what an item would deploy is read from its
// configuration, by the code of its deployer. What nobody can know before is said to be unknown, with the reason. Nothing is written anywhere.
package forecast

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/execution"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// Of says what the jobs after a change from a former state to files would do. Former is a cluster, or else other files.
func Of(ctx context.Context, former Former, files *Files) (*Forecast, error) {
	s, err := newSimulation(former.Cluster, former.Files != nil)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.targets = former.Targets
	if former.Files == nil {
		err = s.copyCluster(ctx, former.Cluster, former.Namespace, files)
	} else if err = s.apply(ctx, former.Files, former.Namespace); err == nil {
		err = s.settle(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.change(ctx, files, former.Namespace)
}

// change applies files to the landscape as it is, and says what follows.
func (s *simulation) change(ctx context.Context, files *Files, namespace string) (*Forecast, error) {
	before, err := landscape.Read(ctx, s.store, "")
	if err != nil {
		return nil, err
	}
	s.before, s.started, s.applied, s.unsure = before, map[client.ObjectKey]string{}, nil, map[client.ObjectKey][]string{}
	s.store.mark()
	if err := s.apply(ctx, files, namespace); err != nil {
		return nil, err
	}
	if len(s.unseen) == 0 {
		if err := s.settle(ctx); err != nil {
			return nil, err
		}
	}
	if s.after, err = landscape.Read(ctx, s.store, ""); err != nil {
		return nil, err
	}
	return s.compare(ctx)
}

// Former is the state that files are compared with.
type Former struct {
	// Cluster reads the landscaper cluster; nil where Files are compared.
	Cluster client.Client
	// Namespace is that of objects which name none, and the one that is looked at; empty looks at all.
	Namespace string
	// Files are those of another revision.
	Files *Files
	// Targets open the targets of jobs, whose API servers are asked by dry runs then; nil asks none.
	Targets *target.Clients
}

// simulation is one landscape in memory with all that works on it.
type simulation struct {
	store         *store
	installations *installation.Reconciler
	executions    *execution.Reconciler
	artifacts     *artifacts
	downloads     *fetch.Store
	registries    *oci.Client
	charts        *charts
	// targets are asked what they say to jobs, but for those that are silent; nil asks none.
	targets *target.Clients
	silent  map[client.ObjectKey]error

	// hidden are the kinds that the reader may not list, in the plural, and unseen those of them without which nobody knows what a job does.
	hidden, unseen []string
	// kustomizations are those that keep what is in the files.
	kustomizations []kustomization
	// applied are changes of other objects than Installations, and notes what the files leave open.
	applied []ObjectChange
	notes   []string
	// present are the objects of the files that were applied last.
	present map[landscape.ID]bool
	// started has by Installation why its job starts, and unread why nobody knows whether it does.
	started map[client.ObjectKey]string
	unread  map[client.ObjectKey]error
	// unsure has by DeployItem what nobody knows of its exports.
	unsure map[client.ObjectKey][]string

	before, after *landscape.Snapshot
}

// newSimulation prepares an empty landscape. Alone has no cluster below it.
func newSimulation(cluster client.Client, alone bool) (*simulation, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, landscape.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	s := &simulation{artifacts: newArtifacts(), silent: map[client.ObjectKey]error{}, started: map[client.ObjectKey]string{}, unread: map[client.ObjectKey]error{}, unsure: map[client.ObjectKey][]string{}}
	var err error
	if alone || cluster == nil {
		s.store, err = newStore(scheme, nil, nil)
	} else {
		s.store, err = newStore(scheme, cluster.RESTMapper(), cluster)
	}
	if err != nil {
		return nil, err
	}
	if s.downloads, err = fetch.New(fetch.Options{Transport: s.artifacts, Retries: -1, Timeout: patience}); err != nil {
		return nil, err
	}
	if s.registries, err = oci.New(oci.Options{}); err != nil {
		return nil, err
	}
	repositories, err := repository.New(repository.Options{
		OCI: s.registries, Store: s.downloads, Source: flux.Finder(s.store, flux.Policy{}), Secret: repository.SecretReader(s.store),
		PullSecrets: repository.AccountReader(s.store), Timeout: patience,
	})
	if err != nil {
		return nil, err
	}
	silent := &record.FakeRecorder{}
	s.installations = &installation.Reconciler{
		Client: s.store, Live: s.store, Recorder: silent, Now: time.Now, Backoff: queue.NewBackoff(time.Millisecond, time.Second),
		Observe: s.observe, Following: installation.Following{ByDefault: true}, // nobody knows what a cluster would say
		Inputs: inputs.Reader{Reader: s.store, Live: s.store, Artifacts: s.downloads, Repositories: repositories},
	}
	s.executions = &execution.Reconciler{Client: s.store, Live: s.store, Recorder: silent, Now: time.Now, Backoff: queue.NewBackoff(time.Millisecond, time.Second)}
	if err := s.installations.SetUp(context.Background(), s.store, s.store); err != nil {
		return nil, err
	}
	if err := s.executions.SetUp(context.Background(), s.store); err != nil {
		return nil, err
	}
	renderer, err := helm.NewRenderer(components.Access{Registries: s.registries, Artifacts: s.downloads, Sources: s.store, Live: s.store})
	s.charts = &charts{renderer: renderer, known: map[renderedItem]rendered{}}
	return s, err
}

// patience is how long a download may take: a server of the cluster's network may not answer here.
const patience = 10 * time.Second

func (s *simulation) close() {
	_ = s.registries.Close()
	_ = s.downloads.Close()
}

// copyCluster takes over what the reader may list.
func (s *simulation) copyCluster(ctx context.Context, cluster client.Client, namespace string, files *Files) error {
	snapshot, err := landscape.Read(ctx, cluster, namespace)
	if err != nil {
		return err
	}
	hidden := map[string]bool{}
	for _, kind := range snapshot.Withheld {
		hidden[kind] = true
		s.hidden = append(s.hidden, landscape.PluralOf(kind))
		if slices.Contains([]string{"Execution", "DeployItem", "Target", "DataObject", "Context"}, kind) {
			s.unseen = append(s.unseen, landscape.PluralOf(kind))
		}
	}
	if hidden["Installation"] {
		return fmt.Errorf("you may not list Installations; ask for the rights of the role view")
	}
	for _, kind := range landscape.Kinds {
		if hidden[kind.Name] {
			continue
		}
		if err := s.store.load(kind.New(), snapshot.Objects(kind.Name)); err != nil {
			return err
		}
	}
	s.installations.Following = installation.FollowingOf(snapshot.Installations.Items)
	s.installations.Following.Namespaces = namespace == "" || s.store.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{}) == nil
	s.kustomizations = kustomizationsOf(snapshot, files)
	return nil
}

// observe notes how a reconciliation of an Installation ends. Status does not show errors on the way to what is read.
func (s *simulation) observe(inst *v1alpha1.Installation, started string, err error) {
	key := client.ObjectKeyFromObject(inst)
	if started != "" {
		s.started[key] = started
	}
	delete(s.unread, key)
	if protocol.IsTransient(err) || errors.As(err, new(inputs.UnreadSource)) {
		s.unread[key] = err
	}
}

// mostPasses ends landscapes that never rest.
const mostPasses = 1000

// settle lets the controllers work until nothing changes any more.
func (s *simulation) settle(ctx context.Context) error {
	for range mostPasses {
		version := s.store.version
		if err := s.pass(ctx); err != nil {
			return err
		}
		if s.store.version == version {
			return ctx.Err()
		}
	}
	s.notes = append(s.notes, "the landscape does not come to rest: its jobs start each other; what is shown is a moment of that")
	return nil
}

func (s *simulation) pass(ctx context.Context) error {
	request := func(object client.Object) ctrl.Request {
		return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}
	}
	installations := &v1alpha1.InstallationList{}
	if err := s.store.List(ctx, installations); err != nil {
		return err
	}
	for i := range installations.Items {
		if _, err := s.installations.Reconcile(ctx, request(&installations.Items[i])); err != nil {
			return err
		}
	}
	executions := &v1alpha1.ExecutionList{}
	if err := s.store.List(ctx, executions); err != nil {
		return err
	}
	for i := range executions.Items {
		if _, err := s.executions.Reconcile(ctx, request(&executions.Items[i])); err != nil {
			return err
		}
	}
	items := &v1alpha1.DeployItemList{}
	if err := s.store.List(ctx, items); err != nil {
		return err
	}
	for i := range items.Items {
		if err := s.deploy(ctx, &items.Items[i]); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// artifacts answers downloads of the files of directories, and remembers which servers do not answer.
type artifacts struct {
	files map[string][]byte // by URL
	down  map[string]error  // by host
	next  http.RoundTripper
}

func newArtifacts() *artifacts {
	return &artifacts{files: map[string][]byte{}, down: map[string]error{}, next: egress.New(egress.Policy{Redirects: egress.MostRedirects})}
}
