// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"errors"
	"iter"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// separator is between the documents of a manifest.
const separator = "\n---"

// Objects counts the objects that the manifests of a record stand for, each object of a List for itself, until there are more than MaxObjects. The error
// is foreign.ErrTooMuch, for manifests that stand for more than this process can hold: Helm parses them without limit.
func Objects(rel *release.Release) (objects int, err error) {
	var all foreign.Several
	for document := range documentsOf(rel) {
		if err := all.Afford([]byte(document)); errors.Is(err, foreign.ErrTooMuch) {
			return objects, err
		}
		if objects += objectsOf(document); objects > MaxObjects {
			break
		}
	}
	return objects, nil
}

// documentsOf returns the documents of the manifests of a record, without those that are empty.
func documentsOf(rel *release.Release) iter.Seq[string] {
	return func(yield func(string) bool) {
		manifests := []string{rel.Manifest}
		for _, hook := range rel.Hooks {
			manifests = append(manifests, hook.Manifest)
		}
		for _, manifest := range manifests {
			for document := range strings.SplitSeq(manifest, separator) {
				if strings.TrimSpace(document) != "" && !yield(document) {
					return
				}
			}
		}
	}
}

// objectsOf returns how many objects a document stands for. Almost all are plain objects, and are not parsed.
func objectsOf(document string) int {
	if !mayBeList(document) {
		return 1
	}
	text := []byte(document)
	var object map[string]any
	if kjson.UnmarshalCaseSensitivePreserveInts(text, &object) == nil {
		return max(itemsOf(object), 1)
	}
	text, err := foreign.ToJSON(text)
	if err != nil || kjson.UnmarshalCaseSensitivePreserveInts(text, &object) != nil {
		return 1 // nobody else reads it either
	}
	return max(itemsOf(object), 1)
}

// itemsOf returns how many objects there are in the place of one.
func itemsOf(object map[string]any) int {
	items, isList := object["items"].([]any)
	if !isList {
		return 1
	}
	count := 0
	for _, item := range items {
		if inner, isObject := item.(map[string]any); isObject {
			count += itemsOf(inner)
		}
	}
	return count
}

const (
	// otherSpellings are in documents where a word may be written in other letters: by escapes, tags, or in UTF-16.
	otherSpellings = "\\!\x00"
	// otherBreaks are what ends a line in YAML beside the usual.
	otherBreaks = "\u0085\u2028\u2029"
)

// mayBeList reports whether a document may have the key items. One that is written as almost all are, with plain keys at the margin, shows that it has
// not without being parsed.
func mayBeList(document string) bool {
	switch {
	case !strings.Contains(document, "items") && !strings.ContainsAny(document, otherSpellings):
		return false
	case strings.ContainsAny(document, otherBreaks):
		return true
	}
	hasKey := false
	for line := range strings.Lines(strings.TrimPrefix(document, "---\n")) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		switch isKey := isPlainKey(line); {
		case strings.Contains(line, "\r"):
			return true
		case line == "", line[0] == '#':
		case isKey:
			hasKey = true
		case !hasKey, line[0] != ' ' && line != "-" && !strings.HasPrefix(line, "- "):
			return true
		}
	}
	return false
}

// isPlainKey reports whether a line begins with a key of letters other than items.
func isPlainKey(line string) bool {
	end := strings.IndexFunc(line, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	if end <= 0 || line[end] != ':' || line[:end] == "items" {
		return false
	}
	return end+1 == len(line) || line[end+1] == ' '
}
