// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Limits of a blueprint in place.
const (
	maxInlineBytes   = 8 << 20
	maxInlineEntries = 10000
	maxInlineDepth   = 64
)

// Lines around base64 text that stands for a binary file.
const (
	binaryStart = "---Start Binary---"
	binaryEnd   = "---End Binary---"
)

// typeMarker is the key that says what a map stands for.
const typeMarker = "$type"

// Inline reads a file system that is written as YAML or JSON: a map is a directory, a text is the content of a file, and any other
// value is a file with that value as YAML. A map with the key $type (file, yaml, json, directory or symlink) stands for what it says,
// with its value under the key value. A map named blueprint.yaml at the root is taken as the document itself. The result is read-only
// and in memory. Errors name the path of the entry.
func Inline(raw []byte) (fs.FS, error) {
	if len(raw) > maxInlineBytes {
		return nil, fmt.Errorf("the blueprint in place is larger than %d bytes; put it into a source or an OCI artifact", maxInlineBytes)
	}
	root, err := decodeTree(raw)
	if err != nil {
		return nil, err
	}
	b := &inlineBuilder{files: fstest.MapFS{}}
	if err := b.directory(".", root); err != nil {
		return nil, err
	}
	return b.files, b.resolveLinks()
}

// decodeTree reads the map with exact numbers.
func decodeTree(raw []byte) (map[string]any, error) {
	document, err := foreign.ToJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("the blueprint in place %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var root map[string]any
	if err := decoder.Decode(&root); err != nil || root == nil {
		return nil, errors.New("the blueprint in place must be a map of file names to contents")
	}
	return root, nil
}

type inlineBuilder struct {
	files   fstest.MapFS
	links   map[string]string
	bytes   int
	entries int
}

func (b *inlineBuilder) directory(at string, entries map[string]any) error {
	if strings.Count(at, "/") > maxInlineDepth {
		return fmt.Errorf("directory %s is nested more than %d levels deep", at, maxInlineDepth)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
			return fmt.Errorf("%q in directory %s is not a file name; use a nested map for a directory", name, at)
		}
		if err := b.entry(path.Join(at, name), entries[name]); err != nil {
			return err
		}
	}
	return nil
}

func (b *inlineBuilder) entry(at string, value any) error {
	if b.entries++; b.entries > maxInlineEntries {
		return fmt.Errorf("the blueprint in place has more than %d entries", maxInlineEntries)
	}
	switch t := value.(type) {
	case map[string]any:
		return b.mapping(at, t)
	case string:
		return b.text(at, t)
	}
	return b.structured(at, value, yaml.Marshal)
}

func (b *inlineBuilder) mapping(at string, entries map[string]any) error {
	if kind, ok := entries[typeMarker].(string); ok {
		return b.marked(at, kind, entries["value"])
	}
	if at == FileName {
		return b.structured(at, entries, yaml.Marshal)
	}
	return b.subdirectory(at, entries)
}

func (b *inlineBuilder) subdirectory(at string, entries map[string]any) error {
	b.files[at] = &fstest.MapFile{Mode: fs.ModeDir | 0o555}
	return b.directory(at, entries)
}

func (b *inlineBuilder) marked(at, kind string, value any) error {
	switch kind {
	case "yaml":
		return b.structured(at, value, yaml.Marshal)
	case "json":
		return b.structured(at, value, json.Marshal)
	case "file":
		if content, ok := value.(string); ok {
			return b.text(at, content)
		}
		return b.structured(at, value, yaml.Marshal)
	case "directory":
		entries, ok := value.(map[string]any)
		if !ok && value != nil {
			return fmt.Errorf("%s has $type directory; its value must be a map", at)
		}
		return b.subdirectory(at, entries)
	case "symlink":
		return b.link(at, value)
	}
	return fmt.Errorf("%s has the unknown $type %q; use file, yaml, json, directory or symlink", at, kind)
}

func (b *inlineBuilder) structured(at string, value any, marshal func(any) ([]byte, error)) error {
	content, err := marshal(value)
	if err != nil {
		return fmt.Errorf("%s cannot be written as text: %w", at, err)
	}
	return b.file(at, content)
}

func (b *inlineBuilder) text(at, content string) error {
	trimmed := strings.TrimSpace(content)
	if !strings.HasPrefix(trimmed, binaryStart) || !strings.HasSuffix(trimmed, binaryEnd) {
		return b.file(at, []byte(content))
	}
	encoded := strings.TrimSuffix(strings.TrimPrefix(trimmed, binaryStart), binaryEnd)
	binary, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
	if err != nil {
		return fmt.Errorf("%s is marked as binary, but is not base64: %w", at, err)
	}
	return b.file(at, binary)
}

func (b *inlineBuilder) file(at string, content []byte) error {
	if b.bytes += len(content); b.bytes > maxInlineBytes {
		return fmt.Errorf("the blueprint in place is larger than %d bytes", maxInlineBytes)
	}
	b.files[at] = &fstest.MapFile{Data: content, Mode: 0o444}
	return nil
}

func (b *inlineBuilder) link(at string, value any) error {
	target, ok := value.(string)
	if !ok || target == "" {
		return fmt.Errorf("%s has $type symlink; its value must be the path of a file", at)
	}
	if !path.IsAbs(target) {
		target = path.Join("/", path.Dir(at), target)
	}
	if b.links == nil {
		b.links = map[string]string{}
	}
	b.links[at] = strings.TrimPrefix(path.Clean(target), "/")
	return nil
}

// resolveLinks makes each link a file with the content of its target.
func (b *inlineBuilder) resolveLinks() error {
	for at, target := range b.links {
		for hops := 0; b.links[target] != ""; hops++ {
			if target = b.links[target]; hops > len(b.links) {
				return fmt.Errorf("%s is a link that leads back to itself", at)
			}
		}
		file, ok := b.files[target]
		if !ok || file.Mode.IsDir() {
			return fmt.Errorf("%s is a link to %s, which is not a file of the blueprint", at, target)
		}
		b.files[at] = &fstest.MapFile{Data: file.Data, Mode: 0o444}
	}
	return nil
}
