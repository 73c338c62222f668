// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/tests/schema"
)

type object = schema.Object

// huge is a text of 1 MiB.
var huge = schema.Huge

// listOf decodes, as every process does, a list of an object with some content and a healthy one.
func listOf(t *testing.T, decoder runtime.Decoder, kind string, content object) error {
	t.Helper()
	named := func(name string, content object) object {
		all := object{"apiVersion": GroupVersion.String(), "kind": kind, "metadata": object{"name": name, "namespace": "ns"}}
		maps.Copy(all, content)
		return all
	}
	raw, err := json.Marshal(object{
		"apiVersion": GroupVersion.String(), "kind": kind + "List", "metadata": object{},
		"items": []any{named("bad", content), named("good", nil)},
	})
	require.NoError(t, err)
	list, _, err := decoder.Decode(raw, nil, nil)
	if err != nil {
		return err
	}
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	if items.Len() != 2 {
		return fmt.Errorf("%d objects are left", items.Len())
	}
	for i, name := range []string{"bad", "good"} {
		if got := items.Index(i).Addr().Interface().(metav1.Object).GetName(); got != name {
			return fmt.Errorf("object %d has the name %q", i, got)
		}
	}
	return nil
}

func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}

func TestT03WhateverACRDAcceptsDecodes(t *testing.T) {
	decoder, fields := decoder(t), 0
	definitions, err := schema.Definitions("../../config/crd/bases")
	require.NoError(t, err)
	require.Len(t, definitions, 13)
	for kind, definition := range definitions {
		t.Run(kind, func(t *testing.T) {
			definition.Walk("", func(v any) any { return v }, func(path string, put func(any) any, values []any) {
				fields++
				for _, value := range values {
					content, ok := put(value).(object)
					if !ok {
						continue
					}
					shown := fmt.Sprintf("%.60v", value)
					assert.NoError(t, listOf(t, decoder, kind, content), "%s: %s", path, shown)
				}
			})
		})
	}
	assert.Greater(t, fields, 400)
}

