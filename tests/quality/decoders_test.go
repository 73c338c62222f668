// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestYAMLOfOthersIsReadWithinLimits(t *testing.T) {
	unused := map[string]bool{}
	for path := range excusedDecoders {
		unused[path] = true
	}
	for _, file := range files(t) {
		calls := UnboundedDecoders(file)
		if len(calls) > 0 {
			delete(unused, longestExcuse(file.Path))
		}
		if !file.IsTest() && !mayDecode(file.Path) {
			assert.Empty(t, calls, "%s reads YAML without limits: use package api/foreign", file.Path)
		}
	}
	assert.Empty(t, unused, "these need no excuse any more")
}

func TestUnboundedDecoders(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		want   []string
	}{
		"read":             {"import \"sigs.k8s.io/yaml\"\nvar _ = yaml.Unmarshal(nil, nil)", []string{"x.go:3 yaml.Unmarshal"}},
		"converted":        {"import \"sigs.k8s.io/yaml\"\nvar _, _ = yaml.YAMLToJSON(nil)", []string{"x.go:3 yaml.YAMLToJSON"}},
		"passed on":        {"import \"sigs.k8s.io/yaml\"\nvar read = yaml.UnmarshalStrict", []string{"x.go:3 yaml.UnmarshalStrict"}},
		"another name":     {"import three \"go.yaml.in/yaml/v3\"\nvar _ = three.NewDecoder(nil)", []string{"x.go:3 three.NewDecoder"}},
		"version two":      {"import \"gopkg.in/yaml.v2\"\nvar _ = yaml.Unmarshal(nil, nil)", []string{"x.go:3 yaml.Unmarshal"}},
		"Kubernetes":       {"import \"k8s.io/apimachinery/pkg/util/yaml\"\nvar _ = yaml.NewYAMLOrJSONDecoder(nil, 1)", []string{"x.go:3 yaml.NewYAMLOrJSONDecoder"}},
		"Spiff":            {"import s \"github.com/mandelsoft/spiff/yaml\"\nvar _, _ = s.Parse(\"\", nil)", []string{"x.go:3 s.Parse"}},
		"written":          {"import \"sigs.k8s.io/yaml\"\nvar _, _ = yaml.Marshal(nil)", nil},
		"within limits":    {"import \"" + ModulePath + "/api/foreign\"\nvar _ = foreign.Unmarshal(nil, nil)", nil},
		"another package":  {"import yaml \"encoding/json\"\nvar _ = yaml.Unmarshal(nil, nil)", nil},
		"everything named": {"import . \"sigs.k8s.io/yaml\"", []string{"x.go:2 ."}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, UnboundedDecoders(parsed(t, "package x\n"+c.source)))
		})
	}
}
