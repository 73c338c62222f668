// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestE22ContentIsComparedItself(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Target)
		same   bool
	}{
		"nothing":                {func(*v1alpha1.Target) {}, true},
		"written in another job": {func(t *v1alpha1.Target) { t.Labels[v1alpha1.DataObjectJobIDLabel] = "former" }, true},
		"hashed in another way":  {func(t *v1alpha1.Target) { t.Annotations[v1alpha1.HashAnnotation] = "other" }, true},
		"keys in another order": {func(t *v1alpha1.Target) {
			t.Spec.Configuration.RawMessage = []byte(`{"port":9007199254740993, "kubeconfig":"x"}`)
		}, true},
		"another account": {func(t *v1alpha1.Target) { t.Spec.ServiceAccountName = "limited" }, false},
		"edited content, untouched hash": {func(t *v1alpha1.Target) {
			t.Spec.Configuration.RawMessage = []byte(`{"kubeconfig":"y","port":9007199254740993}`)
		}, false},
		"last digit of a large number": {func(t *v1alpha1.Target) {
			t.Spec.Configuration.RawMessage = []byte(`{"kubeconfig":"x","port":9007199254740992}`)
		}, false},
		"other type":                    {func(t *v1alpha1.Target) { t.Spec.Type = "u" }, false},
		"secret instead":                {func(t *v1alpha1.Target) { t.Spec.SecretRef = &v1alpha1.LocalSecretReference{Name: "s"} }, false},
		"no content":                    {func(t *v1alpha1.Target) { t.Spec.Configuration = nil }, false},
		"label gone":                    {func(t *v1alpha1.Target) { delete(t.Labels, "region") }, false},
		"label added":                   {func(t *v1alpha1.Target) { t.Labels["tier"] = "gold" }, false},
		"label of the data flow edited": {func(t *v1alpha1.Target) { t.Labels[v1alpha1.DataObjectKeyLabel] = "other" }, false},
		"annotation edited":             {func(t *v1alpha1.Target) { t.Annotations["zone"] = "b" }, false},
		"retired":                       {func(t *v1alpha1.Target) { t.Annotations[RetiredAnnotation] = "job" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			exists := fixture.ClusterTarget()
			tc.change(exists)
			assert.Equal(t, tc.same, SameContent(exists, fixture.ClusterTarget()))
		})
	}
	assert.False(t, SameContent(data("a", "1"), data("a", "2")))
	assert.True(t, SameContent(data("a", `{"a":1,"b":2}`), data("a", `{"b":2,"a":1}`)))
	assert.False(t, SameContent(data("a", "1"), fixture.ClusterTarget()))
}

// data is a managed object with a name and a content.
func data(name, content string) client.Object {
	return &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: v1alpha1.NewAnyJSON([]byte(content))}
}
