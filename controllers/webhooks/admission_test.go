// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

const (
	goodTarget = `{"metadata":{"name":"t"},"spec":{"type":"a","config":{}}}`
	badTarget  = `{"metadata":{"name":"t"},"spec":{"type":"a","config":{},"secretRef":{"name":"s"}}}`
	deleting   = `{"metadata":{"name":"t","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"type":"b","config":{},"secretRef":{"name":"s"}}}`
	typed      = `{"metadata":{"name":"d"},"spec":{"type":"%s"}}`
)

func kindOf(t testing.TB, plural string) Kind {
	t.Helper()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.plural == plural })
	require.GreaterOrEqual(t, i, 0)
	return kinds[i]
}

func handle(t testing.TB, plural, object, old string) admission.Response {
	t.Helper()
	return judge{kindOf(t, plural)}.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Object: runtime.RawExtension{Raw: []byte(object)}, OldObject: runtime.RawExtension{Raw: []byte(old)},
	}})
}

// TestUpdatesThatAreLetThrough is for API servers that know no match conditions.
func TestUpdatesThatAreLetThrough(t *testing.T) {
	annotated := strings.Replace(badTarget, `"name":"t"`, `"name":"t","annotations":{"a":"b"}`, 1)
	for name, c := range map[string]struct {
		object, old string
		allowed     bool
	}{
		"a bad object is created":        {badTarget, "", false},
		"a good object turns bad":        {badTarget, goodTarget, false},
		"a bad object is mended":         {goodTarget, badTarget, true},
		"a bad object is annotated":      {annotated, badTarget, true},
		"a bad object in deletion":       {deleting, badTarget, true},
		"a bad object stays bad":         {strings.Replace(badTarget, `"a"`, `"b"`, 1), badTarget, false},
		"what was there cannot be read":  {goodTarget, `{"spec":[]}`, true},
		"what is written cannot be read": {`{"spec":[]}`, goodTarget, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.allowed, handle(t, "targets", c.object, c.old).Allowed)
		})
	}
}

