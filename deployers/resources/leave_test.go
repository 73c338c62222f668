// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

func TestFewClustersThatCannotBeLeftAreNamed(t *testing.T) {
	inventory := &managedresource.Inventory{}
	for i := range 3 * fault.MostProblems {
		inventory.Sites = append(inventory.Sites, managedresource.Site{Cluster: managedresource.ClusterReference{Target: fmt.Sprint(i)}})
	}
	_, err := LeaveElsewhere(t.Context(), &Session{}, inventory, nil, nil)
	require.ErrorContains(t, err, "there are more problems than these")
	assert.Equal(t, fault.MostProblems, strings.Count(err.Error(), "cannot uninstall"))
	assert.Len(t, inventory.Sites, 3*fault.MostProblems)
}
