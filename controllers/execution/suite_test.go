// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

const namespace = "ns"

// bench is one Execution named one on an API server in memory, so that a test decides what happens between any two steps.
type bench struct {
	t      *testing.T
	api    client.WithWatch
	r      *Reconciler
	events *record.FakeRecorder
	now    time.Time
	clock  *clocktesting.FakeClock
	// before is called with what a write is about to do; its error is the answer to the write.
	before func(verb string, obj client.Object) error
	// after is called when a write has been done.
	after func()
	// dead says that the process has died, so that none of its writes is done any more.
	dead bool
	// writes are the attempts to write, as "verb name".
	writes []string
	// cached replaces what the cache shows of some objects; live reads do not see it.
	cached map[client.ObjectKey]client.Object
}

func newBench(t *testing.T, templates ...v1alpha1.DeployItemTemplate) *bench {
	t.Helper()
	b := &bench{t: t, now: time.Now(), events: record.NewFakeRecorder(100), cached: map[client.ObjectKey]client.Object{}}
	b.api = fake.NewClientBuilder().WithScheme(newScheme(t)).
		WithStatusSubresource(&v1alpha1.Execution{}, &v1alpha1.DeployItem{}, &v1alpha1.Installation{}).
		WithIndex(&v1alpha1.DeployItem{}, executionIndex, executionOf).Build()
	b.restart()
	execution := &v1alpha1.Execution{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "one", UID: "uid-one", Generation: 1, Finalizers: []string{v1alpha1.Finalizer},
		},
		Spec: v1alpha1.ExecutionSpec{DeployItems: templates},
	}
	require.NoError(t, b.api.Create(t.Context(), execution))
	return b
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	return scheme
}

// installation is the Installation of the Execution named one.
func installation() *v1alpha1.Installation {
	return &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one", UID: "parent"}}
}

// ownedBy makes an Execution that of an Installation.
func ownedBy(execution *v1alpha1.Execution, inst *v1alpha1.Installation) *v1alpha1.Execution {
	execution.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(inst, v1alpha1.GroupVersion.WithKind("Installation"))}
	return execution
}

// restart gives the Reconciler the memory of a new process.
func (b *bench) restart() {
	if b.dead {
		b.dead, b.before = false, nil
	}
	cache := interceptor.NewClient(b.api, interceptor.Funcs{
		Get:               b.get,
		List:              b.list,
		Create:            b.create,
		Update:            b.update,
		Delete:            b.delete,
		Patch:             b.patch,
		SubResourceUpdate: b.updateStatus,
	})
	b.clock = clocktesting.NewFakeClock(b.now)
	restored := queue.NewRestorations()
	restored.Clock = b.clock
	b.r = &Reconciler{
		restored: restored, Client: cache, Live: b.api, Recorder: b.events, Backoff: queue.NewBackoff(time.Millisecond, time.Second), Now: func() time.Time { return b.now },
	}
}

func (b *bench) write(verb string, obj client.Object) error {
	if b.dead {
		return errDied
	}
	if b.before != nil {
		if err := b.before(verb, obj); err != nil {
			return err
		}
	}
	b.writes = append(b.writes, verb+" "+obj.GetName())
	return nil
}

var errDied = errors.New("the process has died")

// dieBefore lets the process die before a write. It stays dead until restart, and does not die again.
func (b *bench) dieBefore(chosen func(verb string, obj client.Object) bool) {
	b.before = func(verb string, obj client.Object) error {
		if b.dead = chosen(verb, obj); b.dead {
			return errDied
		}
		return nil
	}
}

func (b *bench) done(err error) error {
	if err == nil && b.after != nil {
		b.after()
	}
	return err
}

func (b *bench) get(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	if old, ok := b.cached[key].(*v1alpha1.Execution); ok {
		if into, same := obj.(*v1alpha1.Execution); same {
			old.DeepCopyInto(into)
			return nil
		}
	}
	if old, ok := b.cached[key].(*v1alpha1.Installation); ok {
		if into, same := obj.(*v1alpha1.Installation); same {
			old.DeepCopyInto(into)
			return nil
		}
	}
	return c.Get(ctx, key, obj, options...)
}

