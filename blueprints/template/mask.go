// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
)

// Limits of what an error shows of the inputs.
const (
	inputsBytes = 2048
	entryBytes  = 512
)

// describeInputs lists the names of the bindings with types, and below the known containers the names and types of their entries.
func describeInputs(values map[string]any) string {
	var out strings.Builder
	for _, key := range sortedKeys(values) {
		if out.Len() > inputsBytes {
			out.WriteString("  …\n")
			break
		}
		fmt.Fprintf(&out, "  %s: %s\n", key, beginning.Of(describe(key, values[key]), entryBytes))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func describe(key string, value any) string {
	entries, ok := value.(map[string]any)
	if !ok || !set("imports targets values state")[key] {
		return typeName(value)
	}
	var parts []string
	for _, name := range sortedKeys(entries) {
		parts = append(parts, name+": "+typeName(entries[name]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	}
	return "number"
}

// secretLength is the length from which on a text of the inputs is masked in messages; shorter ones are part of ordinary words.
const secretLength = 6

// openBindings are about components and blueprints and never secret.
var openBindings = set("cd components blueprint blueprintDef componentDescriptorDef")

// mask replaces texts of the inputs in the message of an error. The error keeps its chain.
func mask(err error, in Input) error {
	texts := map[string]bool{}
	for key, value := range in.Values {
		if !openBindings[key] {
			collectTexts(value, texts)
		}
	}
	collectTexts(in.State, texts)
	message := err.Error()
	masked := message
	for _, secret := range longestFirst(texts) {
		if !strings.Contains(in.Source, secret) {
			masked = strings.ReplaceAll(masked, secret, "[masked]")
		}
	}
	if masked == message {
		return err
	}
	if errors.Is(err, ErrBudget) {
		return overBudget("%s", masked)
	}
	return errors.New(masked)
}

func collectTexts(value any, texts map[string]bool) {
	switch t := value.(type) {
	case string:
		for _, line := range strings.Split(t, "\n") {
			if len(line) >= secretLength {
				texts[line] = true
			}
		}
	case []any:
		for _, item := range t {
			collectTexts(item, texts)
		}
	case map[string]any:
		for _, item := range t {
			collectTexts(item, texts)
		}
	}
}

func longestFirst(texts map[string]bool) []string {
	out := make([]string, 0, len(texts))
	for text := range texts {
		out = append(out, text)
	}
	sort.Slice(out, func(i, j int) bool {
		if len(out[i]) != len(out[j]) {
			return len(out[i]) > len(out[j])
		}
		return out[i] < out[j]
	})
	return out
}
