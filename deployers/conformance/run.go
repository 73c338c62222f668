// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance puts a deployer through the contract of DeployItems from outside: it plays the Execution, and judges every version of
// the items that the API server has seen. It knows nothing of the deployer but the type of its items. It promises nothing to others.
package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Options say what to check. Client and Type are required.
type Options struct {
	// Client reaches the cluster with the DeployItems. Its scheme knows the kinds of Kubernetes and those of api/v1alpha1.
	Client client.WithWatch
	// Type of the DeployItems that the deployer carries out.
	Type string
	// Namespace to work in; empty makes one, which goes at the end.
	Namespace string
	// Target is the name of a Target in Namespace that the items name; empty for items without one.
	Target string
	// Configurations of the items.
	Configurations Configurations
	// JobTimeout is how long a deployer may take for a job of a configuration other than Slow; 30 s when 0.
	JobTimeout time.Duration
	// Quiet is how long an item is watched on which nothing may be written; 3 s when 0.
	Quiet time.Duration
	// Parallel is how many checks run at a time; 4 when 0.
	Parallel int
	// Only lists the names of the checks to run; empty for all.
	Only []string
}

// Verdict is how a check ended.
type Verdict string

// Verdicts.
const (
	OK      Verdict = "ok"
	Failed  Verdict = "failed"
	Skipped Verdict = "skipped"
)

// Result is the end of one check.
type Result struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	// Contract is the sentence that the check holds the deployer to.
	Contract string `json:"contract"`
	// Seen is what the deployer did, or why the check was skipped.
	Seen string `json:"seen,omitempty"`
}

// Report is the end of a run.
type Report struct {
	Type    string   `json:"type"`
	Results []Result `json:"results"`
	// Left names what the run could not clean up, with the cure.
	Left []string `json:"left,omitempty"`
}

// Failed reports whether a check has failed.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Results, func(result Result) bool { return result.Verdict == Failed })
}

// Names returns the names of all checks in the order in which they are reported.
func Names() (names []string) {
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}

// skip is the reason why a check says nothing about the deployer.
type skip string

func (s skip) Error() string { return string(s) }

// Run puts a deployer through the checks and removes what it made. The error says why nothing could be checked.
func Run(ctx context.Context, options Options) (*Report, error) {
	chosen, err := chosenChecks(&options)
	if err != nil {
		return nil, err
	}
	b := &bench{Options: options, run: uuid.NewString()[:8], client: options.Client}
	drop, err := b.prepare(ctx)
	defer drop()
	if err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx)) // the clean-up needs it, too
	defer stop()
	if b.history, err = watch(watching, options.Client, b.Namespace, client.MatchingLabels{runLabel: b.run}); err != nil {
		return nil, err
	}
	report := &Report{Type: options.Type, Results: make([]Result, len(chosen))}
	b.each(len(chosen), func(i int) { report.Results[i] = b.judge(ctx, chosen[i]) })
	report.Left = b.cleanUp(context.WithoutCancel(ctx))
	return report, nil
}

// chosenChecks checks the options, fills in their defaults and returns the checks to run.
func chosenChecks(options *Options) ([]check, error) {
	if options.Type == "" {
		return nil, errors.New("the type of the DeployItems is missing")
	}
	if options.Target != "" && options.Namespace == "" {
		return nil, fmt.Errorf("the Target %q is in no namespace; name its namespace", options.Target)
	}
	if err := options.Configurations.check(); err != nil {
		return nil, err
	}
	for _, name := range options.Only {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("there is no check %q; the checks are %s", name, strings.Join(Names(), ", "))
		}
	}
	options.JobTimeout = cmp.Or(max(options.JobTimeout, 0), 30*time.Second)
	options.Quiet = cmp.Or(max(options.Quiet, 0), 3*time.Second)
	options.Parallel = cmp.Or(max(options.Parallel, 0), 4)
	return slices.DeleteFunc(slices.Clone(checks), func(c check) bool {
		return len(options.Only) > 0 && !slices.Contains(options.Only, c.name)
	}), nil
}

