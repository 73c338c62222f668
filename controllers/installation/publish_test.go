// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestE22CopiesOfTargetsKeepTheirLabels(t *testing.T) {
	original := fixture.ClusterTarget()
	original.Labels[v1alpha1.DataObjectIndexLabel] = "3"
	original.Labels["kustomize.toolkit.fluxcd.io/name"] = "apps"
	original.Annotations[relations.RetiredAnnotation] = "job"
	original.Annotations[relations.LastAppliedAnnotation] = "{}"
	p := &scope{inst: fixture.Working("root", "1", "job")}
	p.Imports = &inputs.Collected{Targets: map[string]*v1alpha1.Target{"cluster": original}}
	object, err := targetCopy(p, render.Target{Name: "cluster"}, "in", "in", nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"region": "eu", "landscaper.gardener.cloud/targetsync": "ok",
		v1alpha1.DataObjectContextLabel: "Inst.root", v1alpha1.DataObjectSourceLabel: "Inst.root", v1alpha1.DataObjectKeyLabel: "in",
		v1alpha1.DataObjectSourceTypeLabel: "import", v1alpha1.DataObjectJobIDLabel: "job",
	}, object.GetLabels())
	assert.Equal(t, map[string]string{"zone": "a", v1alpha1.OriginalTargetAnnotation: "cluster", v1alpha1.HashAnnotation: object.GetAnnotations()[v1alpha1.HashAnnotation]}, object.GetAnnotations())
}

func TestWhatWasCollectedMeanwhileIsCreated(t *testing.T) {
	b := with(t)
	gone := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "in", ResourceVersion: "7", Finalizers: []string{"example.com/held"}}}
	wanted := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "in"}}
	require.NoError(t, b.replaceData(t.Context(), wanted, gone))
	require.NoError(t, b.Get(t.Context(), client.ObjectKeyFromObject(wanted), wanted))
	assert.Empty(t, wanted.Finalizers)
}

func TestE13CopiesOfAFormerInstallationAreMadeAnew(t *testing.T) {
	owned := func(uid types.UID) *v1alpha1.DataObject {
		inst := fixture.Working("root", string(uid), "job")
		return &v1alpha1.DataObject{
			ObjectMeta: copyMeta(inst, "in", "in", nil, storage.DataHash(v1alpha1.NewAnyJSON([]byte("1")))),
			Data:       v1alpha1.NewAnyJSON([]byte("1")),
		}
	}
	for name, tc := range map[string]struct {
		exists  *v1alpha1.DataObject
		renewed bool
	}{
		"own":                {owned("new"), false},
		"of the former":      {owned("former"), true},
		"of nobody":          {func() *v1alpha1.DataObject { o := owned("new"); o.OwnerReferences = nil; return o }(), false},
		"own, other content": {func() *v1alpha1.DataObject { o := owned("new"); o.Data.RawMessage = []byte("2"); return o }(), false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.exists.UID, tc.exists.Finalizers = "exists", []string{"example.com/held"}
			if tc.renewed {
				tc.exists.Finalizers = nil
			}
			b, deleted := with(t, tc.exists), 0
			b.Client = interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
				Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
					deleted++
					return c.Delete(ctx, object, options...)
				},
			})
			require.NoError(t, b.publishCopy(t.Context(), fixture.Working("root", "new", "job"), owned("new")))
			found := &v1alpha1.DataObject{}
			require.NoError(t, b.Get(t.Context(), client.ObjectKeyFromObject(tc.exists), found))
			assert.Equal(t, types.UID("new"), found.OwnerReferences[0].UID)
			assert.JSONEq(t, "1", string(found.Data.RawMessage))
			if tc.renewed {
				assert.Equal(t, 1, deleted, "what replaced garbage would be collected")
				return
			}
			assert.Zero(t, deleted)
			assert.Equal(t, []string{"example.com/held"}, found.Finalizers, "finalizers of others stay")
		})
	}
}

// dataObject is a managed object with a name and a content.
func dataObject(name, content string) client.Object {
	return &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: v1alpha1.NewAnyJSON([]byte(content))}
}

