// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

const (
	// compressAbove is the size in bytes of the JSON of deploy item templates from which on they are stored compressed.
	compressAbove = 256 << 10
	// maxUnpacked caps what compressed templates may expand to, in bytes.
	maxUnpacked = 64 << 20
	// maxStored caps, in bytes, what of an object is stored as one request to etcd, which takes 1.5 MiB. The rest is for its metadata and
	// status; compressed templates take a third more there, in base64.
	maxStored = 1400 << 10
)

// packOperation is lastError.operation of deploy items that do not fit.
const packOperation = "PackDeployItems"

// Pack makes the spec of an Execution. Templates are stored readable, and compressed when they are so large that
// the object could exceed the limit of the API server. It fails as Stalled when they exceed it all the same, or when a DeployItem, which
// is not compressed, would.
func Pack(contextName string, items []v1alpha1.DeployItemTemplate) (v1alpha1.ExecutionSpec, error) {
	spec := v1alpha1.ExecutionSpec{Context: contextName}
	raw, err := json.Marshal(items)
	if err != nil {
		return spec, fmt.Errorf("encode deploy items: %w", err)
	}
	if len(raw) <= compressAbove {
		spec.DeployItems = items
		return spec, nil
	}
	for i := range items {
		if configuration := items[i].Configuration; configuration != nil && len(configuration.Raw) > maxStored {
			return spec, tooLarge("deploy item %q: its config is too large for one DeployItem: %d bytes, %d are possible; spread it over several deploy items",
				items[i].Name, len(configuration.Raw), maxStored)
		}
	}
	if len(raw) > maxUnpacked {
		return spec, tooLarge("the deploy items are too large for one Execution: %d bytes, %d are possible; spread them over sub-installations",
			len(raw), maxUnpacked)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(raw); err != nil {
		return spec, fmt.Errorf("compress deploy items: %w", err)
	}
	if err := writer.Close(); err != nil {
		return spec, fmt.Errorf("compress deploy items: %w", err)
	}
	if size := base64.StdEncoding.EncodedLen(packed.Len()); size > maxStored {
		return spec, tooLarge(
			"the deploy items are too large for one Execution: %d bytes compressed and encoded, %d are possible; spread them over sub-installations",
			size, maxStored)
	}
	spec.DeployItemsCompressed = packed.Bytes()
	return spec, nil
}

func tooLarge(format string, args ...any) error {
	return protocol.Stall(packOperation, "DeployItemsTooLarge", format, args...)
}

// Unpack returns the templates of an Execution, compressed or not. It fails with a message for a person when
// the compressed form cannot be read.
func Unpack(spec *v1alpha1.ExecutionSpec) ([]v1alpha1.DeployItemTemplate, error) {
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