// prepare makes the namespace and the Context that items need, where they are missing. The function that it returns removes them.
func (b *bench) prepare(ctx context.Context) (drop func(), err error) {
	var made []client.Object
	drop = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.JobTimeout)
		defer cancel()
		for _, object := range slices.Backward(made) {
			_ = b.client.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID())}) // the owner of the cluster sees what stays
		}
	}
	if b.Namespace == "" {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "deployer-conformance-"}}
		if err := b.client.Create(ctx, namespace); err != nil {
			return drop, fmt.Errorf("cannot make a namespace for the checks: %w; name one that exists", err)
		}
		b.Namespace, made = namespace.Name, append(made, namespace)
	}
	if b.Target != "" {
		target := &v1alpha1.Target{}
		if err := b.client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.Target}, target); err != nil {
			return drop, fmt.Errorf("cannot read the Target of the items: %w", err)
		}
	}
	standard := &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: v1alpha1.DefaultContextName}}
	switch err := b.client.Create(ctx, standard); {
	case err == nil:
		made = append(made, standard)
	case !apierrors.IsAlreadyExists(err):
		return drop, fmt.Errorf("cannot make the Context %q of namespace %q: %w", standard.Name, b.Namespace, err)
	}
	return drop, nil
}

// each calls a function for 0 … count-1, as many at a time as the options say.
func (b *bench) each(count int, do func(int)) {
	var all errgroup.Group
	all.SetLimit(b.Parallel)
	for i := range count {
		all.Go(func() error { do(i); return nil })
	}
	_ = all.Wait() // none returns an error
}

func (b *bench) judge(ctx context.Context, c check) Result {
	result := Result{Check: c.name, Verdict: OK, Contract: c.contract}
	err := attempt("", func() {
		for _, kind := range c.needs {
			if b.Configurations[kind] == nil {
				must(skip(fmt.Sprintf("no configuration %q is given", kind)))
			}
		}
		c.run(ctx, b)
	})
	if err != nil {
		result.Verdict, result.Seen = Failed, err.Error()
		if errors.As(err, new(skip)) {
			result.Verdict = Skipped
		}
	}
	return result
}

// broken is what a check panics with that must not go on, as a test does that fails.
type broken struct{ error }

// must ends the check with an error.
func must(err error) {
	if err != nil {
		panic(broken{err})
	}
}

// failed ends the check with a text.
func failed(format string, args ...any) { must(fmt.Errorf(format, args...)) }

// attempt returns the error that ends a part of a check, with words before it.
func attempt(words string, part func()) (err error) {
	defer func() {
		switch caught := recover().(type) {
		case nil:
		case broken:
			err = fmt.Errorf("%s%w", words, caught.error)
		default:
			panic(caught)
		}
	}()
	part()
	return nil
}

// Kinds of configurations.
const (
	// Good makes a job succeed.
	Good = "good"
	// Changed makes it succeed, too, and differs from Good.
	Changed = "changed"
	// Bad makes a job fail, at once.
	Bad = "bad"
	// Slow makes a job work until it is stopped.
	Slow = "slow"
)

var kinds = []string{Good, Changed, Bad, Slow}

// Configurations are values of spec.config in JSON by kind. In each of them $(name) and $(namespace) stand for those of the item, so that two
// items need not deploy the same.
type Configurations map[string]json.RawMessage

// ReadConfigurations reads a YAML document with a field for each kind.
func ReadConfigurations(text []byte) (Configurations, error) {
	var read Configurations
	if err := foreign.Unmarshal(text, &read); err != nil {
		return nil, err
	}
	return read, read.check()
}

func (c Configurations) check() error {
	for kind, config := range c {
		if !slices.Contains(kinds, kind) {
			return fmt.Errorf("there is no configuration %q; the fields are %s", kind, strings.Join(kinds, ", "))
		}
		var object map[string]any
		if err := json.Unmarshal(config, &object); err != nil || object == nil {
			return fmt.Errorf("configuration %q is not an object with fields; give it the content of spec.config", kind)
		}
	}
	return nil
}

// of returns the configuration of an item.
func (c Configurations) of(kind, namespace, name string) *runtime.RawExtension {
	if c[kind] == nil {
		return nil
	}
	text := strings.NewReplacer("$(name)", name, "$(namespace)", namespace).Replace(string(c[kind]))
	return &runtime.RawExtension{Raw: []byte(text)}
}

// runLabel is on the items of a run.
const runLabel = "landscaper.gardener.cloud/conformance-run"

// bench is where the checks of a run work.
type bench struct {
	Options
	run     string
	client  client.WithWatch
	history *history

	mu    sync.Mutex
	items []*subject
}

