// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

const (
	// compressAbove is the size in bytes of the JSON of deploy item templates from which on they are stored compressed.
	compressAbove = 256 << 10
	// maxUnpacked caps what compressed templates may expand to, in bytes.
	maxUnpacked = 64 << 20
)

// PackDeployItems makes the spec of an Execution. Templates are stored readable, and compressed when they are so large that
// the object could exceed the limit of the API server.
func PackDeployItems(contextName string, items []v1alpha1.DeployItemTemplate) (v1alpha1.ExecutionSpec, error) {
	spec := v1alpha1.ExecutionSpec{Context: contextName}
	raw, err := json.Marshal(items)
	if err != nil {
		return spec, fmt.Errorf("encode deploy items: %w", err)
	}
	if len(raw) <= compressAbove {
		spec.DeployItems = items
		return spec, nil
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(raw); err != nil {
		return spec, fmt.Errorf("compress deploy items: %w", err)
	}
	if err := writer.Close(); err != nil {
		return spec, fmt.Errorf("compress deploy items: %w", err)
	}
	spec.DeployItemsCompressed = packed.Bytes()
	return spec, nil
}

// UnpackDeployItems returns the templates of an Execution, compressed or not. It fails with a message for a person when
// the compressed form cannot be read.
func UnpackDeployItems(spec *v1alpha1.ExecutionSpec) ([]v1alpha1.DeployItemTemplate, error) {
	if len(spec.DeployItemsCompressed) == 0 {
		return spec.DeployItems, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(spec.DeployItemsCompressed))
	if err != nil {
		return nil, fmt.Errorf("spec.deployItemsCompressed is not gzip: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(reader, maxUnpacked+1))
	if err != nil {
		return nil, fmt.Errorf("spec.deployItemsCompressed cannot be expanded: %w", err)
	}
	if len(raw) > maxUnpacked {
		return nil, fmt.Errorf("spec.deployItemsCompressed expands to more than %d bytes", maxUnpacked)
	}
	var items []v1alpha1.DeployItemTemplate
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, fmt.Errorf("spec.deployItemsCompressed does not hold deploy items: %w", err)
	}
	return items, nil
}