func TestT03WhatCannotBeReadIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		content string
		says    []string
	}{
		"interval": {
			content: `{"spec":{"context":"kept","automaticReconcile":{"failedReconcile":{"interval":"soon","cronSpec":"@daily"}}}}`,
			says:    []string{`spec.automaticReconcile.failedReconcile.interval cannot be read: "soon" is given; write a duration like 90s or 1h30m, or none`},
		},
		"number": {
			content: `{"spec":{"context":"kept","automaticReconcile":{"failedReconcile":{"numberOfReconciles":3000000000}}}}`,
			says:    []string{"spec.automaticReconcile.failedReconcile.numberOfReconciles cannot be read: write a whole number below 2147483648"},
		},
		"no map": {
			content: `{"spec":{"context":"kept","importDataMappings":[1],"exportDataMappings":"x"}}`,
			says:    []string{"spec.importDataMappings cannot be read: write an object", "spec.exportDataMappings cannot be read: write an object"},
		},
		"element of a list": {
			content: `{"spec":{"context":"kept","imports":{"data":[{"name":"a"},{"name":5}]}}}`,
			says:    []string{"spec.imports.data[1].name cannot be read: write a text"},
		},
		"status": {content: `{"spec":{"context":"kept"},"status":{"observedGeneration":1,"transitionTimes":{"initTime":"2026-01-31t12:00:00z"},"jobID":"job"}}`},
		"good":   {content: `{"spec":{"context":"kept","automaticReconcile":{"failedReconcile":{"interval":"5m"}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &Installation{}
			require.NoError(t, json.Unmarshal([]byte(tc.content), inst))
			assert.ElementsMatch(t, tc.says, inst.Undecoded)
			assert.Equal(t, "kept", inst.Spec.Context)
			assert.Equal(t, len(tc.says) > 0, inst.Undecoded.Err() != nil)
		})
	}
}

func TestT03ProblemsAreFewAndShort(t *testing.T) {
	targets := strings.Repeat(`"`+huge[:1000]+`",`, 100) + "null"
	inst := &Installation{}
	require.NoError(t, json.Unmarshal([]byte(`{"spec":{"imports":{"data":[`+targets+`]},"automaticReconcile":{"succeededReconcile":{"interval":"`+huge+`"}}}}`), inst))
	assert.LessOrEqual(t, len(inst.Undecoded), maxUndecoded)
	assert.Less(t, len(inst.Undecoded.Err().Error()), 2000)
}

func TestT03WhatIsNoObjectIsAnError(t *testing.T) {
	for _, raw := range []string{``, `[]`, `"x"`, `{`} {
		assert.Error(t, (&Installation{}).UnmarshalJSON([]byte(raw)), raw)
	}
}

// TestT03AReadObjectIsWrittenAsItWas has an object whose type reads itself and is written by its fields.
func TestT03AReadObjectIsWrittenAsItWas(t *testing.T) {
	raw := `{"metadata":{"name":"x"},"spec":{"type":"t","timeout":"1h0m0s","config":{"a":1}},"status":{"observedGeneration":3,"jobID":"j"}}`
	item := &DeployItem{}
	require.NoError(t, json.Unmarshal([]byte(raw), item))
	written, err := json.Marshal(item)
	require.NoError(t, err)
	assert.JSONEq(t, raw, string(written))
}

// TestT03WhatIsReadReplacesWhatWasThere has an object that is read again after an annotation was removed.
func TestT03WhatIsReadReplacesWhatWasThere(t *testing.T) {
	inst := &Installation{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "1", "b": "2"}}, Undecoded: Undecoded{"x"}}
	require.NoError(t, json.Unmarshal([]byte(`{"metadata":{"annotations":{"b":"3"}}}`), inst))
	assert.Equal(t, map[string]string{"b": "3"}, inst.Annotations)
	assert.Empty(t, inst.Undecoded)
	converted := &Installation{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "1"}}}
	content := object{"metadata": object{"annotations": object{"b": "3"}}}
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(content, converted))
	assert.Equal(t, map[string]string{"b": "3"}, converted.Annotations)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"spec":{"automaticReconcile":{"failedReconcile":{"interval":"soon"}}}}`))
	f.Add([]byte(`{"metadata":5,"spec":[],"status":{"conditions":[{"lastTransitionTime":"x"}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var tree map[string]any
		if json.Unmarshal(raw, &tree) != nil || tree == nil {
			return
		}
		require.NoError(t, (&Installation{}).UnmarshalJSON(raw))
	})
}

func TestNothingIsKeptOfWhatAnObjectHeldBefore(t *testing.T) {
	item := &DeployItem{}
	item.Annotations = map[string]string{OperationAnnotation: OperationTestReconcile}
	item.Status.LastError = &Error{Message: "old"}
	require.NoError(t, json.Unmarshal([]byte(`{"metadata":{"name":"item","annotations":{"a":"b"}},"status":{"jobID":"1"}}`), item))
	assert.Equal(t, map[string]string{"a": "b"}, item.Annotations)
	assert.Nil(t, item.Status.LastError)
	assert.Equal(t, "1", item.Status.JobID)
}

// counting counts how often a value of it is decoded.
type counting struct{}

var decodings int

func (*counting) UnmarshalJSON([]byte) error { decodings++; return nil }

// TestWhatIsGoodIsDecodedFewTimes has a list deep within an object of which something else cannot be read.
func TestWhatIsGoodIsDecodedFewTimes(t *testing.T) {
	type leaf struct {
		List []counting `json:"list"`
	}
	type deep struct {
		A struct {
			B struct {
				C struct {
					D leaf     `json:"d"`
					E Duration `json:"e"`
				} `json:"c"`
			} `json:"b"`
		} `json:"a"`
	}
	list := slices.Repeat([]any{true}, 100)
	value := object{"a": object{"b": object{"c": object{"d": object{"list": list}, "e": "soon"}}}}
	decodings = 0
	var misfits []document.Misfit
	left := document.Fit(reflect.TypeFor[deep](), value, func(m document.Misfit) { misfits = append(misfits, m) })
	assert.Len(t, misfits, 1)
	assert.Equal(t, object{"a": object{"b": object{"c": object{"d": object{"list": list}}}}}, left)
	assert.LessOrEqual(t, decodings, 100)
}
