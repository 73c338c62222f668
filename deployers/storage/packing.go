// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
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
	// maxTemplates caps how many templates these are: one is written in three bytes and takes forty times as much in memory.
	maxTemplates = 10_000
	// maxFrames caps, in bytes, all of them without their configurations: lists and labels take several times as much in memory.
	maxFrames = 8 << 20
	// maxUnpackedItem caps, in bytes, one of them: as a DeployItem it would be larger than what etcd takes.
	maxUnpackedItem = 2 << 20
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
	if err := checkItemSizes(items, len(raw)); err != nil {
		return spec, err
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
		return spec, protocol.Stall(packOperation, reasonTooLarge,
			"the deploy items are too large for one Execution: %d bytes compressed and encoded, %d are possible; spread them over sub-installations",
			size, maxStored)
	}
	spec.DeployItemsCompressed = packed.Bytes()
	return spec, nil
}

const reasonTooLarge = "DeployItemsTooLarge"

// checkItemSizes looks for a DeployItem that the API server would not store, and for what Unpack would refuse. Size is that of all as JSON.
func checkItemSizes(items []v1alpha1.DeployItemTemplate, size int) error {
	frames := size
	for i := range items {
		frames -= configSize(&items[i])
		if configuration := items[i].Configuration; configuration != nil && len(configuration.Raw) > maxStored {
			return protocol.Stall(packOperation, reasonTooLarge,
				"deploy item %q: its config is too large for one DeployItem: %d bytes, %d are possible; spread it over several deploy items",
				items[i].Name, len(configuration.Raw), maxStored)
		}
	}
	if err := checkUnpacked(len(items), frames); err != nil {
		return protocol.Stall(packOperation, reasonTooLarge, "the deploy items are too large for one Execution: %w", err)
	}
	if size > maxUnpacked {
		return protocol.Stall(packOperation, reasonTooLarge, "the deploy items are too large for one Execution: %d bytes, %d are possible; spread them over "+
			"sub-installations", size, maxUnpacked)
	}
	return nil
}

// configSize returns the bytes of the configuration of a template.
func configSize(item *v1alpha1.DeployItemTemplate) int {
	if item.Configuration == nil {
		return 0
	}
	return len(item.Configuration.Raw)
}

// checkUnpacked refuses templates that would take too much memory: few bytes of a compressed Execution may stand for many.
func checkUnpacked(count, frames int) error {
	if count > maxTemplates || frames > maxFrames {
		return fmt.Errorf("more than %d deploy items, or more than %d bytes beside their configurations; spread them over sub-installations",
			maxTemplates, maxFrames)
	}
	return nil
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
	items, err := readTemplates(json.NewDecoder(bytes.NewReader(raw)))
	if err != nil {
		return nil, fmt.Errorf("spec.deployItemsCompressed does not hold deploy items: %w", err)
	}
	return items, nil
}

// readTemplates reads a list of templates one after the other, so that too many of them are refused before they are in memory.
func readTemplates(decoder *json.Decoder) (items []v1alpha1.DeployItemTemplate, err error) {
	if start, err := decoder.Token(); err != nil {
		return nil, err
	} else if start != json.Delim('[') {
		return nil, errNoList
	}
	frames := 0
	for decoder.More() {
		item, size, err := readTemplate(decoder)
		if err != nil {
			return nil, fmt.Errorf("deploy item %d: %w", len(items), err)
		}
		items, frames = append(items, item), frames+size-configSize(&item)
		if err := checkUnpacked(len(items), frames); err != nil {
			return nil, err
		}
	}
	return items, readEnd(decoder)
}

// readTemplate reads one template, and returns its bytes.
func readTemplate(decoder *json.Decoder) (item v1alpha1.DeployItemTemplate, size int, err error) {
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return item, 0, err
	}
	if len(raw) > maxUnpackedItem {
		return item, 0, fmt.Errorf("it has more than %d bytes; spread it over several deploy items", maxUnpackedItem)
	}
	err = json.Unmarshal(raw, &item)
	return item, len(raw), err
}

// readEnd reads the end of a list, behind which nothing may follow.
func readEnd(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errNoList
	}
	return nil
}

var errNoList = errors.New("it is not one list as JSON")
