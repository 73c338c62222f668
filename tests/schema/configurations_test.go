// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	manifestv1alpha2 "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	mockv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/mock/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/tests/schema"
)

// configuration is a kind of spec.config of DeployItems.
type configuration struct {
	shape reflect.Type
	// healthy is what stands beside the field that is garbage.
	healthy schema.Object
	// decode reads it; check does what else a deployer does before it goes to a target.
	decode func(raw []byte) (any, error)
	check  func(config any) error
}

// decoded makes a decoder one of any type.
func decoded[T any](decode func([]byte) (T, error)) func([]byte) (any, error) {
	return func(raw []byte) (any, error) { return decode(raw) }
}

var configurations = map[string]configuration{
	"helm": {
		shape: reflect.TypeFor[helmv1alpha1.ProviderConfiguration](), healthy: schema.Object{"name": "a", "namespace": "b"},
		decode: decoded(helmv1alpha1.DecodeConfiguration), check: checkHelm,
	},
	"manifest": {
		shape: reflect.TypeFor[manifestv1alpha2.ProviderConfiguration](), decode: decoded(manifestv1alpha2.DecodeConfiguration), check: checkManifest,
	},
	"container": {shape: reflect.TypeFor[containerv1alpha1.ProviderConfiguration](), decode: decoded(containerv1alpha1.DecodeConfiguration)},
	"mock":      {shape: reflect.TypeFor[mockv1alpha1.ProviderConfiguration](), decode: decoded(mockv1alpha1.DecodeConfiguration)},
}

func checkHelm(config any) error {
	read := config.(*helmv1alpha1.ProviderConfiguration)
	if err := helmv1alpha1.Validate(read); err != nil {
		return err
	}
	_, err := helmv1alpha1.DecodeValues(read.Values)
	return err
}

func checkManifest(config any) error {
	read := config.(*manifestv1alpha2.ProviderConfiguration)
	if err := manifestv1alpha2.Validate(read); err != nil {
		return err
	}
	_, err := resources.Expand(read.Manifests)
	return err
}

const (
	// longestMessage is more than any error needs that a person is to read.
	longestMessage = 4096
)

// quote is more of a value than an error may show.
var quote = regexp.MustCompile(`x{100,}`)

func TestT03GarbageInAConfigurationIsOneClearError(t *testing.T) {
	for name, kind := range configurations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, fields := schema.Of(kind.shape), 0
			root.Walk("", func(v any) any { return v }, func(path string, put func(any) any, values []any) {
				fields++
				if path == "" {
					return
				}
				values = slices.DeleteFunc(values, func(value any) bool { return value == any(schema.Huge) }) // it is one of anything
				for _, value := range append(schema.Anything(), values...) {
					kind.requireClear(t, path, put(value).(schema.Object))
				}
			})
			assert.Greater(t, fields, 5)
		})
	}
}

// requireClear fails unless a configuration is read, or refused with an error for people. One that cannot be decoded names the field.
func (c configuration) requireClear(t *testing.T, path string, content schema.Object) {
	t.Helper()
	whole := maps.Clone(c.healthy)
	if whole == nil {
		whole = schema.Object{}
	}
	maps.Copy(whole, content)
	raw, err := json.Marshal(whole)
	require.NoError(t, err)
	config, err := c.decode(raw)
	if err != nil {
		names := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]{}", r) })
		assert.Contains(t, err.Error(), names[len(names)-1], path)
	} else if c.check != nil {
		err = c.check(config)
	}
	if err == nil {
		return
	}
	assert.Less(t, len(err.Error()), longestMessage, path)
	assert.NotRegexp(t, quote, err.Error(), "%s: the error shows what is in the field", path)
}
