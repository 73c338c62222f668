// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package landscape reads what a landscaper cluster holds, by lists only: the objects, what belongs to what, and which data flows between
// Installations. It shows that as tables, as trees, and as chains from an effect to its cause. It writes nothing.
package landscape

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Snapshot is what a cluster holds of a landscape, with the edges between the objects. Nothing in it may be changed.
type Snapshot struct {
	Installations   v1alpha1.InstallationList
	Executions      v1alpha1.ExecutionList
	DeployItems     v1alpha1.DeployItemList
	Targets         v1alpha1.TargetList
	DataObjects     v1alpha1.DataObjectList
	Contexts        v1alpha1.ContextList
	TargetSyncs     v1alpha1.TargetSyncList
	Environments    v1alpha1.EnvironmentList
	Registrations   v1alpha1.DeployerRegistrationList
	Kustomizations  kustomizev1.KustomizationList
	GitRepositories sourcev1.GitRepositoryList
	OCIRepositories sourcev1.OCIRepositoryList
	// Leases are those by which deployers say that they are alive.
	Leases coordinationv1.LeaseList
	// Withheld are the kinds that the reader may not list, as Installation, sorted.
	Withheld []string

	edges
	may      func(kind, namespace string) bool // of a part; nil for a whole snapshot
	unread   map[string]bool                   // kinds that were not asked for, are not served, or are withheld
	narrowed map[string]bool                   // kinds of which the reader may list only those of the namespace
	mu       sync.Mutex                        // of unread, narrowed and Withheld while kinds are listed
}

// Kind is one kind of a landscape.
type Kind struct {
	// Name as in manifests, and Plural as in requests.
	Name, Plural string
	// Short are further names on the command line.
	Short []string
	// list is where a snapshot keeps the kind, and empty is an object of it.
	list  func(*Snapshot) client.ObjectList
	empty client.Object
	// everywhere says that the kind is listed in all namespaces, whichever are asked for, and outside says that its objects are in none.
	everywhere, outside bool
	// optional says that a cluster may do without the kind.
	optional bool
}

// New returns an empty object of the kind.
func (k Kind) New() client.Object { return k.empty.DeepCopyObject().(client.Object) }

// Namespaced reports whether objects of the kind are in namespaces.
func (k Kind) Namespaced() bool { return !k.outside }

// Kinds are those that a snapshot has.
var Kinds = []Kind{
	{
		Name: "Installation", Plural: "installations", Short: []string{"inst", "i"}, empty: &v1alpha1.Installation{},
		list: func(s *Snapshot) client.ObjectList { return &s.Installations },
	},
	{
		Name: "Execution", Plural: "executions", Short: []string{"exec"}, empty: &v1alpha1.Execution{},
		list: func(s *Snapshot) client.ObjectList { return &s.Executions },
	},
	{
		Name: "DeployItem", Plural: "deployitems", Short: []string{"di"}, empty: &v1alpha1.DeployItem{},
		list: func(s *Snapshot) client.ObjectList { return &s.DeployItems },
	},
	{
		Name: "Target", Plural: "targets", Short: []string{"tgt", "tg"}, empty: &v1alpha1.Target{},
		list: func(s *Snapshot) client.ObjectList { return &s.Targets },
	},
	{
		Name: "DataObject", Plural: "dataobjects", Short: []string{"do", "dobj"}, empty: &v1alpha1.DataObject{},
		list: func(s *Snapshot) client.ObjectList { return &s.DataObjects },
	},
	{
		Name: "Context", Plural: "contexts", Short: []string{"ctx"}, empty: &v1alpha1.Context{},
		list: func(s *Snapshot) client.ObjectList { return &s.Contexts },
	},
	{
		Name: "TargetSync", Plural: "targetsyncs", Short: []string{"tgs"}, empty: &v1alpha1.TargetSync{},
		list: func(s *Snapshot) client.ObjectList { return &s.TargetSyncs },
	},
	{
		Name: "Environment", Plural: "environments", Short: []string{"env"}, empty: &v1alpha1.Environment{},
		list: func(s *Snapshot) client.ObjectList { return &s.Environments }, outside: true,
	},
	{
		Name: "DeployerRegistration", Plural: "deployerregistrations", Short: []string{"dreg", "deployreg", "deployerreg"}, empty: &v1alpha1.DeployerRegistration{},
		list: func(s *Snapshot) client.ObjectList { return &s.Registrations }, outside: true,
	},
	{
		Name: "Kustomization", Plural: "kustomizations", Short: []string{"ks"}, empty: &kustomizev1.Kustomization{},
		list: func(s *Snapshot) client.ObjectList { return &s.Kustomizations }, everywhere: true, optional: true,
	},
	{
		Name: "GitRepository", Plural: "gitrepositories", Short: []string{"gitrepo"}, empty: &sourcev1.GitRepository{},
		list: func(s *Snapshot) client.ObjectList { return &s.GitRepositories }, everywhere: true, optional: true,
	},
	{
		Name: "OCIRepository", Plural: "ocirepositories", Short: []string{"ocirepo"}, empty: &sourcev1.OCIRepository{},
		list: func(s *Snapshot) client.ObjectList { return &s.OCIRepositories }, everywhere: true, optional: true,
	},
	{
		Name: "Lease", Plural: "leases", empty: &coordinationv1.Lease{},
		list: func(s *Snapshot) client.ObjectList { return &s.Leases }, everywhere: true, optional: true,
	},
}

// KindOf finds a kind by any of its names, whatever their case.
func KindOf(name string) (Kind, bool) {
	name = strings.ToLower(name)
	i := slices.IndexFunc(Kinds, func(k Kind) bool {
		return strings.ToLower(k.Name) == name || k.Plural == name || slices.Contains(k.Short, name)
	})
	if i < 0 {
		return Kind{}, false
	}
	return Kinds[i], true
}

