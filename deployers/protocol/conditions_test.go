// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func TestConditionsThatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*metav1.Condition)
		valid  bool
	}{
		"valid":                 {func(*metav1.Condition) {}, true},
		"type with a domain":    {func(c *metav1.Condition) { c.Type = "example.com/Done" }, true},
		"no message":            {func(c *metav1.Condition) { c.Message = "" }, true},
		"status of Landscaper":  {func(c *metav1.Condition) { c.Status = "Progressing" }, false},
		"reason is a sentence":  {func(c *metav1.Condition) { c.Reason = "not done yet" }, false},
		"no reason":             {func(c *metav1.Condition) { c.Reason = "" }, false},
		"long reason":           {func(c *metav1.Condition) { c.Reason = strings.Repeat("a", 1025) }, false},
		"no type":               {func(c *metav1.Condition) { c.Type = "" }, false},
		"type with a space":     {func(c *metav1.Condition) { c.Type = "Not Done" }, false},
		"no time":               {func(c *metav1.Condition) { c.LastTransitionTime = metav1.Time{} }, false},
		"long message":          {func(c *metav1.Condition) { c.Message = strings.Repeat("ä", 32769) }, false},
		"message just fits":     {func(c *metav1.Condition) { c.Message = strings.Repeat("ä", 32768) }, true},
		"generation before all": {func(c *metav1.Condition) { c.ObservedGeneration = -1 }, false},
		"second of its type":    {func(c *metav1.Condition) { c.Type = "Kept" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			condition := metav1.Condition{Type: "Done", Status: "True", Reason: "Done", Message: "done", LastTransitionTime: metav1.Unix(1, 0)}
			kept := condition
			kept.Type = "Kept"
			tc.change(&condition)
			inst := &v1alpha1.Installation{}
			inst.Status.Conditions = []metav1.Condition{kept, condition}
			protocol.KeepValidConditions(inst)
			want := []metav1.Condition{kept}
			if tc.valid {
				want = []metav1.Condition{kept, condition}
			}
			assert.Equal(t, want, inst.Status.Conditions)
		})
	}
}
