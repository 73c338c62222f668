// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
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
			item, records := &v1alpha1.DeployItem{}, Records{}
			item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(stored)}
			if c.recorded != "" {
				records.ProviderStatus = &runtime.RawExtension{Raw: []byte(c.recorded)}
			}
			records.Write(item)
			assert.Equal(t, c.want, string(item.Status.ProviderStatus.Raw))
		})
	}
}
