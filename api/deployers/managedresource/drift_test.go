// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

func TestValidateDriftDetection(t *testing.T) {
	type rule = managedresource.IgnoreRule
	paths := []string{"/spec/replicas"}
	for name, tc := range map[string]struct {
		detection *managedresource.DriftDetection
		want      string
	}{
		"none":         {nil, ""},
		"empty":        {&managedresource.DriftDetection{}, ""},
		"enabled":      {&managedresource.DriftDetection{Mode: "enabled", Ignore: []rule{{Paths: paths}}}, ""},
		"unknown mode": {&managedresource.DriftDetection{Mode: "on"}, `d.mode: "on" is unknown, use enabled, warn or disabled`},
		"no path":      {&managedresource.DriftDetection{Ignore: []rule{{}}}, "d.ignore[0].paths: is empty"},
		"no pointer":   {&managedresource.DriftDetection{Ignore: []rule{{Paths: []string{"spec.replicas"}}}}, `d.ignore[0].paths[0]: "spec.replicas" is not a JSON pointer`},
		"whole object": {&managedresource.DriftDetection{Ignore: []rule{{Paths: []string{"/"}}}}, "is not a JSON pointer to a field"},
		"pattern": {&managedresource.DriftDetection{Ignore: []rule{{Paths: paths, Target: &managedresource.ObjectSelector{Name: "("}}}},
			`d.ignore[0].target.name: "(" is not a regular expression`},
		"costly pattern": {&managedresource.DriftDetection{Ignore: []rule{{Paths: paths, Target: &managedresource.ObjectSelector{Name: strings.Repeat("a{1000}", 3)}}}},
			`d.ignore[0].target.name: "a{1000}a{1000}a{1000}" repeats too much`},
		"a hundred rules of plain names": {&managedresource.DriftDetection{Ignore: slices.Repeat([]rule{{Paths: paths, Target: &managedresource.ObjectSelector{
			Group: "apps", Version: "v1", Kind: "Deployment|StatefulSet", Namespace: "team-[a-z0-9-]{1,40}", Name: strings.Repeat("web-", 60) + ".*"}}}, 100)}, ""},
		"labels": {&managedresource.DriftDetection{Ignore: []rule{{Paths: paths, Target: &managedresource.ObjectSelector{LabelSelector: "a in"}}}},
			"d.ignore[0].target.labelSelector: "},
		"annotations": {&managedresource.DriftDetection{Ignore: []rule{{Paths: paths, Target: &managedresource.ObjectSelector{AnnotationSelector: "=="}}}},
			"d.ignore[0].target.annotationSelector: "},
		"too many rules": {&managedresource.DriftDetection{Ignore: make([]rule, 101)}, "d.ignore: has 101 entries"},
		"too many paths": {&managedresource.DriftDetection{Ignore: []rule{{Paths: strings.Split(strings.Repeat("/a ", 101), " ")}}}, "d.ignore[0].paths: has 102 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			err := errors.Join(managedresource.ValidateDriftDetection("d", tc.detection)...)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestTheDefaultModeIsWarn(t *testing.T) {
	assert.Equal(t, managedresource.DriftWarn, (*managedresource.DriftDetection)(nil).ModeOf())
	assert.Equal(t, managedresource.DriftWarn, (&managedresource.DriftDetection{}).ModeOf())
}

func TestASelectorThatCostsMuchIsNotCompiled(t *testing.T) {
	_, err := (&managedresource.ObjectSelector{Name: strings.Repeat("a{1000}", 200)}).Compile("target")
	require.ErrorContains(t, err, "target.name: ")
	require.ErrorContains(t, err, "repeats too much")
}

func TestObjectSelector(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	object := &metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"team": "a"}}
	for name, tc := range map[string]struct {
		selector managedresource.ObjectSelector
		want     bool
	}{
		"empty":             {managedresource.ObjectSelector{}, true},
		"all fields":        {managedresource.ObjectSelector{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web-1"}, true},
		"pattern":           {managedresource.ObjectSelector{Name: "web-.*"}, true},
		"part of the name":  {managedresource.ObjectSelector{Name: "web"}, false},
		"alternatives":      {managedresource.ObjectSelector{Kind: "Deployment|StatefulSet"}, true},
		"other kind":        {managedresource.ObjectSelector{Kind: "StatefulSet"}, false},
		"labels":            {managedresource.ObjectSelector{LabelSelector: "app in (web,worker)"}, true},
		"other labels":      {managedresource.ObjectSelector{LabelSelector: "app=db"}, false},
		"annotations":       {managedresource.ObjectSelector{AnnotationSelector: "team=a"}, true},
		"other annotations": {managedresource.ObjectSelector{AnnotationSelector: "team=b"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			selects, err := tc.selector.Compile("x")
			require.NoError(t, err)
			assert.Equal(t, tc.want, selects(kind, object))
		})
	}
}
