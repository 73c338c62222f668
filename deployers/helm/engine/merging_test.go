// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// account is a ServiceAccount with a number of secrets, which are merged.
func account(secrets int) kube.ResourceList {
	object := &unstructured.Unstructured{Object: map[string]any{"secrets": make([]any, secrets)}}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	object.SetName("worker")
	return kube.ResourceList{{Name: "worker", Object: object, Mapping: &meta.RESTMapping{GroupVersionKind: object.GroupVersionKind()}}}
}

func TestWhatIsLongIsNotMerged(t *testing.T) {
	for name, tt := range map[string]struct {
		last, next int
		says       string
	}{
		"as much as may be":             {last: maxMerged, next: maxMerged},
		"one more":                      {last: maxMerged, next: maxMerged + 1, says: "more than 4000 elements"},
		"larger before":                 {last: maxMergedBefore, next: maxMerged},
		"more than anybody can deploy":  {last: maxMergedBefore + 1, next: 1, says: "more than 50000 elements"},
		"nothing that is merged at all": {},
	} {
		t.Run(name, func(t *testing.T) {
			s, merges := &sparing{Client: &kube.Client{}}, 0
			_, err := s.update(account(tt.last), account(tt.next), func(kube.ResourceList) (*kube.Result, error) {
				merges++
				return &kube.Result{}, nil
			})
			if tt.says == "" {
				require.NoError(t, err)
				assert.Equal(t, 1, merges)
				return
			}
			require.ErrorContains(t, err, "ServiceAccount worker: with secrets, ")
			require.ErrorContains(t, err, tt.says)
			assert.Zero(t, merges)
		})
	}
}

// TestAMergeThatPanicsHasAResult is about Helm, which looks into it before it looks at the error.
func TestAMergeThatPanicsHasAResult(t *testing.T) {
	s := &sparing{Client: &kube.Client{}}
	result, err := s.update(account(1), account(1), func(kube.ResourceList) (*kube.Result, error) { panic("a mistake of a library") })
	require.Error(t, err)
	assert.False(t, strings.Contains(err.Error(), "mistake"), "a panic may quote what nobody is to see")
	assert.NotNil(t, result)
}

// TestObjectsThatCannotBeReadEndNoProcess has a manifest whose reader panics.
func TestObjectsThatCannotBeReadEndNoProcess(t *testing.T) {
	s := &sparing{Client: &kube.Client{}}
	_, err := s.Build(strings.NewReader(""), false) // without a factory, whatever it calls panics
	assert.Error(t, err)
	_, err = s.Create(kube.ResourceList{&resource.Info{Object: &unstructured.Unstructured{}}})
	assert.Error(t, err)
}