func TestSameContents(t *testing.T) {
	one, other := dataObject("a", "1"), dataObject("b", "1")
	for name, tc := range map[string]struct {
		has, wanted []client.Object
		same        bool
	}{
		"nothing":       {same: true},
		"another order": {has: []client.Object{one, other}, wanted: []client.Object{other, one}, same: true},
		"other content": {has: []client.Object{one}, wanted: []client.Object{dataObject("a", "2")}},
		"another name":  {has: []client.Object{one}, wanted: []client.Object{other}},
		"one more":      {has: []client.Object{one}, wanted: []client.Object{one, other}},
		"one less":      {has: []client.Object{one, other}, wanted: []client.Object{one}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.same, sameContents(tc.has, tc.wanted)) })
	}
}

func TestACopyStaysWhileASubinstallationHasTheJobThatImportsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		job   string
		stays bool
	}{
		"it has the running job":      {job: "job", stays: true},
		"it has the job of before":    {job: "former"},
		"the job has no children yet": {},
	} {
		t.Run(name, func(t *testing.T) {
			f := &scope{inst: fixture.Working("root", "1", "job"), children: map[string]*v1alpha1.Installation{}}
			if tc.job != "" {
				child := &v1alpha1.Installation{}
				child.Status.JobID = tc.job
				f.children["child"] = child
			}
			former := &v1alpha1.DataObject{ObjectMeta: copyMeta(f.inst, "former", "former", nil, "")}
			b := with(t, former)
			require.NoError(t, b.retireFormerCopies(t.Context(), f, map[string]client.Object{}))
			err := b.Get(t.Context(), client.ObjectKeyFromObject(former), &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{}})
			assert.Equal(t, tc.stays, err == nil)
		})
	}
}

func TestE15ExportsThatAreFreeAgain(t *testing.T) {
	held := func(name, uid string) *v1alpha1.DataObject {
		object := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "out"}}
		object.OwnerReferences = []metav1.OwnerReference{{Kind: "Installation", Name: name, UID: fixture.Working(name, uid, "").UID}}
		return object
	}
	byHand := held("", "")
	byHand.OwnerReferences = nil
	going := held("other", "2")
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"example.com/held"}
	other, changed := fixture.Exporter("other", "2", ""), fixture.Exporter("other", "2", "")
	changed.Spec.Exports.Data = nil
	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		free    bool
	}{
		"held by another":              {jobs.ReasonExportOwnedByOther, []client.Object{held("other", "2"), other}, false},
		"the other is gone":            {jobs.ReasonExportOwnedByOther, []client.Object{held("other", "2")}, true},
		"the other was made anew":      {jobs.ReasonExportOwnedByOther, []client.Object{held("other", "1"), other}, true},
		"the other has deleted it":     {jobs.ReasonExportOwnedByOther, []client.Object{other}, true},
		"the other exports it no more": {jobs.ReasonExportOwnedByOther, []client.Object{held("other", "2"), changed}, true},
		"about to go":                  {jobs.ReasonExportOwnedByOther, []client.Object{going, other}, true},
		"held by nobody":               {jobs.ReasonExportOwnedByOther, []client.Object{byHand, other}, true},
		"failed for something else":    {"ImportNotFound", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			free, err := with(t, tc.objects...).exportsAreFree(t.Context(), fixture.Exporter("new", "9", tc.reason))
			require.NoError(t, err)
			assert.Equal(t, tc.free, free)
		})
	}
}

func TestAFormerExportGoesOnlyWhileItIsTheOwn(t *testing.T) {
	inst := fixture.Working("one", "1", "job")
	for name, tc := range map[string]struct {
		owner *v1alpha1.Installation
		stays bool
	}{
		"the own":                     {inst, false},
		"another one's by now":        {fixture.Working("two", "2", "job"), true},
		"of a namesake that followed": {fixture.Working("one", "2", "job"), true},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, object := range map[string]client.Object{"DataObject": &v1alpha1.DataObject{}, "Target": &v1alpha1.Target{}} {
				object.SetName("out")
				object.SetNamespace(inst.Namespace)
				object.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Installation", Name: tc.owner.Name, UID: tc.owner.UID}})
				r := with(t, object)
				require.NoError(t, r.deleteExport(t.Context(), inst, object.DeepCopyObject().(client.Object)))
				err := r.Get(t.Context(), client.ObjectKeyFromObject(object), object)
				assert.Equal(t, tc.stays, err == nil && object.GetDeletionTimestamp().IsZero(), kind)
			}
		})
	}
}

