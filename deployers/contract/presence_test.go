// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

func TestWhatIsLeftBehindIsBounded(t *testing.T) {
	site := managedresource.Site{
		Cluster:  managedresource.ClusterReference{Target: "cluster", UID: "uid"},
		Releases: []managedresource.ReleaseReference{{Namespace: "shop", Name: "web"}},
	}
	for i := range 100 {
		site.Resources = append(site.Resources, managedresource.ManagedResourceStatus{
			Resource: managedresource.ResourceReference{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: fmt.Sprint("s", i)},
		})
	}
	text := leftBehind([]managedresource.Site{site}, time.Unix(0, 0))
	assert.Contains(t, text, "101 objects were there: Helm release shop/web, Secret shop/s0, ")
	assert.True(t, strings.HasSuffix(text, "Secret shop/s18 and 81 more"), text)
}
