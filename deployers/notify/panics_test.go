// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestWhichProblemsStay(t *testing.T) {
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	problem := func(text string, minutes int) v1alpha1.CriticalProblem {
		return v1alpha1.CriticalProblem{PodName: "pod", Description: text, CreationTime: metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute))}
	}
	var full []v1alpha1.CriticalProblem
	for i := range maxProblems {
		full = append(full, problem(fmt.Sprint(i), i))
	}
	ofAnother := problem("a", 0)
	ofAnother.PodName = "other"
	for name, tc := range map[string]struct {
		known   []v1alpha1.CriticalProblem
		adds    v1alpha1.CriticalProblem
		want    []v1alpha1.CriticalProblem
		changed bool
	}{
		"the first":                    {nil, problem("a", 0), []v1alpha1.CriticalProblem{problem("a", 0)}, true},
		"another":                      {full[:1], problem("a", 5), []v1alpha1.CriticalProblem{full[0], problem("a", 5)}, true},
		"of another Pod":               {[]v1alpha1.CriticalProblem{ofAnother}, problem("a", 0), []v1alpha1.CriticalProblem{ofAnother, problem("a", 0)}, true},
		"again within the hour":        {full[:2], problem("0", 59), full[:2], false},
		"again after it":               {full[:2], problem("0", 60), []v1alpha1.CriticalProblem{full[1], problem("0", 60)}, true},
		"again after the clock is set": {full[:1], problem("0", -61), []v1alpha1.CriticalProblem{problem("0", -61)}, true},
		"at the same place":            {[]v1alpha1.CriticalProblem{problem("index 3 in f (a.go:1)", 0)}, problem("index 4 in f (a.go:1)", 59), []v1alpha1.CriticalProblem{problem("index 3 in f (a.go:1)", 0)}, false},
		"at another place":             {[]v1alpha1.CriticalProblem{problem("index 3 in f (a.go:1)", 0)}, problem("index 3 in f (a.go:2)", 59), []v1alpha1.CriticalProblem{problem("index 3 in f (a.go:1)", 0), problem("index 3 in f (a.go:2)", 59)}, true},
		"one too many":                 {full, problem("a", 20), append(append([]v1alpha1.CriticalProblem{}, full[1:]...), problem("a", 20)), true},
	} {
		t.Run(name, func(t *testing.T) {
			got, changed := added(tc.known, tc.adds)
			assert.Equal(t, tc.want, got)
			assert.Equal(t, tc.changed, changed)
		})
	}
}