func TestLostExportOf(t *testing.T) {
	export := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "out"}}
	for name, tc := range map[string]struct {
		phase      v1alpha1.Phase
		generation int64
		objects    []client.Object
		want       string
	}{
		"it is gone":                  {v1alpha1.PhaseSucceeded, 1, nil, "DataObject out"},
		"it is there":                 {v1alpha1.PhaseSucceeded, 1, []client.Object{export}, ""},
		"no job has published it yet": {v1alpha1.PhaseSucceeded, 2, nil, ""},
		"the last job has failed":     {v1alpha1.PhaseFailed, 1, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inst := fixture.Grown(tc.phase)
			inst.Generation, inst.Status.ObservedGeneration = tc.generation, 1
			inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "out", DataRef: "out"}}
			lost, err := with(t, tc.objects...).lostExport(t.Context(), inst)
			require.NoError(t, err)
			assert.Equal(t, tc.want, lost)
		})
	}
}

// counting publishes in a cluster with objects, and counts what it reads from the cache.
func counting(t *testing.T, objects ...client.Object) (*Reconciler, map[string]int) {
	t.Helper()
	b := with(t, objects...)
	cache, reads := fixture.Counting(b.Client.(client.WithWatch))
	b.Client = cache
	return b, reads
}

// losing is an Installation whose exports another one may hold, and that one, with as many exports.
func losing(exports int) (inst, rival *v1alpha1.Installation, objects []client.Object) {
	inst, rival = fixture.Exporter("new", "9", jobs.ReasonExportOwnedByOther), fixture.Exporter("rival", "2", "")
	inst.Spec.Exports.Data = nil
	for i := range exports {
		name := "out" + strconv.Itoa(i)
		inst.Spec.Exports.Data = append(inst.Spec.Exports.Data, v1alpha1.DataExport{Name: name, DataRef: name})
		object := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
		object.OwnerReferences = []metav1.OwnerReference{{Kind: "Installation", Name: rival.Name, UID: rival.UID}}
		objects = append(objects, object)
	}
	return inst, rival, append(objects, rival)
}

func TestARivalOfManyExportsIsReadOnce(t *testing.T) {
	inst, _, objects := losing(100)
	b, reads := counting(t, objects...)
	free, err := b.exportsAreFree(t.Context(), inst)
	require.NoError(t, err)
	assert.True(t, free)
	assert.Equal(t, map[string]int{"*v1alpha1.DataObject": 100, "*v1alpha1.Installation": 1}, reads)
}

func TestExportsAreLookedForNoLongerThanTheContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	inst, _, objects := losing(2)
	b, reads := counting(t, objects...)
	_, err := b.exportsAreFree(ended, inst)
	require.ErrorIs(t, err, context.Canceled)
	inst.Status.Phase, inst.Status.ObservedGeneration = v1alpha1.PhaseSucceeded, inst.Generation
	_, err = b.lostExport(ended, inst)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, reads)
}

func TestPublishedExportsAreFoundWithoutCopies(t *testing.T) {
	inst, _, objects := losing(3)
	inst.Status.Phase, inst.Status.ObservedGeneration = v1alpha1.PhaseSucceeded, inst.Generation
	b, reads := counting(t, objects...)
	lost, err := b.lostExport(t.Context(), inst)
	require.NoError(t, err)
	assert.Empty(t, lost)
	assert.Equal(t, map[string]int{"*v1alpha1.DataObject": 3}, reads)
}

