// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func TestUnknownPolicyDefaultsToManage(t *testing.T) {
	desired, err := Expand([]managedresource.Manifest{{Manifest: &runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}`)}}})
	require.NoError(t, err)
	assert.Equal(t, managedresource.ManagePolicy, desired[0].Policy)
}

func TestListsAreNotNestedForever(t *testing.T) {
	text := `{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}`
	for range maxListDepth + 1 {
		text = fmt.Sprintf(`{"apiVersion":"v1","kind":"List","items":[%s]}`, text)
	}
	_, err := Expand([]managedresource.Manifest{{Manifest: &runtime.RawExtension{Raw: []byte(text)}}})
	assert.ErrorContains(t, err, "nested more than")
}

func TestMetadataNullsAreAbsent(t *testing.T) {
	desired, err := Expand([]managedresource.Manifest{{Manifest: &runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"A","metadata":{"name":"a","labels":null,"creationTimestamp":null}}`)}}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"name": "a"}, desired[0].Object.Object["metadata"])
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{`{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}`, `{"items":[{}]}`, `{"kind":"List","items":[1]}`, `[]`,
		`{"apiVersion":"v1","kind":"A","metadata":{"name":"a","labels":{"a":1}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		desired, err := Expand([]managedresource.Manifest{{Manifest: &runtime.RawExtension{Raw: raw}}})
		if err != nil {
			require.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, protocol.CodesOf(err))
			return
		}
		for _, d := range desired {
			object := d.Object.DeepCopy()
			(Owner{Item: "item", UID: "uid"}).Mark(object, d.Policy)
			require.True(t, (Owner{Item: "item", UID: "uid"}).Proven(object))
			_, err := difference(d.Object, object)
			require.NoError(t, err)
		}
	})
}

func TestLabelValueFitsAndTellsApart(t *testing.T) {
	long := strings.Repeat("a", 70)
	assert.Equal(t, "short", LabelValue("short"))
	assert.Empty(t, validation.IsValidLabelValue(LabelValue(long)))
	assert.NotEqual(t, LabelValue(long+"1"), LabelValue(long+"2"))
}

func TestOrphans(t *testing.T) {
	type records = []managedresource.ManagedResourceStatus
	record := func(apiVersion, name, uid string) managedresource.ManagedResourceStatus {
		return managedresource.ManagedResourceStatus{Resource: managedresource.ResourceReference{
			APIVersion: apiVersion, Kind: "Thing", Name: name, Namespace: "default", UID: types.UID(uid)}}
	}
	for name, test := range map[string]struct {
		known, current, orphans records
	}{
		"left":            {known: records{record("a/v1", "one", "1")}, orphans: records{record("a/v1", "one", "1")}},
		"same name":       {known: records{record("a/v1", "one", "1")}, current: records{record("a/v1", "one", "2")}, orphans: records{}},
		"other version":   {known: records{record("a/v1", "one", "")}, current: records{record("a/v2", "one", "")}, orphans: records{}},
		"same UID":        {known: records{record("a/v1", "one", "1")}, current: records{record("b/v1", "one", "1")}, orphans: records{}},
		"no UID, no name": {known: records{record("a/v1", "one", "")}, current: records{record("a/v1", "two", "")}, orphans: records{record("a/v1", "one", "")}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.orphans, Orphans(test.known, test.current))
		})
	}
}
