// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
	"strconv"
	"strings"
	"testing/fstest"

	yamlv3 "go.yaml.in/yaml/v3"

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

// explainDecode adds field and line to an error of reading the document.
func explainDecode(text, raw []byte, err error) error {
	var tree any
	_ = json.Unmarshal(raw, &tree) // it was read before
	misfit := document.First(reflect.TypeFor[Blueprint](), tree)
	if misfit == nil {
		return fmt.Errorf("%s cannot be read: %w", FileName, err)
	}
	return fmt.Errorf("%s, line %d: field %s is a value of type %s; it must be of type %s", FileName, lineOf(text, misfit.Path),
		misfit.Path, typeName(reflect.TypeOf(misfit.Value)), typeName(misfit.Type))
}

// typeName is what a type is called in JSON.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	}
	return t.Kind().String()
}

// lineOf finds the line of the value at the path, or of its nearest parent that can be found.
func lineOf(text []byte, path string) int {
	var root yamlv3.Node
	if yamlv3.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return 1
	}
	node := root.Content[0]
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		next, _ := Child(node, step)
		if next == nil {
			break
		}
		node = next
	}
	return node.Line
}

// Child returns the value at one step below a YAML node, and its key, which is the value itself in a list; nil if there is none.
func Child(node *yamlv3.Node, step string) (value, key *yamlv3.Node) {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	if node.Kind == yamlv3.SequenceNode {
		index, err := strconv.Atoi(step)
		if err != nil || index < 0 || index >= len(node.Content) {
			return nil, nil
		}
		return node.Content[index], node.Content[index]
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == step {
			return node.Content[i+1], node.Content[i]
		}
	}
	return nil, nil
}

// Beside returns the folder of an artifact that a blueprint in the folder from names by the path to. It is an error if that leads out of the
// artifact, or to the blueprint itself.
func Beside(from, to string) (string, error) {
	own := path.Clean(strings.TrimLeft(from, "/"))
	found := path.Join(own, to)
	switch {
	case path.IsAbs(to):
		return "", fmt.Errorf("path %q is absolute; write it from the folder of this blueprint on, as ../database", to)
	case !fs.ValidPath(found):
		return "", fmt.Errorf("path %q leads out of the artifact that this blueprint, in %q, comes from; name a folder in it", to, own)
	case found == own:
		return "", fmt.Errorf("path %q is this blueprint itself; name the folder of another", to)
	}
	return found, nil
}

// Folder returns a folder of an artifact, all of it for the path "".
func Folder(artifact fs.FS, folder string) (fs.FS, error) {
	name := path.Clean(strings.TrimLeft(folder, "/"))
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("path %q leads out of the artifact; name a folder in it", folder)
	}
	if info, err := fs.Stat(artifact, name); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("path %q is no folder of the artifact; correct the path", folder)
	}
	return fs.Sub(artifact, name)
}

// Limits of a snapshot.
const (
	maxSnapshotBytes   = 32 << 20
	maxSnapshotEntries = 10000
)

// Snapshot copies a directory into memory and returns the copy with the digest (sha256:hex) of its paths and contents. Equal
// trees have equal digests. It fails when the directory is too large for a blueprint. What Git keeps beside it is left out.
func Snapshot(files fs.FS) (fstest.MapFS, string, error) {
	copied := fstest.MapFS{}
	sum := sha256.New()
	total := 0
	err := fs.WalkDir(files, ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || at == "." {
			return err
		}
		if len(copied) >= maxSnapshotEntries {
			return fmt.Errorf("the blueprint has more than %d files; set blueprint.path to its directory", maxSnapshotEntries)
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir // a working tree, of which nothing is published
		}
		if entry.IsDir() {
			copied[at] = &fstest.MapFile{Mode: fs.ModeDir | 0o555}
			return nil
		}
		content, err := fs.ReadFile(files, at)
		if err != nil && !entry.Type().IsRegular() {
			return nil // a link that leads to no file here
		}
		if err != nil {
			return err
		}
		if total += len(content); total > maxSnapshotBytes {
			return fmt.Errorf("the blueprint is larger than %d bytes; set blueprint.path to its directory", maxSnapshotBytes)
		}
		fmt.Fprintf(sum, "%s\x00%d\x00", at, len(content))
		sum.Write(content)
		copied[at] = &fstest.MapFile{Data: content, Mode: 0o444}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return copied, "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}
