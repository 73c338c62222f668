// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// The API server orders the keys of a provider status. A deployer that records the same at every attempt must not cause a write.
func TestRecordedAgain(t *testing.T) {
	const stored = `{"first":1,"second":2}`
	for name, c := range map[string]struct{ recorded, want string }{
		"the same in another order": {`{"second": 2, "first": 1}`, stored},
		"something else":            {`{"second": 3, "first": 1}`, `{"second": 3, "first": 1}`},
		"nothing":                   {"", stored},
	} {
		t.Run(name, func(t *testing.T) {
			item, records := &v1alpha1.DeployItem{}, records{}
			item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(stored)}
			if c.recorded != "" {
				records.ProviderStatus = &runtime.RawExtension{Raw: []byte(c.recorded)}
			}
			records.Write(item)
			assert.Equal(t, c.want, string(item.Status.ProviderStatus.Raw))
		})
	}
}

func TestWhatACallDoesNotRecordStays(t *testing.T) {
	earlier := records{ProviderStatus: &runtime.RawExtension{Raw: []byte(`{"a":1}`)}, Sources: []v1alpha1.SourceStatus{{Name: "chart"}}}
	assert.Equal(t, earlier, records{}.After(earlier))
	later := records{ProviderStatus: &runtime.RawExtension{Raw: []byte(`{"a":2}`)}, Sources: []v1alpha1.SourceStatus{}}
	assert.Equal(t, later, later.After(earlier))
}

func TestSourcesAreRecorded(t *testing.T) {
	used := []v1alpha1.SourceStatus{{Name: "chart"}}
	for name, tc := range map[string]struct{ recorded, want []v1alpha1.SourceStatus }{
		"nothing":    {nil, used},
		"others":     {[]v1alpha1.SourceStatus{{Name: "other"}}, []v1alpha1.SourceStatus{{Name: "other"}}},
		"that none":  {[]v1alpha1.SourceStatus{}, nil},
		"once again": {used, used},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{}
			item.Status.Sources = used
			records{Sources: tc.recorded}.Write(item)
			assert.Equal(t, tc.want, item.Status.Sources)
		})
	}
}

func TestTheStatusKeepsTheFirstErrorAndTheLastOnes(t *testing.T) {
	item, now := &v1alpha1.DeployItem{}, time.Unix(1000, 0)
	failure := func(i int) *protocol.Failure {
		return &protocol.Failure{Operation: "o", Reason: "R", Err: fmt.Errorf("problem %c", 'a'+i)}
	}
	for i := range 2 * maxErrors {
		assert.True(t, recordFailure(item, failure(i), now))
		assert.False(t, recordFailure(item, failure(i), now), "the same again deserves no event")
	}
	assert.Equal(t, "problem a", item.Status.FirstError.Message)
	assert.Equal(t, "problem j", item.Status.LastError.Message)
	assert.Len(t, item.Status.LastErrors, maxErrors)
	assert.Equal(t, "problem f", item.Status.LastErrors[0].Message)
}
