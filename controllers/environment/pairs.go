// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// work is one deployer of the Environment.
type work struct {
	*scope
	key          pair.Key
	registration *v1alpha1.DeployerRegistration
	installation *v1alpha1.Installation
	account      *corev1.ServiceAccount
	// refusals are of namespaces in which the deployer cannot be bound.
	refusals []refusal
}

// keepPairs brings every deployer on. What is wrong with one of them does not keep the others.
func (r *Reconciler) keepPairs(ctx context.Context, s *scope) error {
	for _, registration := range s.registrations {
		w := &work{scope: s, registration: registration, key: pair.Key{Registration: registration.Name, Environment: s.env.Name}}
		err := protocol.Run(ctx, w, []protocol.Step[*work]{
			checkPair, findInstallation, r.makeInstallation, r.keepAccount, rights{r.Client, r.Live}.keepRights, r.keepInstallation, r.keepAccess, r.trigger,
		})
		if protocol.IsTransient(err) {
			return err
		}
		if err != nil {
			s.problems = append(s.problems, err)
		}
		state := pair.StateOf(w.installation)
		if err != nil {
			state = pair.State{Message: protocol.Message(err.Error())}
			if state.Stalled = protocol.AsOwnFailure(operation, err).Kind == protocol.Stalled; state.Stalled {
				s.prevented[registration.Name] = state.Message
			}
		}
		s.states[registration.Name] = state
	}
	return nil
}

func checkPair(_ context.Context, w *work) error {
	if err := w.registration.Undecoded.Err(); err != nil {
		return protocol.Stall(operation, "InvalidSpec", "DeployerRegistration %s: %w", w.registration.Name, err)
	}
	return w.key.Check(operation)
}

// findInstallation finds the Installation of the pair by its labels.
func findInstallation(_ context.Context, w *work) error {
	for _, installation := range w.installations {
		if pair.Of(installation) != w.key {
			continue
		}
		if w.installation != nil {
			return protocol.Stall(operation, "SeveralInstallations",
				"Installations %s/%s and %s/%s both carry the labels of DeployerRegistration %q in Environment %q; delete one of them",
				w.installation.Namespace, w.installation.Name, installation.Namespace, installation.Name, w.key.Registration, w.key.Environment)
		}
		w.installation = installation.DeepCopy()
	}
	return nil
}

// makeInstallation creates the Installation where there is none. It is created without a trigger: its job begins when all that it imports is there.
func (r *Reconciler) makeInstallation(ctx context.Context, w *work) error {
	if w.installation == nil {
		return r.createInstallation(ctx, w)
	}
	if !w.installation.DeletionTimestamp.IsZero() {
		return protocol.Wait(operation, protocol.ReasonDeleting, "Installation %s/%s is being deleted; it is made again when it is gone",
			w.installation.Namespace, w.installation.Name)
	}
	return nil
}

// keepInstallation brings the parts of the spec that the registration and the Environment say to what they say, with the namespaces where the deployer
// has its rights.
func (r *Reconciler) keepInstallation(ctx context.Context, w *work) error {
	namespaces, err := r.workplaces(w)
	if err != nil {
		return err
	}
	r.absences.keep(w.key, w.namespaces)
	next, err := w.next(namespaces)
	if err != nil || next == nil {
		return err
	}
	before := watched(w.installation)
	if err := r.Update(ctx, next); err != nil {
		return err
	}
	r.noteLosses(w, before)
	w.installation = next
	return nil
}

// next returns the Installation as it has to be for a deployer that works in namespaces; nil where it is so.
func (w *work) next(namespaces []string) (*v1alpha1.Installation, error) {
	wanted, err := describe(w.env, w.registration, namespaces)
	if err != nil {
		return nil, err
	}
	next := w.installation.DeepCopy()
	next.Spec.ComponentDescriptor, next.Spec.Blueprint = wanted.ComponentDescriptor, wanted.Blueprint
	next.Spec.Imports, next.Spec.ImportDataMappings = wanted.Imports, wanted.ImportDataMappings
	isNew := controllerutil.AddFinalizer(next, v1alpha1.DeployerManagementFinalizer)
	same, err := storage.SameJSON(w.installation.Spec, next.Spec)
	if err != nil || same && !isNew {
		return nil, err
	}
	return next, nil
}

