// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// itemsOf makes deploy items with a text each.
func itemsOf(count int, text func() string) []v1alpha1.DeployItemTemplate {
	items := make([]v1alpha1.DeployItemTemplate, count)
	for i := range items {
		raw, _ := json.Marshal(map[string]string{"text": text()})
		items[i] = v1alpha1.DeployItemTemplate{Name: fmt.Sprintf("item-%d", i), Configuration: &runtime.RawExtension{Raw: raw}}
	}
	return items
}

// noise is a text that does not get smaller than three quarters of its size.
func noise(size int) string {
	source := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, size)
	for i := range text {
		text[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[source.IntN(64)]
	}
	return string(text)
}

func TestSmallDeployItemsStayReadable(t *testing.T) {
	items := itemsOf(2, func() string { return "small" })
	spec, err := PackDeployItems("default", items)
	require.NoError(t, err)
	assert.Equal(t, v1alpha1.ExecutionSpec{Context: "default", DeployItems: items}, spec)
}

func TestLargeDeployItemsAreUnpackedAsTheyWere(t *testing.T) {
	items := itemsOf(30, func() string { return strings.Repeat("text", 16<<10) })
	spec, err := PackDeployItems("default", items)
	require.NoError(t, err)
	assert.Empty(t, spec.DeployItems)
	assert.Less(t, len(spec.DeployItemsCompressed), 256<<10)
	unpacked, err := UnpackDeployItems(&spec)
	require.NoError(t, err)
	assert.Equal(t, items, unpacked)
}

func TestDeployItemsThatNoObjectHoldsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		items []v1alpha1.DeployItemTemplate
		want  string
	}{
		"together": {itemsOf(2, func() string { return noise(1000 << 10) }), "spread them over sub-installations"},
		"one":      {itemsOf(1, func() string { return strings.Repeat("text", 400<<10) }), `deploy item "item-0": its config is too large`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := PackDeployItems("default", c.items)
			failure := AsFailure("", err)
			assert.Equal(t, Stalled, failure.Kind)
			assert.Equal(t, reasonTooLarge, failure.Reason)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestDeployItemsThatJustFitAreKept(t *testing.T) {
	_, err := PackDeployItems("default", itemsOf(1, func() string { return noise(1100 << 10) }))
	assert.NoError(t, err)
}