func (b *bench) list(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	if err := c.List(ctx, list, options...); err != nil {
		return err
	}
	items, ok := list.(*v1alpha1.DeployItemList)
	if !ok {
		return nil
	}
	for i := range items.Items {
		if old, known := b.cached[client.ObjectKeyFromObject(&items.Items[i])]; known && old != nil {
			old.(*v1alpha1.DeployItem).DeepCopyInto(&items.Items[i])
		}
	}
	items.Items = slices.DeleteFunc(items.Items, func(item v1alpha1.DeployItem) bool {
		old, known := b.cached[client.ObjectKeyFromObject(&item)]
		return known && old == nil
	})
	return nil
}

func (b *bench) create(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.CreateOption) error {
	if err := b.write("create", obj); err != nil {
		return err
	}
	obj.SetUID(types.UID(fmt.Sprintf("uid-%d", len(b.writes))))
	obj.SetGeneration(1)
	return b.done(c.Create(ctx, obj, options...))
}

func (b *bench) update(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.UpdateOption) error {
	if err := b.write("update", obj); err != nil {
		return err
	}
	existing := obj.DeepCopyObject().(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), existing); err == nil && obj.GetUID() == "" {
		obj.SetUID(existing.GetUID()) // an object keeps it for life
	}
	return b.done(c.Update(ctx, obj, options...))
}

func (b *bench) delete(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.DeleteOption) error {
	asked := &client.DeleteOptions{}
	asked.ApplyOptions(options)
	require.NotNil(b.t, asked.Preconditions, "every deletion carries preconditions")
	require.NotNil(b.t, asked.Preconditions.UID)
	require.NotNil(b.t, asked.Preconditions.ResourceVersion)
	if err := b.write("delete", obj); err != nil {
		return err
	}
	return b.done(c.Delete(ctx, obj, options...))
}

func (b *bench) patch(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := b.write("patch", obj); err != nil {
		return err
	}
	return b.done(c.Patch(ctx, obj, patch, options...))
}

func (b *bench) updateStatus(ctx context.Context, c client.Client, sub string, obj client.Object, options ...client.SubResourceUpdateOption) error {
	if err := b.write("status", obj); err != nil {
		return err
	}
	if setter, ok := obj.(interface{ GetConditions() []metav1.Condition }); ok {
		problems := validation.ValidateConditions(setter.GetConditions(), field.NewPath("status", "conditions"))
		if len(problems) > 0 {
			return apierrors.NewInvalid(schemaKind(obj), obj.GetName(), problems)
		}
	}
	return b.done(c.SubResource(sub).Update(ctx, obj, options...))
}

// pass reconciles once.
func (b *bench) pass() ctrl.Result {
	b.t.Helper()
	b.clock.SetTime(b.now)
	result, err := b.r.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: "one"}})
	require.NoError(b.t, err)
	return result
}

// settle reconciles until nothing is written any more, as the events of the own writes do.
func (b *bench) settle() {
	b.t.Helper()
	execution := &v1alpha1.Execution{}
	err := b.api.Get(b.t.Context(), client.ObjectKey{Namespace: namespace, Name: "one"}, execution)
	if own := execution.DeletionTimestamp; err == nil && own != nil && b.now.Before(own.Add(ownerTime)) {
		b.now = own.Add(ownerTime)
	}
	for range 20 {
		before := len(b.writes)
		if b.pass(); len(b.writes) == before {
			return
		}
	}
	require.Fail(b.t, "the Execution writes without end", "%v", b.writes)
}

// requireSteady checks that further reconciliations write nothing.
func (b *bench) requireSteady() {
	b.t.Helper()
	before := len(b.writes)
	for range 5 {
		b.pass()
	}
	require.Empty(b.t, b.writes[before:])
}

func (b *bench) execution() *v1alpha1.Execution {
	b.t.Helper()
	execution := &v1alpha1.Execution{}
	require.NoError(b.t, b.api.Get(b.t.Context(), client.ObjectKey{Namespace: namespace, Name: "one"}, execution))
	return execution
}

