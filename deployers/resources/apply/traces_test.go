// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fieldsOf returns how many bytes the managed fields of an object have.
func fieldsOf(object metav1.Object) int {
	size := 0
	for _, entry := range object.GetManagedFields() {
		size += len(entry.Manager) + len(entry.FieldsV1.GetRawBytes())
	}
	return size
}

// TestASearchKeepsSoManyManagedFields has objects whose targets say of each that very many fields are somebody's.
func TestASearchKeepsSoManyManagedFields(t *testing.T) {
	for name, tt := range map[string]struct{ count, size, whole int }{
		"many of the usual size": {5000, 4 << 10, 5000},
		"a few large ones":       {20, 900 << 10, 20},
		"many large ones":        {100, 900 << 10, maxTraces / (900<<10 + traceCost)},
	} {
		t.Run(name, func(t *testing.T) {
			long := strings.Repeat("x", tt.size-1)
			var all tracing
			kept, whole := 0, 0
			for range tt.count {
				found := all.of(&metav1.ObjectMeta{Name: "a", ResourceVersion: "1", ManagedFields: []metav1.ManagedFieldsEntry{
					{Manager: "m", FieldsV1: metav1.NewFieldsV1(long)},
				}})
				assert.Equal(t, "1", found.GetResourceVersion())
				kept += fieldsOf(found)
				if fieldsOf(found) == tt.size {
					whole++
				}
			}
			assert.LessOrEqual(t, kept, maxTraces)
			assert.Equal(t, tt.whole, whole)
		})
	}
}

func TestWhatIsNotThereLeavesNoTraces(t *testing.T) {
	var all tracing
	assert.Nil(t, all.of(nil))
}
