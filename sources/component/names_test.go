// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/interop"
)

func TestNamesThatTheCLIRefuses(t *testing.T) {
	verdicts := interop.Refusals(t)
	for _, file := range interop.Names(t, "refused/*.yaml") {
		name := strings.TrimSuffix(path.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			d, err := component.Decode(interop.Read(t, file))
			require.NoError(t, err, "what others published is read")
			require.NotEmpty(t, verdicts[name])
			if verdicts[name] == "accepted" {
				assert.NoError(t, d.CheckNames())
				return
			}
			assert.ErrorContains(t, d.CheckNames(), "the OCM tools cannot read component")
		})
	}
}

func TestNamesOfTheCLIAreGood(t *testing.T) {
	for _, name := range interop.Names(t, "descriptors/*.yaml") {
		for document := range strings.SplitSeq(string(interop.Read(t, name)), "---\n") {
			if document != "" {
				assert.NoError(t, decode(t, document).CheckNames(), name)
			}
		}
	}
}

func TestCheckNames(t *testing.T) {
	for field, text := range map[string]string{
		"component.labels[0].version":                    `, labels: [{name: l, value: 1, version: "1"}]`,
		"component.resources[0].name":                    `, resources: [{name: a-, version: 1.0.0, type: t, access: {type: none}}]`,
		"component.sources[0].version":                   `, sources: [{name: aa, version: latest, type: t, access: {type: none}}]`,
		"component.sources[0].labels[0]":                 `, sources: [{name: aa, version: 1.0.0, type: t, access: {type: none}, labels: [{name: l, value: 1, version: v}]}]`,
		"component.resources[0].extraIdentity":           `, resources: [{name: aa, version: 1.0.0, type: t, access: {type: none}, extraIdentity: {OS: linux}}]`,
		"component.componentReferences[0].componentName": `, componentReferences: [{name: aa, componentName: b/c, version: 1.0.0}]`,
		"component.componentReferences[0].version":       `, componentReferences: [{name: aa, componentName: example.com/b, version: "1.0_0"}]`,
	} {
		assert.ErrorContains(t, decode(t, document(text)).CheckNames(), field, text)
	}
	for _, version := range []string{"1", "v1.2", "1.2.3-rc.1+b.007", "0.0.0-0a"} {
		assert.NoError(t, decode(t, strings.Replace(document(""), "version: 1.0.0", "version: '"+version+"'", 1)).CheckNames(), version)
	}
}