// ask asks for a job as an Installation does: with a new spec by annotation, else by status.
func (b *bench) ask(job string) {
	b.t.Helper()
	execution := b.execution()
	if execution.Generation == execution.Status.ObservedGeneration {
		execution.Status.JobID = job
		require.NoError(b.t, b.api.Status().Update(b.t.Context(), execution))
		return
	}
	metav1.SetMetaDataAnnotation(&execution.ObjectMeta, v1alpha1.JobAnnotation, job)
	require.NoError(b.t, b.api.Update(b.t.Context(), execution))
}

// start asks for a job and settles.
func (b *bench) start(job string) {
	b.t.Helper()
	b.ask(job)
	b.settle()
}

// specify replaces the templates.
func (b *bench) specify(templates ...v1alpha1.DeployItemTemplate) {
	b.t.Helper()
	execution := b.execution()
	execution.Spec.DeployItems = templates
	execution.Generation++
	require.NoError(b.t, b.api.Update(b.t.Context(), execution))
}

// operate sets the operation annotation of the Execution.
func (b *bench) operate(value string) {
	b.t.Helper()
	execution := b.execution()
	metav1.SetMetaDataAnnotation(&execution.ObjectMeta, v1alpha1.OperationAnnotation, value)
	require.NoError(b.t, b.api.Update(b.t.Context(), execution))
}

// item returns the DeployItem of a template; nil when there is none.
func (b *bench) item(template string) *v1alpha1.DeployItem {
	b.t.Helper()
	item := &v1alpha1.DeployItem{}
	err := b.api.Get(b.t.Context(), client.ObjectKey{Namespace: namespace, Name: storage.ChildName("one", template)}, item)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(b.t, err)
	return item
}

// deploy plays the deployer of an item: it changes its status.
func (b *bench) deploy(template string, change func(*v1alpha1.DeployItem)) {
	b.t.Helper()
	item := b.item(template)
	require.NotNil(b.t, item, template)
	change(item)
	require.NoError(b.t, b.api.Status().Update(b.t.Context(), item))
}

// pickUp begins the job of an item.
func (b *bench) pickUp(template string) {
	b.t.Helper()
	b.deploy(template, func(item *v1alpha1.DeployItem) {
		item.Status.Phase, item.Status.ObservedGeneration = v1alpha1.PhaseProgressing, item.Generation
		item.Status.LastReconcileTime = item.Status.JobIDGenerationTime
	})
}

// end ends the job of an item in a phase.
func (b *bench) end(template string, phase v1alpha1.Phase) {
	b.t.Helper()
	b.pickUp(template)
	b.deploy(template, func(item *v1alpha1.DeployItem) {
		item.Status.Phase, item.Status.JobIDFinished = phase, item.Status.JobID
	})
}

// letGo removes the finalizer of an item, as its deployer does after it has uninstalled.
func (b *bench) letGo(template string) {
	b.t.Helper()
	item := b.item(template)
	item.Finalizers = nil
	require.NoError(b.t, b.api.Update(b.t.Context(), item))
}

// requirePhase checks how the last job ended.
func (b *bench) requirePhase(phase v1alpha1.Phase) *v1alpha1.Execution {
	b.t.Helper()
	execution := b.execution()
	require.Equal(b.t, phase, execution.Status.Phase, "%v", execution.Status.LastError)
	assert.Equal(b.t, phase.IsFinal(), execution.Status.IsIdle())
	return execution
}

func template(name, itemType string, dependsOn ...string) v1alpha1.DeployItemTemplate {
	return v1alpha1.DeployItemTemplate{
		Name: name, Type: itemType, DependsOn: dependsOn, Configuration: &runtime.RawExtension{Raw: []byte(`{"of":` + strconv.Quote(name) + `}`)},
	}
}

// secretOf creates the export Secret of an item.
func (b *bench) secretOf(name, content string) {
	b.t.Helper()
	require.NoError(b.t, b.api.Create(b.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{exportKey: []byte(content)},
	}))
}

func schemaKind(obj client.Object) schema.GroupKind {
	return schema.GroupKind{Group: v1alpha1.GroupName, Kind: fmt.Sprintf("%T", obj)}
}