// PluralOf is how a sentence names the objects of a kind.
func PluralOf(kind string) string {
	if rest, ok := strings.CutSuffix(kind, "y"); ok {
		return rest + "ies"
	}
	return kind + "s"
}

// AddToScheme adds the kinds of a landscape to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, kustomizev1.AddToScheme, sourcev1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}

// Read lists a landscape: each kind once in the namespace, or in all where it is empty. Kinds are the names of those to read, by default
// all. What the reader may not list is withheld and left out, what the cluster does not serve is left out. Any other error is one.
func Read(ctx context.Context, reader client.Reader, namespace string, kinds ...string) (*Snapshot, error) {
	s := &Snapshot{unread: map[string]bool{}, narrowed: map[string]bool{}}
	var wanted []Kind
	for _, kind := range Kinds {
		if s.unread[kind.Name] = len(kinds) > 0 && !slices.Contains(kinds, kind.Name); !s.unread[kind.Name] {
			wanted = append(wanted, kind)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, kind := range wanted {
		group.Go(func() error {
			err := s.list(ctx, reader, kind, namespace)
			if err == nil {
				return nil
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.unread[kind.Name] = true
			switch {
			case apierrors.IsForbidden(err):
				s.Withheld = append(s.Withheld, kind.Name)
				return nil
			case kind.optional && (apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err)):
				return nil
			}
			return fmt.Errorf("list %s: %w", kind.Plural, err)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(s.Withheld)
	s.connect()
	return s, nil
}

// list reads one kind. Whoever may not list the objects of all namespaces may perhaps list those of one.
func (s *Snapshot) list(ctx context.Context, reader client.Reader, kind Kind, namespace string) error {
	options := []client.ListOption{client.InNamespace(namespace)}
	if kind.everywhere || kind.outside {
		options[0] = client.InNamespace("") // a cache finds nothing by a namespace that its objects are not in
	}
	if kind.Name == "Lease" {
		options = append(options, client.HasLabels{v1alpha1.DeployerLeaseLabel})
	}
	err := reader.List(ctx, kind.list(s), options...)
	if kind.everywhere && apierrors.IsForbidden(err) && namespace != "" {
		s.mu.Lock()
		s.narrowed[kind.Name] = true
		s.mu.Unlock()
		options[0] = client.InNamespace(namespace)
		return reader.List(ctx, kind.list(s), options...)
	}
	return err
}

// Only returns the part of a snapshot that somebody may list who may list less than its reader. May answers for a kind and a namespace, and for
// all namespaces where that is empty.
func (s *Snapshot) Only(may func(kind, namespace string) bool) *Snapshot {
	part := &Snapshot{may: may, unread: s.unread, Withheld: slices.Clone(s.Withheld)}
	for _, kind := range Kinds {
		all := s.Objects(kind.Name)
		var seen []runtime.Object
		for _, object := range all {
			if may(kind.Name, object.GetNamespace()) {
				seen = append(seen, object)
			}
		}
		switch {
		case len(seen) == len(all): // shared, so that viewers take little memory
			reflect.ValueOf(kind.list(part)).Elem().Set(reflect.ValueOf(kind.list(s)).Elem())
			continue
		case len(seen) == 0:
			part.Withheld = append(part.Withheld, kind.Name)
		}
		_ = apimeta.SetList(kind.list(part), seen) // the lists are ours and have items
	}
	slices.Sort(part.Withheld)
	part.connect()
	return part
}

// sees reports whether the snapshot has all objects of a kind that are in a namespace.
func (s *Snapshot) sees(kind, namespace string) bool {
	return !s.unread[kind] && (s.may == nil || s.may(kind, namespace))
}

// Objects returns those of a kind, in the order of the lists.
func (s *Snapshot) Objects(kind string) []client.Object {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == kind })
	if i < 0 {
		return nil
	}
	var objects []client.Object
	_ = apimeta.EachListItem(Kinds[i].list(s), func(item runtime.Object) error { // the lists are ours and have items
		objects = append(objects, item.(client.Object))
		return nil
	})
	return objects
}

// Find returns the object of a kind by its name, or nil where there is none or several can be meant; see Named.
func (s *Snapshot) Find(kind, namespace, name string) client.Object {
	if named := s.Named(kind, namespace, name); len(named) == 1 || len(named) > 1 && kind != "DeployItem" {
		return named[0]
	}
	return nil
}

// Named returns what a person may mean by a name: the objects that have it, else the Targets and DataObjects whose original has it, and the DeployItems whose
// template has it.
func (s *Snapshot) Named(kind, namespace, name string) []client.Object {
	var exact, others []client.Object
	for _, object := range s.Objects(kind) {
		if object.GetNamespace() != "" && namespace != "" && object.GetNamespace() != namespace {
			continue
		}
		if object.GetName() == name {
			exact = append(exact, object)
		}
		if !IsCopy(object) && (NameOf(object) == name || object.GetLabels()[v1alpha1.ExecutionManagedNameLabel] == name) {
			others = append(others, object)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return others
}

// ID names an object of any cluster.
type ID struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String returns kind and name, without the namespace.
func (id ID) String() string { return id.Kind + " " + id.Name }

// IDOf names an object of a snapshot, by the name that a person gave it.
func IDOf(object client.Object) ID {
	return ID{kindName(object), object.GetNamespace(), NameOf(object)}
}

// kindName is the kind of an object: those in lists carry none of their own.
func kindName(object client.Object) string {
	name := fmt.Sprintf("%T", object)
	return name[strings.LastIndex(name, ".")+1:]
}
