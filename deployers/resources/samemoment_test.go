// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// rival is a bench of another DeployItem on the same target and namespace.
func (b *bench) rival() *bench {
	b.t.Helper()
	other := newBench(b.t)
	other.namespace, other.Owner = b.namespace, resources.Owner{Item: "rival-" + b.namespace, UID: "uid-of-rival"}
	return other
}

// at lets act happen once, before the request that matches is sent.
func (b *bench) at(match func(*http.Request) bool, act func()) {
	done := false
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before = func(request *http.Request) {
		if !done && match(request) {
			done = true
			act()
		}
	}
}

func isDryRun(request *http.Request) bool {
	return request.Method == http.MethodPatch && request.URL.Query().Get("dryRun") != ""
}

// isWrite reports whether a request creates the object, in whatever way.
func isWrite(request *http.Request) bool {
	return (request.Method == http.MethodPost || request.Method == http.MethodPatch) && !isDryRun(request)
}

func TestOfTwoItemsThatApplyAtTheSameMomentOneFails(t *testing.T) {
	for name, moment := range map[string]func(*http.Request) bool{"before the dry run": isDryRun, "after the dry run": isWrite} {
		for _, conflicts := range []string{"Force", "Fail"} {
			t.Run(name+" "+conflicts, func(t *testing.T) {
				b := newBench(t)
				rival := b.rival()
				options := resources.ApplyOptions{Strategy: serverSideApply}
				if conflicts == "Fail" {
					options.OnConflict = "Fail"
				}
				b.at(moment, func() { rival.apply(serverSideApply, nil, manage(b.configMap("one", "a", "theirs"))) })

				applied, err := b.Apply(t.Context(), []resources.Desired{manage(b.configMap("one", "a", "ours"))}, options)

				require.ErrorContains(t, err, "ConfigMap "+b.namespace+"/one")
				assert.ErrorContains(t, err, rival.Owner.Item)
				assert.Empty(t, applied.Managed)
				live := b.live(b.configMap("one", "a", ""))
				assert.Equal(t, map[string]string{"a": "theirs"}, data(live))
				assert.True(t, rival.Owner.Labelled(live))
				_, err = b.Apply(t.Context(), []resources.Desired{manage(b.configMap("one", "a", "ours"))}, options)
				assert.Error(t, err, "also the next time")
			})
		}
	}
}

func TestObjectOfAProcessThatDiedAfterItsCreationIsAppliedNextTime(t *testing.T) {
	b := newBench(t)
	object := b.configMap("one", "a", "1")
	ctx, die := context.WithCancel(t.Context())
	b.at(func(request *http.Request) bool {
		return strings.Contains(request.Header.Get("Content-Type"), "json-patch")
	}, die)
	_, err := b.Apply(ctx, []resources.Desired{manage(object)}, resources.ApplyOptions{Strategy: serverSideApply})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, metav1.ManagedFieldsOperationUpdate, b.live(object).GetManagedFields()[0].Operation)

	b.apply(serverSideApply, nil, manage(object))

	live := b.live(object)
	require.Len(t, live.GetManagedFields(), 1)
	assert.Equal(t, metav1.ManagedFieldsOperationApply, live.GetManagedFields()[0].Operation)
}

// TestWhatIsTakenInTheLastMomentStays has another item take an object over between the read on which its deletion was decided and the write.
func TestWhatIsTakenInTheLastMomentStays(t *testing.T) {
	for name, test := range map[string]struct {
		desired resources.Desired
		moment  func(*http.Request) bool
	}{
		"before it is deleted":                 {moment: func(request *http.Request) bool { return request.Method == http.MethodDelete }},
		"before it is annotated to be deleted": {resources.Desired{AnnotateBeforeDelete: map[string]string{"confirm": "yes"}}, isWrite},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			rival, object := b.rival(), b.configMap("one", "a", "1")
			test.desired.Object, test.desired.Policy = object, managedresource.ManagePolicy
			applied := b.apply("", nil, test.desired)
			b.at(test.moment, func() {
				taken := b.live(object)
				b.markAs(taken, rival.Owner)
				require.NoError(t, platform.Shared(t).Client().Update(t.Context(), taken))
			})

			b.delete(applied.Managed, nil)

			require.True(t, b.exists(object))
			assert.Empty(t, b.live(object).GetDeletionTimestamp())
			assert.NotContains(t, b.live(object).GetAnnotations(), "confirm")
		})
	}
}
