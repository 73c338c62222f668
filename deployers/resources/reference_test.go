// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

func TestOfAnAnswerOnlyNameAndUIDAreKept(t *testing.T) {
	long := strings.Repeat("x", 1<<10)
	for name, tc := range map[string]struct {
		asked, uid, answered string
		wantName, wantUID    string
	}{
		"as asked for":      {"a", "uid", "a", "a", "uid"},
		"a name of its own": {"", "uid", "a-x7f", "a-x7f", "uid"},
		"another name":      {"a", "uid", long, "a", "uid"},
	} {
		t.Run(name, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": long, "kind": long}}
			live.SetUID(types.UID(tc.uid))
			live.SetName(tc.answered)
			live.SetNamespace(long)
			asked := managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: tc.asked, UID: "before"}
			want := managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: tc.wantName, UID: types.UID(tc.wantUID)}
			assert.Equal(t, want, Answered(asked, live))
		})
	}
}

func TestAnObjectWithoutANamespaceIsKeptWithoutOne(t *testing.T) {
	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "a", "uid": "uid"}}}
	asked := managedresource.ResourceReference{APIVersion: "v1", Kind: "Node", Namespace: "of the manifest", Name: "a"}
	assert.Equal(t, managedresource.ResourceReference{APIVersion: "v1", Kind: "Node", Name: "a", UID: "uid"}, Answered(asked, live))
}

func TestAPanicOverOneOfManyObjectsGoesOnInWhoWaits(t *testing.T) {
	worked := make([]bool, 3)
	assert.Panics(t, func() {
		Each(len(worked), func(i int) {
			if worked[i] = true; i == 1 {
				panic("broken")
			}
		})
	})
	assert.Equal(t, []bool{true, true, true}, worked)
}
