// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestSetInherited(t *testing.T) {
	const name = v1alpha1.CacheHelmChartsAnnotation
	for title, c := range map[string]struct{ parent, child, want map[string]string }{
		"to one without annotations": {map[string]string{name: "true", "other": "1"}, nil, map[string]string{name: "true"}},
		"with a new value":           {map[string]string{name: "true"}, map[string]string{name: "false", "own": "1"}, map[string]string{name: "true", "own": "1"}},
		"not any more":               {nil, map[string]string{name: "true", "own": "1"}, map[string]string{"own": "1"}},
	} {
		t.Run(title, func(t *testing.T) {
			parent, child := &v1alpha1.Installation{}, &v1alpha1.Execution{}
			parent.Annotations, child.Annotations = c.parent, c.child
			SetInherited(parent, child)
			assert.Equal(t, c.want, child.Annotations)
		})
	}
}