// subject is an item that a check looks at.
type subject struct {
	*bench
	name string
	// created is when the API server made the item, at its clock; at is the same moment here.
	created, at time.Time
}

// item makes an item as an Execution does: with finalizer, without job.
func (b *bench) item(ctx context.Context, name, kind string, change ...func(*v1alpha1.DeployItem)) *subject {
	name = "conformance-" + b.run + "-" + name
	item := &v1alpha1.DeployItem{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: name, Finalizers: []string{v1alpha1.Finalizer}, Labels: map[string]string{runLabel: b.run},
		},
		Spec: v1alpha1.DeployItemSpec{Type: b.Type, Configuration: b.Configurations.of(kind, b.Namespace, name)},
	}
	if b.Target != "" {
		item.Spec.Target = &v1alpha1.DeployItemTarget{Name: b.Target}
	}
	for _, c := range change {
		c(item)
	}
	if err := b.client.Create(ctx, item); err != nil {
		failed("cannot make a DeployItem: %w", err)
	}
	b.history.wrote(item)
	s := &subject{bench: b, name: name, created: item.CreationTimestamp.Time, at: time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(b.items, s)
	return s
}

// now is the time at the clock of the API server, late by a second at most, so that a clock here that is wrong spoils no check.
func (s *subject) now() *metav1.Time {
	return &metav1.Time{Time: s.created.Add(time.Since(s.at))}
}

func (s *subject) key() client.ObjectKey {
	return client.ObjectKey{Namespace: s.Namespace, Name: s.name}
}

// errVoid says that the state of an item makes a change void.
var errVoid = errors.New("the change is void")

// write changes an item, whatever else happens to it, and returns the version that it wrote. The change may end the check.
func (s *subject) write(ctx context.Context, change func(*v1alpha1.DeployItem), update func(*v1alpha1.DeployItem) error) *v1alpha1.DeployItem {
	item := &v1alpha1.DeployItem{}
	must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		must(s.client.Get(ctx, s.key(), item))
		change(item)
		return update(item)
	}))
	s.history.wrote(item)
	return item
}

// edit changes spec and metadata.
func (s *subject) edit(ctx context.Context, change func(*v1alpha1.DeployItem)) *v1alpha1.DeployItem {
	return s.write(ctx, change, func(item *v1alpha1.DeployItem) error { return s.client.Update(ctx, item) })
}

// editStatus changes the status.
func (s *subject) editStatus(ctx context.Context, change func(*v1alpha1.DeployItem)) *v1alpha1.DeployItem {
	return s.write(ctx, change, func(item *v1alpha1.DeployItem) error { return s.client.Status().Update(ctx, item) })
}

// handOver hands a new job to the item and returns the version with it.
func (s *subject) handOver(ctx context.Context) *v1alpha1.DeployItem {
	job := uuid.NewString()
	return s.editStatus(ctx, func(item *v1alpha1.DeployItem) { item.Status.JobID, item.Status.JobIDGenerationTime = job, s.now() })
}

// start hands a new job to the item and returns its ID.
func (s *subject) start(ctx context.Context) string { return s.handOver(ctx).Status.JobID }

// interrupt ends the job from outside; that is void where it has ended.
func (s *subject) interrupt(ctx context.Context, job string) *v1alpha1.DeployItem {
	return s.editStatus(ctx, func(item *v1alpha1.DeployItem) {
		if item.Status.JobIDFinished == job {
			must(errVoid)
		}
		item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, job
	})
}

// seen waits for a version of the item.
func (s *subject) seen(ctx context.Context, what string, wanted func(*v1alpha1.DeployItem) bool) (found *v1alpha1.DeployItem) {
	ctx, cancel := context.WithTimeout(ctx, s.JobTimeout)
	defer cancel()
	var last *v1alpha1.DeployItem
	err := s.history.await(ctx, s.name, func(versions []*v1alpha1.DeployItem, _ bool) bool {
		for _, version := range versions {
			if last = version; wanted(version) {
				found = version
				return true
			}
		}
		return false
	})
	if errors.Is(err, context.DeadlineExceeded) {
		failed("%s was not seen within %s; the item is %s", what, s.JobTimeout, describe(last))
	}
	must(err)
	return found
}

// finished waits for the end of a job and returns the version with it.
func (s *subject) finished(ctx context.Context, job string) *v1alpha1.DeployItem {
	return s.seen(ctx, "the end of the job", func(item *v1alpha1.DeployItem) bool {
		return item.Status.JobIDFinished == job && item.Status.Phase.IsFinal()
	})
}

