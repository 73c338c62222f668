// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// maxDocument is how many bytes blueprint.yaml may have.
const maxDocument = 1 << 20

// Load reads blueprint.yaml at the root of files, applies the defaults and checks the rules. An error
// names the line or the field, and what to do.
func Load(files fs.FS) (*Blueprint, error) {
	text, err := readDocument(files)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// Parse reads the text of a blueprint.yaml as Load does.
func Parse(text []byte) (*Blueprint, error) {
	raw, err := foreign.ToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", FileName, err)
	}
	blueprint := &Blueprint{}
	if err := json.Unmarshal(raw, blueprint); err != nil {
		return nil, explainDecode(text, raw, err)
	}
	if err := checkKind(blueprint); err != nil {
		return nil, err
	}
	setDefaults(blueprint)
	near, others := document.Near(document.Keys(raw, blueprint))
	blueprint.Unknown = others
	problems := Validate(blueprint)
	for _, key := range near {
		problems = append(problems, Problem{Path: key.Path, Message: key.Problem()})
	}
	return blueprint, asError(problems)
}

func readDocument(files fs.FS) ([]byte, error) {
	file, err := files.Open(FileName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the blueprint has no %s at its root; %s", FileName, listRoot(files))
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", FileName, fault.WithoutPath(err))
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", FileName, fault.WithoutPath(err))
	}
	if len(text) > maxDocument {
		return nil, fmt.Errorf("%s is larger than %d bytes; move templates and schemas into files of their own", FileName, maxDocument)
	}
	return text, nil
}

// listRoot says what is there instead; at most 20 names.
func listRoot(files fs.FS) string {
	entries, err := fs.ReadDir(files, ".")
	if err != nil || len(entries) == 0 {
		return "it is empty"
	}
	var names []string
	for i, entry := range entries {
		if i == 20 {
			names = append(names, "…")
			break
		}
		names = append(names, entry.Name())
	}
	return "it has: " + strings.Join(names, ", ")
}

func checkKind(b *Blueprint) error {
	if b.APIVersion == APIVersion && b.Kind == Kind {
		return nil
	}
	return fmt.Errorf("%s says apiVersion %q and kind %q; a blueprint needs apiVersion: %s and kind: %s", FileName, b.APIVersion, b.Kind,
		APIVersion, Kind)
}

// setDefaults fills what a blueprint may leave out. It also prefixes types of target maps, which users expect as for the others.
func setDefaults(b *Blueprint) {
	b.JSONSchemaVersion = cmp.Or(b.JSONSchemaVersion, DefaultJSONSchemaVersion)
	setImportDefaults(b.Imports)
	for i := range b.Exports {
		e := &b.Exports[i]
		e.Type = derivedType(e.Type, e.Schema != nil, e.TargetType)
		e.TargetType = prefixed(e.TargetType)
	}
}

func setImportDefaults(imports []ImportDefinition) {
	for i := range imports {
		d := &imports[i]
		d.Type = derivedType(d.Type, d.Schema != nil, d.TargetType)
		d.TargetType = prefixed(d.TargetType)
		if d.Required == nil {
			required := true
			d.Required = &required
		}
		setImportDefaults(d.ConditionalImports)
	}
}

func derivedType(given FieldType, hasSchema bool, targetType string) FieldType {
	switch {
	case given != "":
		return given
	case hasSchema && targetType == "":
		return TypeData
	case !hasSchema && targetType != "":
		return TypeTarget
	}
	return ""
}

func prefixed(targetType string) string {
	if targetType == "" || strings.Contains(targetType, "/") {
		return targetType
	}
	return targetTypePrefix + targetType
}
