// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestRevisionChangedOnUpdate(t *testing.T) {
	set := func(status, message string) []metav1.Condition {
		return []metav1.Condition{{Type: fluxmeta.ReadyCondition, Status: metav1.ConditionStatus(status), Message: message}}
	}
	without := func(message string) func(*sourcev1.GitRepository) {
		return func(o *sourcev1.GitRepository) { o.Status.Artifact, o.Status.Conditions = nil, set("False", message) }
	}
	nothing := func(*sourcev1.GitRepository) {}
	for name, tc := range map[string]struct {
		old, now func(*sourcev1.GitRepository)
		passes   bool
	}{
		"nothing": {nothing, nothing, false},
		"labels":  {nothing, func(o *sourcev1.GitRepository) { o.Labels = map[string]string{"a": "b"} }, false},
		"new revision": {nothing, func(o *sourcev1.GitRepository) {
			o.Status.Artifact = &fluxmeta.Artifact{Revision: "main@sha1:new", Digest: "sha256:abc"}
		}, true},
		"new digest": {nothing, func(o *sourcev1.GitRepository) {
			o.Status.Artifact = &fluxmeta.Artifact{Revision: artifact.Revision, Digest: "sha256:new"}
		}, true},
		"same artifact stored again": {nothing, func(o *sourcev1.GitRepository) {
			o.Status.Artifact = artifact.DeepCopy()
			o.Status.Artifact.URL, o.Status.Artifact.LastUpdateTime = "http://elsewhere", metav1.Now()
		}, false},
		"message of a usable source": {nothing, func(o *sourcev1.GitRepository) { o.Status.Conditions = set("False", "timeout") }, false},
		"message of a waiting one":   {without("timeout"), without("authentication required"), true},
		"first artifact":             {without("timeout"), nothing, true},
		"artifact lost":              {nothing, without("storage is empty"), true},
		"spec changed":               {nothing, func(o *sourcev1.GitRepository) { o.Generation++ }, true},
		"spec reconciled":            {func(o *sourcev1.GitRepository) { o.Generation-- }, nothing, true},
	} {
		t.Run(name, func(t *testing.T) {
			old, now := ready()["GitRepository"].(*sourcev1.GitRepository), ready()["GitRepository"].(*sourcev1.GitRepository)
			tc.old(old)
			tc.now(now)
			require.Equal(t, tc.passes, RevisionChanged().Update(event.UpdateEvent{ObjectOld: old, ObjectNew: now}))
		})
	}
}

func TestRevisionChangedOnOtherEvents(t *testing.T) {
	o := ready()["Bucket"].(*sourcev1.Bucket)
	require.True(t, RevisionChanged().Create(event.CreateEvent{Object: o}))
	require.False(t, RevisionChanged().Create(event.CreateEvent{Object: o, IsInInitialList: true}))
	require.True(t, RevisionChanged().Delete(event.DeleteEvent{Object: o}))
	require.False(t, RevisionChanged().Generic(event.GenericEvent{Object: o}))
}

func TestRevisionChangedIgnoresOtherKinds(t *testing.T) {
	require.False(t, RevisionChanged().Update(event.UpdateEvent{ObjectOld: &corev1.Secret{}, ObjectNew: &corev1.Secret{}}))
}

func TestKeysOfSourceAndReferenceMeet(t *testing.T) {
	for kind, o := range ready() {
		t.Run(kind, func(t *testing.T) {
			key := KeyOf(o)
			require.Equal(t, kind+"/default/"+o.GetName(), key)
			require.Equal(t, key, KeyFor("default", v1alpha1.SourceReference{Kind: kind, Name: o.GetName()}))
			require.Equal(t, key, KeyFor("other", v1alpha1.SourceReference{Kind: kind, Name: o.GetName(), Namespace: "default"}))
		})
	}
	require.Empty(t, KeyOf(&corev1.Secret{}))
}

func TestAvailableKinds(t *testing.T) {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"GitRepository", "OCIRepository"} {
		mapper.Add(sourcev1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	mapper.Add(sourcev1.GroupVersion.WithKind("Unrelated"), meta.RESTScopeNamespace)
	found, err := Available(mapper)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.IsType(t, &sourcev1.GitRepository{}, found[0])
	require.IsType(t, &sourcev1.OCIRepository{}, found[1])
}

// brokenMapper cannot reach the server.
type brokenMapper struct{ meta.RESTMapper }

var errUnreachable = errors.New("unreachable")

func (brokenMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errUnreachable
}

func TestAvailableFailsWhenItCannotAsk(t *testing.T) {
	_, err := Available(brokenMapper{})
	require.ErrorIs(t, err, errUnreachable)
}