func (r *Reconciler) createInstallation(ctx context.Context, w *work) error {
	spec, err := describe(w.env, w.registration, w.namespaces)
	if err != nil {
		return err
	}
	err = r.Live.Get(ctx, client.ObjectKeyFromObject(w.registration), w.registration)
	if apierrors.IsNotFound(err) || err == nil && !w.registration.DeletionTimestamp.IsZero() {
		return protocol.ErrStop // the cache is about to say so
	}
	if err != nil {
		return err
	}
	created := &v1alpha1.Installation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.home, Name: w.key.Name(), Labels: w.key.Labels(), Finalizers: []string{v1alpha1.DeployerManagementFinalizer},
		},
		Spec: *spec,
	}
	if shard, has := w.env.Labels[protocol.ShardLabel]; has {
		created.Labels[protocol.ShardLabel] = shard
	}
	err = r.Create(ctx, created)
	if apierrors.IsAlreadyExists(err) {
		return r.explainExisting(ctx, w)
	}
	w.installation = created
	return err
}

// explainExisting says why the Installation of the name of the pair is none of it.
func (r *Reconciler) explainExisting(ctx context.Context, w *work) error {
	present := &v1alpha1.Installation{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: w.home, Name: w.key.Name()}, present)
	if apierrors.IsNotFound(err) {
		return protocol.ErrStop // it has gone, and the cache is about to say so
	}
	if err != nil {
		return err
	}
	if err := w.key.CheckMade(operation, "Installation", present); err != nil {
		return err
	}
	return protocol.ErrStop // the cache is about to show it
}

// describe returns the spec of the Installation of a pair: that of the registration, with what depends on the Environment.
func describe(env *v1alpha1.Environment, registration *v1alpha1.DeployerRegistration, namespaces []string) (*v1alpha1.InstallationSpec, error) {
	key := pair.Key{Registration: registration.Name, Environment: env.Name}
	template := registration.Spec.InstallationTemplate.DeepCopy()
	spec := &v1alpha1.InstallationSpec{
		ComponentDescriptor: template.ComponentDescriptor, Blueprint: template.Blueprint, Imports: template.Imports,
		ImportDataMappings: map[string]v1alpha1.AnyJSON{},
	}
	spec.Imports.Targets = slices.DeleteFunc(spec.Imports.Targets, func(t v1alpha1.TargetImport) bool {
		return t.Name == importCluster || t.Name == importLandscaper
	})
	spec.Imports.Targets = append(spec.Imports.Targets,
		v1alpha1.TargetImport{Name: importCluster, Target: "#" + env.Name},
		v1alpha1.TargetImport{Name: importLandscaper, Target: "#" + key.Name()})
	maps.Copy(spec.ImportDataMappings, template.ImportDataMappings)
	injected := map[string]any{
		"releaseName": key.Name(), "releaseNamespace": env.Spec.Namespace, "identity": key.Name(), "targetSelectors": selectors(env, registration.Name),
	}
	if namespaces != nil {
		injected[importNamespaces] = namespaces
	}
	for name, value := range injected {
		literal, err := templating.LiteralMapping(value) // the agent writes some of it, and is not to see what else the Installation imports
		if err != nil {
			return nil, err
		}
		spec.ImportDataMappings[name] = literal
	}
	return spec, nil
}

// The imports of Targets that every deployer gets.
const (
	importCluster    = "cluster"
	importLandscaper = "landscaperCluster"
)

// importNamespaces is the import with the namespaces in which a deployer works; one that has none works in all.
const importNamespaces = "watchNamespaces"

// helmRegistration is the registration whose deployer leaves the Targets of host clusters to the agents.
const helmRegistration = "helm"

// selectors returns the Targets that a deployer is responsible for.
func selectors(env *v1alpha1.Environment, registration string) []v1alpha1.TargetSelector {
	all := slices.Clone(env.Spec.TargetSelectors)
	if len(all) == 0 {
		all = []v1alpha1.TargetSelector{{Annotations: []v1alpha1.Requirement{
			{Key: v1alpha1.EnvironmentAnnotation, Operator: "=", Values: []string{env.Name}},
		}}}
	}
	if registration != helmRegistration {
		return all
	}
	for i := range all {
		all[i].Annotations = append(slices.Clone(all[i].Annotations), v1alpha1.Requirement{Key: v1alpha1.DeployerOnlyAnnotation, Operator: "!"})
	}
	return all
}

// trigger lets the Installation follow its spec and its imports from now on: all of them are there.
func (r *Reconciler) trigger(ctx context.Context, w *work) error {
	yes := "true"
	return protocol.PatchMetadata(ctx, r.Client, w.installation, protocol.MetadataChange{Annotations: map[string]*string{
		v1alpha1.ReconcileIfChangedAnnotation: &yes, v1alpha1.ReconcileIfImportsChangedAnnotation: &yes,
	}})
}

