// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// desk is a deployer with one item named item on an API server in memory, so that a test decides what happens between any two steps.
type desk struct {
	t        *testing.T
	api      client.WithWatch
	r        *reconciler
	deployer *scripted
	options  Options
	events   *record.FakeRecorder
	// before is called with the verb of a write; its error is the answer to the write.
	before func(verb string) error
	// after is called when a write has been done.
	after  func()
	writes []string
	// cached is what the cache shows of the item when it lags behind.
	cached *v1alpha1.DeployItem
}

var errDied = errors.New("the process has died")

func newDesk(t *testing.T, deployer *scripted, change ...func(*v1alpha1.DeployItem)) *desk {
	t.Helper()
	deployer.itemType = "example.com/desk"
	clients, err := target.New(target.Options{})
	require.NoError(t, err)
	d := &desk{t: t, deployer: deployer, events: record.NewFakeRecorder(100)}
	d.options = Options{MinRetryDelay: DefaultMinRetryDelay, MaxRetryDelay: DefaultMaxRetryDelay, Identity: "me", Clients: clients, Recorder: d.events}
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	d.api = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.DeployItem{}).Build()
	item := &v1alpha1.DeployItem{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "item", UID: "uid", Generation: 1, Finalizers: []string{v1alpha1.Finalizer}},
		Spec:       v1alpha1.DeployItemSpec{Type: deployer.itemType, Configuration: &runtime.RawExtension{Raw: []byte(`{}`)}},
	}
	for _, c := range change {
		c(item)
	}
	require.NoError(t, d.api.Create(t.Context(), item))
	d.restart()
	return d
}

// restart gives the deployer the memory of a new process.
func (d *desk) restart() {
	d.before = nil
	d.r = newReconciler(interceptor.NewClient(d.api, interceptor.Funcs{
		Get: d.get, Create: d.create, Update: d.update, Patch: d.patch, Delete: d.delete, SubResourceUpdate: d.updateStatus,
	}), d.api, d.deployer, d.options)
}

func (d *desk) write(verb string, do func() error) error {
	if d.before != nil {
		if err := d.before(verb); err != nil {
			return err
		}
	}
	d.writes = append(d.writes, verb)
	err := do()
	if err == nil && d.after != nil {
		d.after()
	}
	return err
}

func (d *desk) get(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	if item, ok := obj.(*v1alpha1.DeployItem); ok && d.cached != nil {
		d.cached.DeepCopyInto(item)
		return nil
	}
	return c.Get(ctx, key, obj, options...)
}

func (d *desk) create(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.CreateOption) error {
	return d.write("create", func() error { return c.Create(ctx, obj, options...) })
}

func (d *desk) update(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.UpdateOption) error {
	return d.write("update", func() error { return c.Update(ctx, obj, options...) })
}

func (d *desk) delete(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.DeleteOption) error {
	return d.write("delete", func() error { return c.Delete(ctx, obj, options...) })
}

func (d *desk) patch(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	return d.write("patch", func() error { return c.Patch(ctx, obj, patch, options...) })
}

func (d *desk) updateStatus(ctx context.Context, c client.Client, sub string, obj client.Object, options ...client.SubResourceUpdateOption) error {
	return d.write("status", func() error { return c.SubResource(sub).Update(ctx, obj, options...) })
}

// pass reconciles once.
func (d *desk) pass() ctrl.Result {
	d.t.Helper()
	result, _ := d.r.Reconcile(d.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "item"}})
	return result
}

// item returns the item as it is stored; nil when it is gone.
func (d *desk) item() *v1alpha1.DeployItem {
	d.t.Helper()
	item := &v1alpha1.DeployItem{}
	err := d.api.Get(d.t.Context(), client.ObjectKey{Namespace: "ns", Name: "item"}, item)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(d.t, err)
	return item
}

// change changes the status of the item as somebody else does, and shows it to the deployer as its watch does.
func (d *desk) change(change func(*v1alpha1.DeployItem)) {
	d.t.Helper()
	d.changeUnseen(change)
	d.r.seen(d.item())
}

// changeUnseen is change before the event arrives.
func (d *desk) changeUnseen(change func(*v1alpha1.DeployItem)) {
	d.t.Helper()
	item := d.item()
	change(item)
	require.NoError(d.t, d.api.Status().Update(d.t.Context(), item))
}

// trigger hands a job over.
func (d *desk) trigger(job string) {
	d.t.Helper()
	now := metav1.Now()
	d.change(func(item *v1alpha1.DeployItem) { item.Status.JobID, item.Status.JobIDGenerationTime = job, &now })
}

// operate sets the operation annotation.
func (d *desk) operate(value string) {
	d.t.Helper()
	item := d.item()
	metav1.SetMetaDataAnnotation(&item.ObjectMeta, v1alpha1.OperationAnnotation, value)
	require.NoError(d.t, d.api.Update(d.t.Context(), item))
}

// requireSteady checks that further passes write nothing.
func (d *desk) requireSteady() {
	d.t.Helper()
	before := len(d.writes)
	for range 5 {
		d.pass()
	}
	require.Empty(d.t, d.writes[before:])
}

func TestEachJobOfAnItemLeavesALine(t *testing.T) {
	d := newDesk(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) { return Outcome{Done: true}, nil }})
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	d.trigger("1")
	for range 3 {
		_, err := d.r.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "item"}})
		require.NoError(t, err)
	}
	require.Len(t, lines, 1)
	for _, part := range []string{`"msg"="job ended"`, `"job"="1"`, `"result"="Succeeded"`, `"reason"="ReconciliationSucceeded"`} {
		assert.Contains(t, lines[0], part)
	}
}