// TestScopesAreListedWithoutCopies has objects that are not looked for in the scope of an Installation and among what it exported.
func TestScopesAreListedWithoutCopies(t *testing.T) {
	f := &scope{inst: fixture.Grown(v1alpha1.PhaseSucceeded), children: map[string]*v1alpha1.Installation{}}
	lists := map[string]int{"*v1alpha1.DataObjectList": 1, "*v1alpha1.TargetList": 1}
	p := &scope{inst: f.inst}
	for name, list := range map[string]func(*Reconciler) error{
		"former copies":  func(b *Reconciler) error { return b.retireFormerCopies(t.Context(), f, map[string]client.Object{}) },
		"retired copies": func(b *Reconciler) error { return b.deleteRetiredCopies(t.Context(), p) },
		"former exports": func(b *Reconciler) error {
			return b.deleteFormerExports(t.Context(), f.inst, map[string]client.Object{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, reads := counting(t)
			require.NoError(t, list(b))
			assert.Equal(t, lists, reads)
		})
	}
}

// decoding writes into the maps of an object what the API server answers, as clients do.
func decoding(object client.Object) { object.GetLabels()["decoded"] = "yes" }

// TestWhatIsSharedWithTheCacheIsNotChanged has deletions conflict, so that objects are read anew.
func TestWhatIsSharedWithTheCacheIsNotChanged(t *testing.T) {
	inst := fixture.Grown(v1alpha1.PhaseSucceeded)
	family := &scope{inst: inst, children: map[string]*v1alpha1.Installation{"root-sub": {}}}
	retire := func(b *Reconciler) error {
		return b.retireFormerCopies(t.Context(), family, map[string]client.Object{})
	}
	drop := func(b *Reconciler) error { return b.deleteRetiredCopies(t.Context(), &scope{inst: inst}) }
	deleteFormer := func(b *Reconciler) error { return b.deleteFormerExports(t.Context(), inst, map[string]client.Object{}) }
	for name, tc := range map[string]struct {
		source  string
		retired string
		change  func(*Reconciler) error
	}{
		"a copy that is retired":         {v1alpha1.DataObjectSourceImport, "", retire},
		"a retired copy that is deleted": {v1alpha1.DataObjectSourceImport, "job", drop},
		"an export that is deleted":      {v1alpha1.DataObjectSourceExport, "", deleteFormer},
	} {
		t.Run(name, func(t *testing.T) {
			shared := &v1alpha1.Target{ObjectMeta: metaOf(inst, tc.source, storage.InstallationScope(inst.Name), "in", "")}
			shared.UID, shared.ResourceVersion, shared.Annotations[relations.RetiredAnnotation] = "uid", "1", tc.retired
			before, answers := shared.DeepCopy(), 0
			api := interceptor.NewClient(fixture.Cluster(t, relations.Index), interceptor.Funcs{
				List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
					if targets, ok := list.(*v1alpha1.TargetList); ok {
						targets.Items = []v1alpha1.Target{*shared}
					}
					return nil
				},
				Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
					answers++
					decoding(object)
					return nil
				},
				Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
					answers++
					decoding(object)
					return nil
				},
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
					return apierrors.NewConflict(schema.GroupResource{}, "in", errors.New("it has changed"))
				},
			})
			err := tc.change(&Reconciler{Client: api, Live: api})
			require.True(t, err == nil || apierrors.IsConflict(err), "%v", err)
			assert.NotZero(t, answers)
			assert.Equal(t, before, shared)
		})
	}
}

func TestEchoReturnsAtOnceWhenTheCacheShowsIt(t *testing.T) {
	var known echo
	require.NoError(t, known.await(t.Context(), func() (bool, error) { return true, nil }))
}

func TestEchoAsksAgainAfterAChange(t *testing.T) {
	var known echo
	var asked atomic.Int32
	require.NoError(t, known.await(t.Context(), func() (bool, error) {
		if asked.Add(1) == 1 {
			go known.changed()
			return false, nil
		}
		return true, nil
	}))
	assert.EqualValues(t, 2, asked.Load())
}

func TestEchoPassesProblemsOn(t *testing.T) {
	var known echo
	problem := errors.New("cannot read")
	assert.ErrorIs(t, known.await(t.Context(), func() (bool, error) { return false, problem }), problem)
}

func TestEchoGivesUpWithItsContext(t *testing.T) {
	var known echo
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, known.await(ctx, func() (bool, error) { return false, nil }), protocol.ErrStop)
}
