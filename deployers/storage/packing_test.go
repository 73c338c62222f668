// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
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
	spec, err := Pack("default", items)
	require.NoError(t, err)
	assert.Equal(t, v1alpha1.ExecutionSpec{Context: "default", DeployItems: items}, spec)
}

func TestLargeDeployItemsAreUnpackedAsTheyWere(t *testing.T) {
	items := itemsOf(30, func() string { return strings.Repeat("text", 16<<10) })
	spec, err := Pack("default", items)
	require.NoError(t, err)
	assert.Empty(t, spec.DeployItems)
	assert.Less(t, len(spec.DeployItemsCompressed), 256<<10)
	unpacked, err := Unpack(&spec)
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
			_, err := Pack("default", c.items)
			failure := protocol.AsFailure("", err)
			assert.Equal(t, protocol.Stalled, failure.Kind)
			assert.Equal(t, "DeployItemsTooLarge", failure.Reason)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestDeployItemsThatJustFitAreKept(t *testing.T) {
	_, err := Pack("default", itemsOf(1, func() string { return noise(1100 << 10) }))
	assert.NoError(t, err)
}

// zipped is an Execution with compressed templates.
func zipped(t *testing.T, templates string) *v1alpha1.ExecutionSpec {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write([]byte(templates))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return &v1alpha1.ExecutionSpec{DeployItemsCompressed: packed.Bytes()}
}

func TestCompressedDeployItemsThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct{ templates, says string }{
		"large":          {strings.Repeat(" ", maxUnpacked+1), "expands to more than 67108864 bytes"},
		"not a list":     {`{"name":"a"}`, "does not hold deploy items"},
		"not closed":     {`[{"name":"a"}`, "does not hold deploy items"},
		"something more": {`[] []`, "does not hold deploy items"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Unpack(zipped(t, c.templates))
			assert.ErrorContains(t, err, c.says)
		})
	}
}