// deleteRetired deletes the Installations whose registration is gone; one in deletion deletes its own.
func (r *Reconciler) deleteRetired(ctx context.Context, s *scope) error {
	for _, installation := range s.installations {
		if !installation.DeletionTimestamp.IsZero() {
			continue
		}
		gone, err := r.isGone(ctx, pair.Of(installation).Registration, &v1alpha1.DeployerRegistration{})
		if err != nil {
			return err
		}
		if !gone {
			continue
		}
		if err := protocol.DeleteLive(ctx, r.Live, r.Client, installation.DeepCopy(), nil); err != nil {
			return err
		}
	}
	return nil
}

// deleteOrphans deletes the Installations of an Environment that is gone although they are not: somebody took its finalizer off.
func (r *Reconciler) deleteOrphans(ctx context.Context, name string) error {
	installations, err := r.Homes.OfEnvironment(ctx, r.Client, name)
	if err != nil {
		return err
	}
	if err := r.deleteStray(ctx, name, installations); err != nil || len(installations) == 0 {
		return err
	}
	gone, err := r.isGone(ctx, name, &v1alpha1.Environment{})
	if err != nil || !gone {
		return err
	}
	for _, installation := range installations {
		if !installation.DeletionTimestamp.IsZero() {
			continue
		}
		if err := protocol.DeleteLive(ctx, r.Live, r.Client, installation.DeepCopy(), nil); err != nil {
			return err
		}
	}
	return nil
}

// isGone reports whether an object of a cluster-scoped kind does not exist, by a live read where the cache says so.
func (r *Reconciler) isGone(ctx context.Context, name string, into client.Object) (bool, error) {
	err := r.Get(ctx, client.ObjectKey{Name: name}, into)
	if apierrors.IsNotFound(err) {
		err = r.Live.Get(ctx, client.ObjectKey{Name: name}, into)
	}
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}

func sortByName(registrations []*v1alpha1.DeployerRegistration) {
	slices.SortFunc(registrations, func(a, b *v1alpha1.DeployerRegistration) int { return cmp.Compare(a.Name, b.Name) })
}

// findDeadlocks names the deployers that wait for each other, or for one that nobody registered. What a deployer needs is known once its
// blueprint has been rendered: the types of its deploy items. A deployer that is installed needs nothing.
func (r *Reconciler) findDeadlocks(ctx context.Context, s *scope) error {
	var deployers []pair.Deployer
	for _, registration := range s.registrations {
		deployer := pair.Deployer{Name: registration.Name, Serves: pair.Serves(registration)}
		if !s.states[registration.Name].Ready {
			needs, err := r.needs(ctx, s, registration.Name)
			if err != nil {
				return err
			}
			deployer.Needs = needs
		}
		deployers = append(deployers, deployer)
	}
	for name, reason := range pair.Deadlocks(deployers, v1alpha1.HelmDeployItemType) {
		s.states[name] = pair.State{Stalled: true, Message: reason}
		s.prevented[name] = reason
		s.problems = append(s.problems, protocol.Stall(operation, pair.ReasonDeadlock, "deployer %s can never be installed: %s", name, reason))
	}
	return nil
}

// needs returns the types of the deploy items of a deployer that no deployer has ever taken.
func (r *Reconciler) needs(ctx context.Context, s *scope, registration string) ([]string, error) {
	at := slices.IndexFunc(s.installations, func(i *v1alpha1.Installation) bool { return pair.Of(i).Registration == registration })
	if at < 0 || s.installations[at].Status.ExecutionReference == nil {
		return nil, nil
	}
	items := &v1alpha1.DeployItemList{}
	ofExecution := client.MatchingLabels{v1alpha1.ExecutionManagedByLabel: s.installations[at].Status.ExecutionReference.Name}
	if err := r.List(ctx, items, client.InNamespace(s.installations[at].Namespace), ofExecution); err != nil {
		return nil, err
	}
	var types []string
	for i := range items.Items {
		if item := &items.Items[i]; item.Status.Deployer == nil {
			types = append(types, item.Spec.Type)
		}
	}
	slices.Sort(types)
	return slices.Compact(types), nil
}

