// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	goruntime "runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// TestOnlyTheLastPlanIsTakenBack has a job that was interrupted before it touched the target, and what is recorded when the item comes back.
func TestOnlyTheLastPlanIsTakenBack(t *testing.T) {
	const found, planned, theirs = `{"found":true}`, `{"planned":true}`, `{"theirs":true}`
	began := time.Date(2026, 5, 1, 12, 0, 0, 500, time.UTC)
	for name, test := range map[string]struct {
		later    time.Duration
		recorded string
		want     string
	}{
		"nobody has had the item since":        {0, planned, found},
		"another deployer has deployed since":  {time.Minute, theirs, theirs},
		"another one planned and did the same": {time.Minute, planned, planned},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "item", UID: "uid"}}
			item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(found)}
			item.Status.LastReconcileTime = &metav1.Time{Time: began}
			jobs := &jobs{released: func(*job) {}}
			jobs.End(jobs.Claim(item, began, planOf(item, &runtime.RawExtension{Raw: []byte(planned)})))
			require.Equal(t, planned, string(item.Status.ProviderStatus.Raw))

			item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(test.recorded)}
			item.Status.LastReconcileTime = &metav1.Time{Time: began.Truncate(time.Second).Add(test.later)}
			jobs.Void(item).TakeBack(item)
			assert.Equal(t, test.want, string(item.Status.ProviderStatus.Raw))
		})
	}
}

// TestAJobThatHasEndedIsNotKept has a job that planned something and remembers much, and whose item stays as it is after an interrupt.
func TestAJobThatHasEndedIsNotKept(t *testing.T) {
	began := time.Now()
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "item", UID: "uid"}}
	jobs := &jobs{released: func(*job) {}}
	gone := func() weak.Pointer[job] {
		job := jobs.Claim(item, began, planOf(item, &runtime.RawExtension{Raw: []byte(`{}`)}))
		jobs.End(job)
		return weak.Make(job)
	}()
	goruntime.GC()
	assert.Nil(t, gone.Value())
	jobs.Void(item).TakeBack(item)
	assert.Nil(t, item.Status.ProviderStatus, "the plan is known")
}