func TestT01ForgedOwnersAreRefused(t *testing.T) {
	made := storage.ShortChildName("parent", "sub", validation.MaxInstallationNameLength)
	for name, tc := range map[string]struct {
		name, owner, label, template string
		allowed                      bool
	}{
		"sub-installation":     {made, "parent", "parent", "sub", true},
		"its own owner":        {"a", "a", "a", "sub", false},
		"another name":         {"a", "parent", "parent", "sub", false},
		"of another template":  {made, "parent", "parent", "other", false},
		"without template":     {made, "parent", "parent", "", false},
		"labelled for another": {made, "parent", "other", "sub", false},
	} {
		t.Run(name, func(t *testing.T) {
			object := fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%q:%q},"annotations":{%q:%q},"ownerReferences":[{"apiVersion":%q,"kind":"Installation",`+
				`"name":%q,"uid":"u","controller":true}]},"spec":{"blueprint":{"ref":{"resourceName":"b"}},"componentDescriptor":{"inline":{}}}}`,
				tc.name, v1alpha1.EncompassedByLabel, tc.label, v1alpha1.SubinstallationNameAnnotation, tc.template, v1alpha1.GroupVersion, tc.owner)
			assert.Equal(t, tc.allowed, handle(t, "installations", object, "").Allowed)
			annotated := strings.Replace(object, `"annotations":{`, `"annotations":{"a":"b",`, 1)
			assert.True(t, handle(t, "installations", annotated, object).Allowed, "what is there may be changed")
			edited := strings.Replace(annotated, `"spec":{`, `"spec":{"suspend":true,`, 1)
			assert.True(t, handle(t, "installations", edited, object).Allowed, "and run")
			for _, unowned := range []string{
				strings.Replace(object, `"ownerReferences"`, `"was"`, 1), strings.Replace(object, `"uid":"u"`, `"uid":"other"`, 1),
				strings.Replace(object, `"controller":true`, `"controller":false`, 1),
			} {
				assert.Equal(t, tc.allowed, handle(t, "installations", object, unowned).Allowed, "adopted")
				assert.Equal(t, tc.allowed, handle(t, "installations", edited, unowned).Allowed, "adopted with a new spec")
				assert.True(t, handle(t, "installations", strings.Replace(object, `"ownerReferences"`, `"was"`, 1), unowned).Allowed, "let go")
			}
		})
	}
}

func TestT03WhatCannotBeReadIsRefused(t *testing.T) {
	for plural, spec := range map[string]string{
		"installations": `{"blueprint":{"ref":{"resourceName":"b"}},"automaticReconcile":{"failedReconcile":{"interval":"soon"}}}`,
		"deployitems":   `{"type":"t","timeout":"soon"}`,
		"executions":    `{"deployItems":[{"name":"a","type":"t","config":{},"timeout":"soon"}]}`,
		"targets":       `{"type":5,"config":{}}`,
	} {
		answer := handle(t, plural, `{"metadata":{"name":"x"},"spec":`+spec+`}`, "")
		assert.False(t, answer.Allowed, plural)
		assert.Contains(t, answer.Result.Message, "cannot be read: ", plural)
	}
}

func TestTypeOfDeployItemStays(t *testing.T) {
	refused := handle(t, "deployitems", fmt.Sprintf(typed, "b"), fmt.Sprintf(typed, "a"))
	assert.False(t, refused.Allowed)
	assert.Equal(t, int32(http.StatusForbidden), refused.Result.Code)
	assert.Equal(t, metav1.StatusReasonForbidden, refused.Result.Reason)
	assert.Contains(t, refused.Result.Message, "spec.type")
	assert.True(t, handle(t, "deployitems", fmt.Sprintf(typed, "b"), fmt.Sprintf(typed, "")).Allowed)
}

func TestCompressedTemplatesAreRead(t *testing.T) {
	pack := func(content string) string {
		var packed bytes.Buffer
		writer := gzip.NewWriter(&packed)
		_, err := writer.Write([]byte(content))
		require.NoError(t, err)
		require.NoError(t, writer.Close())
		return fmt.Sprintf(`{"spec":{"deployItemsCompressed":%q}}`, base64.StdEncoding.EncodeToString(packed.Bytes()))
	}
	for content, says := range map[string]string{
		`[{"name":"a","type":"t"}]`:                      "",
		`[{"name":"a","type":"t","dependsOn":["a"]}]`:    "cycle found in dependencies: a -{depends_on}-> a",
		`[{"name":"a","type":"t","dependsOn":["b"]}]`:    "depends on undefined deploy item",
		`[{"name":"a","type":"t"},{"name":"a"}]`:         "spec.deployItems[1]",
		`[{"name":"a","type":"t","target":{"name":""}}]`: "spec.deployItems[0].target.name",
		`{`: "does not hold deploy items",
	} {
		answer := handle(t, "executions", pack(content), "")
		assert.Equal(t, says == "", answer.Allowed, content)
		if says != "" {
			assert.Contains(t, answer.Result.Message, says)
		}
	}
}

func TestAccountsOfOtherNamespacesAreRefused(t *testing.T) {
	wrap := map[string]string{
		"targets": `{"spec":{"type":"t","serviceAccountName":%q}}`, "deployitems": `{"spec":{"type":"t","serviceAccountName":%q}}`,
		"executions": `{"spec":{"deployItems":[{"name":"a","type":"t","config":{},"serviceAccountName":%q}]}}`,
	}
	for kind, object := range wrap {
		for name, allowed := range map[string]bool{"": true, "deployer": true, "other/deployer": false, "system:serviceaccount:other:deployer": false} {
			answer := handle(t, kind, fmt.Sprintf(object, name), "")
			assert.Equal(t, allowed, answer.Allowed, "%s %q", kind, name)
			if !allowed {
				assert.Contains(t, answer.Result.Message, "serviceAccountName")
				assert.Contains(t, answer.Result.Message, "give the name alone")
			}
		}
	}
}

func TestContentOfTargetsIsNowhere(t *testing.T) {
	answer := handle(t, "targets", `{"spec":{"type":"a","config":{"password":"hidden"},"secretRef":{"name":"s"}}}`, "")
	assert.False(t, answer.Allowed)
	assert.NotContains(t, answer.Result.Message, "hidden")
}

// review is what an API server sends.
func review(t testing.TB, object string) []byte {
	t.Helper()
	raw, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request:  &admissionv1.AdmissionRequest{UID: "1", Object: runtime.RawExtension{Raw: []byte(object)}},
	})
	require.NoError(t, err)
	return raw
}

// largeInstallation has a blueprint of 500 kB in place.
func largeInstallation(t testing.TB) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"blueprint": map[string]any{
		"inline": map[string]any{"filesystem": map[string]any{"blueprint.yaml": strings.Repeat("# nothing\n", 50_000)}},
	}}})
	require.NoError(t, err)
	return string(raw)
}

func answer(t testing.TB, plural string, review []byte) {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(review))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	(&admission.Webhook{Handler: judge{kindOf(t, plural)}}).ServeHTTP(recorder, request)
	require.Contains(t, recorder.Body.String(), `"allowed":true`)
}

func TestAnswersWithinFiveMilliseconds(t *testing.T) {
	typical := review(t, goodTarget)
	var took []time.Duration
	for range 101 {
		begin := time.Now()
		answer(t, "targets", typical)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	assert.Less(t, took[50], pace.Within(5*time.Millisecond))
}

func BenchmarkAnswer(b *testing.B) {
	for name, c := range map[string]struct{ plural, object string }{
		"target": {"targets", goodTarget}, "installation-500kB": {"installations", largeInstallation(b)},
	} {
		sent := review(b, c.object)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				answer(b, c.plural, sent)
			}
		})
	}
}

func FuzzHandle(f *testing.F) {
	for _, seed := range []string{goodTarget, badTarget, deleting, fmt.Sprintf(typed, "a"), "{", "null", `{"spec":{"deployItemsCompressed":"H4sI"}}`,
		`{"spec":{"imports":{"targets":[{"name":"a","targetMap":{"":""}}]}}}`} {
		f.Add(seed, goodTarget)
		f.Add(seed, "")
	}
	f.Fuzz(func(t *testing.T, object, old string) {
		for _, kind := range kinds {
			answer := handle(t, kind.plural, object, old)
			require.NotNil(t, answer.Result)
			require.Equal(t, answer.Allowed, answer.Result.Code == http.StatusOK)
		}
	})
}

func TestFieldsWithoutEffectAreWarnedOf(t *testing.T) {
	const hinted = `{"metadata":{"name":"i"},"spec":{"blueprint":{"ref":{"resourceName":"b"}},"componentDescriptor":{"ref":{"componentName":"example.com/a","version":"1.0.0"}},"optimization":{}}}`
	annotated := strings.Replace(hinted, `"name":"i"`, `"name":"i","annotations":{"a":"b"}`, 1)
	for name, c := range map[string]struct {
		plural, object, old string
		warnings            int
	}{
		"a new Installation":                 {"installations", hinted, "", 1},
		"without such a field":               {"installations", strings.Replace(hinted, `,"optimization":{}`, "", 1), "", 0},
		"a change beside the spec":           {"installations", annotated, hinted, 0},
		"another kind with the same content": {"targets", goodTarget, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			response := handle(t, c.plural, c.object, c.old)
			require.True(t, response.Allowed, response.Result)
			assert.Len(t, response.Warnings, c.warnings)
		})
	}
}