// workplaces returns the namespaces that the Installation of a deployer is to name: those that it is served in, without those that it has lost lately. They
// wait for the end of their absence, unless the deployer is installed anew for another reason.
func (r *Reconciler) workplaces(w *work) ([]string, error) {
	served, installed := w.served(), watched(w.installation)
	if installed == nil || w.isAskedFor() {
		return served, nil
	}
	has := sets.New(installed...)
	absent := map[string]absence{}
	for _, name := range served {
		if since, isAbsent := r.absences.now(w.key, name, w.now); isAbsent && !has.Has(name) {
			absent[name] = since
		}
	}
	if len(absent) == 0 {
		return served, nil
	}
	rest := slices.DeleteFunc(slices.Clone(served), func(name string) bool {
		_, isAbsent := absent[name]
		return isAbsent
	})
	if len(rest) == 0 || !has.HasAll(rest...) { // it is told at least one, and a new one installs it anew
		return served, nil
	}
	if next, err := w.next(installed); err != nil || next != nil {
		return served, err
	}
	for _, name := range served {
		if since, isAbsent := absent[name]; isAbsent {
			w.awaitReturn(name, since)
		}
	}
	return rest, nil
}

// awaitReturn tells when a deployer comes back to a namespace.
func (w *work) awaitReturn(namespace string, since absence) {
	w.wakeIn(since.until.Sub(w.now))
	w.problems = append(w.problems, protocol.Wait(operation, reasonNamespaceReturns,
		"namespace %s has refused deployer %s %d times and no longer does; it works there again at %s, or with the next change of it that takes no namespace away; annotate the Environment with %s to have it at once",
		namespace, w.key.Registration, since.times, since.until.UTC().Format(time.RFC3339), meta.ReconcileRequestAnnotation))
}

// noteLosses begins the absence of the namespaces that refuse a deployer and that its Installation named until now.
func (r *Reconciler) noteLosses(w *work, before []string) {
	had := sets.New(before...)
	for _, refused := range w.refusals {
		if had.Has(refused.namespace) {
			r.absences.begin(w.key, refused.namespace, w.now)
			had.Delete(refused.namespace) // each of its bindings may be refused
		}
	}
}

// isAskedFor reports whether somebody has asked for this reconciliation.
func (s *scope) isAskedFor() bool {
	requested, asks := meta.ReconcileAnnotationValue(s.env.Annotations)
	return asks && requested != s.persisted.LastHandledReconcileAt
}

// watched are the namespaces in which an installed deployer works; nil where it works in all, or is not installed yet.
func watched(installation *v1alpha1.Installation) []string {
	if installation.Annotations[v1alpha1.ReconcileIfChangedAnnotation] != "true" {
		return nil
	}
	var names []string
	if json.Unmarshal(installation.Spec.ImportDataMappings[importNamespaces].RawMessage, &names) != nil {
		return nil
	}
	return names
}

// shortestAbsence and longestAbsence bound for how long a namespace stays out that a deployer has lost: whoever owns it could otherwise have the deployer
// installed anew all the time, by refusing and allowing its bindings in turn. After twice the longest in peace it is the shortest again.
const (
	shortestAbsence = time.Minute
	longestAbsence  = time.Hour
)

// absence is what is known of a namespace that a deployer has lost.
type absence struct {
	// times counts the losses.
	times int
	// until is when the deployer may come back.
	until time.Time
}

// loss is that of a namespace by a deployer.
type loss struct {
	pair.Key
	namespace string
}

// absences are those of the namespaces of each deployer. Only this process knows them: after another start of it each namespace may come back once without
// delay. It is safe for concurrent use.
type absences struct {
	mu sync.Mutex
	of map[loss]absence
}

// begin notes that a deployer has lost a namespace.
func (a *absences) begin(key pair.Key, namespace string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[loss]absence{}
	}
	last := a.of[loss{key, namespace}]
	if now.Sub(last.until) > 2*longestAbsence {
		last.times = 0
	}
	a.of[loss{key, namespace}] = absence{times: last.times + 1, until: now.Add(queue.Doubled(shortestAbsence, longestAbsence, last.times))}
}

// now returns what is known of a namespace in which a deployer may not come back yet.
func (a *absences) now(key pair.Key, namespace string, now time.Time) (absence, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.of[loss{key, namespace}]
	return last, now.Before(last.until)
}

// keep forgets the namespaces that a deployer no longer is to have.
func (a *absences) keep(key pair.Key, namespaces []string) {
	a.drop(func(l loss) bool { return l.Key == key && !slices.Contains(namespaces, l.namespace) })
}

// forget forgets an Environment.
func (a *absences) forget(environment string) {
	a.drop(func(l loss) bool { return l.Environment == environment })
}

func (a *absences) drop(those func(loss) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.of, func(l loss, _ absence) bool { return those(l) })
}
