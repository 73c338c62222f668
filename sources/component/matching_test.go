// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestFewOverwritesAreLookedAtForOneReference(t *testing.T) {
	type reference = v1alpha1.ComponentVersionOverwriteReference
	for name, one := range map[string]func(i int) v1alpha1.ComponentVersionOverwrite{
		"of other versions": func(i int) v1alpha1.ComponentVersionOverwrite {
			return v1alpha1.ComponentVersionOverwrite{Source: reference{ComponentName: "a", Version: fmt.Sprint(i)}, Substitution: reference{Version: "2"}}
		},
		"of everything": func(i int) v1alpha1.ComponentVersionOverwrite {
			return v1alpha1.ComponentVersionOverwrite{Substitution: reference{Version: fmt.Sprint(i)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var overwrites Overwrites
			for i := range 50 {
				overwrites = append(overwrites, one(i))
			}
			found, err := overwrites.read(t.Context())
			require.NoError(t, err)
			assert.Len(t, found.matching(placed{Location: Location{Key: Key{Name: "a", Version: "7"}}}), 1)
		})
	}
}