// succeeds starts a job, which has to succeed, and returns the last version.
func (s *subject) succeeds(ctx context.Context) *v1alpha1.DeployItem {
	item := s.finished(ctx, s.start(ctx))
	if item.Status.Phase != v1alpha1.PhaseSucceeded {
		failed("the job ended: %s", describe(item))
	}
	return item
}

// pickedUp waits until the deployer has begun the job.
func (s *subject) pickedUp(ctx context.Context, job string) *v1alpha1.DeployItem {
	return s.seen(ctx, "lastReconcileTime of the job", func(item *v1alpha1.DeployItem) bool {
		return item.Status.JobID == job && item.IsPickedUp()
	})
}

// delete asks for the deletion of the item and returns the version with that.
func (s *subject) delete(ctx context.Context) *v1alpha1.DeployItem {
	item := &v1alpha1.DeployItem{}
	must(s.client.Get(ctx, s.key(), item))
	must(s.client.Delete(ctx, item, client.Preconditions{UID: &item.UID}))
	return s.seen(ctx, "the deletion", func(item *v1alpha1.DeployItem) bool { return !item.DeletionTimestamp.IsZero() })
}

// isGone waits until the item is deleted.
func (s *subject) isGone(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.JobTimeout)
	defer cancel()
	err := s.history.await(ctx, s.name, func(_ []*v1alpha1.DeployItem, gone bool) bool { return gone })
	if errors.Is(err, context.DeadlineExceeded) {
		versions, _, _, _ := s.history.of(s.name)
		failed("the item is not gone after %s; it is %s", s.JobTimeout, describe(versions...))
	}
	must(err)
}

// quiet watches that nobody writes on the item after a version.
func (s *subject) quiet(ctx context.Context, after *v1alpha1.DeployItem) {
	ctx, cancel := context.WithTimeout(ctx, s.Quiet)
	defer cancel()
	wentAway := false
	err := s.history.await(ctx, s.name, func(_ []*v1alpha1.DeployItem, gone bool) bool {
		wentAway = gone
		return gone || len(s.history.foreign(s.name, after.ResourceVersion)) > 0
	})
	if wentAway {
		failed("the item went away")
	}
	if written := s.history.foreign(s.name, after.ResourceVersion); len(written) > 0 {
		failed("the item was %s; then somebody wrote %s", describe(after), describe(written[0]))
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		must(err)
	}
}

// settle waits until nothing has been written on the item for a while.
func (s *subject) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.JobTimeout)
	defer cancel()
	for {
		versions, gone, _, err := s.history.of(s.name)
		if gone || err != nil {
			must(errors.Join(err, errors.New("the item did not stay")))
		}
		if attempt("", func() { s.quiet(ctx, versions[len(versions)-1]) }) == nil {
			return
		}
	}
}

// describe says what the status of the newest version says about the job. Messages of errors may hold what a tenant keeps secret and are left out.
func describe(versions ...*v1alpha1.DeployItem) string {
	if len(versions) == 0 || versions[len(versions)-1] == nil {
		return "not there"
	}
	item := versions[len(versions)-1]
	status := item.Status
	text := fmt.Sprintf("phase %q, jobID %q, jobIDFinished %q, observedGeneration %d of %d, resourceVersion %s",
		status.Phase, status.JobID, status.JobIDFinished, status.ObservedGeneration, item.Generation, item.ResourceVersion)
	if status.LastError != nil {
		text += fmt.Sprintf(", lastError.reason %q", status.LastError.Reason)
	}
	return text
}

// cleanUp deletes the items that are left, and returns what may stay.
func (b *bench) cleanUp(ctx context.Context) (left []string) {
	errs := make([]error, len(b.items))
	b.each(len(b.items), func(i int) { errs[i] = b.items[i].remove(ctx) })
	for _, err := range errs {
		if err != nil {
			left = append(left, err.Error())
		}
	}
	return left
}

