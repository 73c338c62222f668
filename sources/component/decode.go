// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import "fmt"

// Decode reads a component descriptor of schema v2 or ocm.software/v3alpha1, in YAML or JSON. Errors name the field and a cure.
func Decode(data []byte) (*Descriptor, error) { return nil, fmt.Errorf("not yet") }

// Encode writes the descriptor as YAML in a schema. Equal descriptors give equal bytes.
func (d *Descriptor) Encode(schema string) ([]byte, error) { return nil, fmt.Errorf("not yet") }

// Validate checks the rules that both schemas share. Errors name fields by their path in the schema of the descriptor.
func (d *Descriptor) Validate() error { return nil }

// View returns the descriptor as templates see it under cd: {meta, component} in v2, {apiVersion, kind, metadata, spec} in v3alpha1.
// The caller may change it.
func (d *Descriptor) View(schema string) map[string]any { return nil }

// ViewAll returns all descriptors as templates see them under components: {meta, components: [cd]} in v2, a list in v3alpha1.
func (c *Closed) ViewAll(schema string) any { return nil }

// FindResource returns the first resource whose identity contains the wanted pairs.
func (d *Descriptor) FindResource(wanted map[string]string) (*Resource, error) {
	return nil, ErrNotFound
}

// FindReference returns the first reference whose identity contains the wanted pairs.
func (d *Descriptor) FindReference(wanted map[string]string) (*Reference, error) {
	return nil, ErrNotFound
}

// Embedded returns the descriptor that the reference carries in the label landscaper.gardener.cloud/component-descriptor; nil when
// it has none.
func (r *Reference) Embedded() (*Descriptor, error) { return nil, nil }
