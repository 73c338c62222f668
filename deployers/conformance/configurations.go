// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Kinds of configurations.
const (
	// Good makes a job succeed.
	Good = "good"
	// Changed makes it succeed, too, and differs from Good.
	Changed = "changed"
	// Bad makes a job fail, at once.
	Bad = "bad"
	// Slow makes a job work until it is stopped.
	Slow = "slow"
)

var kinds = []string{Good, Changed, Bad, Slow}

// Configurations are values of spec.config in JSON by kind. In each of them $(name) and $(namespace) stand for those of the item, so that two
// items need not deploy the same.
type Configurations map[string]json.RawMessage

// ReadConfigurations reads a YAML document with a field for each kind.
func ReadConfigurations(text []byte) (Configurations, error) {
	var read Configurations
	if err := foreign.Unmarshal(text, &read); err != nil {
		return nil, err
	}
	return read, read.check()
}

func (c Configurations) check() error {
	for kind, config := range c {
		if !slices.Contains(kinds, kind) {
			return fmt.Errorf("there is no configuration %q; the fields are %s", kind, strings.Join(kinds, ", "))
		}
		var object map[string]any
		if err := json.Unmarshal(config, &object); err != nil || object == nil {
			return fmt.Errorf("configuration %q is not an object with fields; give it the content of spec.config", kind)
		}
	}
	return nil
}

// of returns the configuration of an item.
func (c Configurations) of(kind, namespace, name string) *runtime.RawExtension {
	if c[kind] == nil {
		return nil
	}
	text := strings.NewReplacer("$(name)", name, "$(namespace)", namespace).Replace(string(c[kind]))
	return &runtime.RawExtension{Raw: []byte(text)}
}