// remove lets the deployer uninstall the item. Where the deployer does not, it removes the item and says so.
func (s *subject) remove(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*s.JobTimeout)
	defer cancel()
	item := &v1alpha1.DeployItem{}
	if err := s.client.Get(ctx, s.key(), item); err != nil {
		return client.IgnoreNotFound(err)
	}
	if item.DeletionTimestamp.IsZero() {
		if err := s.client.Delete(ctx, item, client.Preconditions{UID: &item.UID}); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if item.Spec.Type == s.Type {
		uninstalled := attempt("", func() { s.start(ctx); s.isGone(ctx) })
		if uninstalled == nil {
			return s.exportStays(ctx, item)
		}
		err = fmt.Errorf("DeployItem %s/%s is removed without uninstall, so what it deployed may be left; look for it (%w)", s.Namespace, s.name, uninstalled)
	}
	forced := attempt("", func() { s.edit(ctx, func(item *v1alpha1.DeployItem) { item.Finalizers = nil }) })
	return cmp.Or(err, client.IgnoreNotFound(forced), s.exportStays(ctx, item))
}

// exportStays says that nothing will remove the exports of an item that is gone.
func (s *subject) exportStays(ctx context.Context, item *v1alpha1.DeployItem) error {
	ref := item.Status.ExportReference
	if ref == nil || ref.Namespace != s.Namespace {
		return nil
	}
	secret := &corev1.Secret{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	isOwned := slices.ContainsFunc(secret.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == item.UID })
	if !isOwned && secret.DeletionTimestamp.IsZero() {
		return fmt.Errorf("the Secret %s/%s with exports stays, because it has no owner reference to its DeployItem; delete it", ref.Namespace, ref.Name)
	}
	return nil
}

// history holds every version of the items of a run, as the API server announced them. It is safe for concurrent use.
type history struct {
	mu       sync.Mutex
	versions map[string][]*v1alpha1.DeployItem
	gone     map[string]bool
	// own are the resource versions that this process has written.
	own map[string]bool
	// changed is closed and replaced at every event.
	changed chan struct{}
	err     error
}

// watch follows the items with the labels until the context ends.
func watch(ctx context.Context, c client.WithWatch, namespace string, labels client.MatchingLabels) (*history, error) {
	list := &v1alpha1.DeployItemList{}
	if err := c.List(ctx, list, client.InNamespace(namespace), labels); err != nil {
		return nil, fmt.Errorf("cannot list the DeployItems of namespace %q: %w", namespace, err)
	}
	open := func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
		return c.Watch(ctx, &v1alpha1.DeployItemList{}, client.InNamespace(namespace), labels, &client.ListOptions{Raw: &options})
	}
	events, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: open})
	if err != nil {
		return nil, fmt.Errorf("cannot watch the DeployItems of namespace %q: %w", namespace, err)
	}
	h := &history{versions: map[string][]*v1alpha1.DeployItem{}, gone: map[string]bool{}, own: map[string]bool{}, changed: make(chan struct{})}
	go func() {
		for event := range events.ResultChan() {
			h.note(event)
		}
		h.note(apiwatch.Event{Type: apiwatch.Error})
	}()
	return h, nil
}

func (h *history) note(event apiwatch.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	item, isItem := event.Object.(*v1alpha1.DeployItem)
	switch {
	case event.Type == apiwatch.Bookmark:
		return
	case !isItem:
		h.err = fmt.Errorf("the watch of DeployItems has ended")
	case event.Type == apiwatch.Deleted:
		h.gone[item.Name] = true
	default:
		h.versions[item.Name] = append(h.versions[item.Name], item)
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// wrote notes a version that this process has written.
func (h *history) wrote(item *v1alpha1.DeployItem) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.own[item.ResourceVersion] = true
}

// of returns the versions of an item so far, whether it is gone, and a channel that closes at the next event.
func (h *history) of(name string) (versions []*v1alpha1.DeployItem, gone bool, next <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.versions[name]), h.gone[name], h.changed, h.err
}

// foreign returns the versions after the given one that somebody else has written. Before the given one has come there are none.
func (h *history) foreign(name, after string) []*v1alpha1.DeployItem {
	h.mu.Lock()
	defer h.mu.Unlock()
	versions := h.versions[name]
	i := slices.IndexFunc(versions, func(item *v1alpha1.DeployItem) bool { return item.ResourceVersion == after })
	if i < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(versions[i+1:]), func(item *v1alpha1.DeployItem) bool { return h.own[item.ResourceVersion] })
}

// await waits until something holds for the versions of an item.
func (h *history) await(ctx context.Context, name string, holds func(versions []*v1alpha1.DeployItem, gone bool) bool) error {
	for {
		versions, gone, next, err := h.of(name)
		if holds(versions, gone) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
