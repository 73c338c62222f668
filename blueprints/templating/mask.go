// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Limits of what an error shows of the inputs.
const (
	inputsBytes = 2048
	entryBytes  = 512
)

// describeInputs lists the names of the bindings with types, and below the known containers the names and types of their entries.
func describeInputs(values map[string]any) string {
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if out.Len() > inputsBytes {
			out.WriteString("  …\n")
			break
		}
		fmt.Fprintf(&out, "  %s: %s\n", key, foreign.Beginning(describe(key, values[key]), entryBytes))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func describe(key string, value any) string {
	entries, ok := value.(map[string]any)
	if !ok || !set("imports targets values state")[key] {
		return typeName(value)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		parts = append(parts, name+": "+typeName(entries[name]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
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

// secretLength is the length from which on a text of the inputs is masked wherever it stands in a message; shorter ones are part of ordinary
// words, and are masked between quotes only.
const (
	secretLength = 6
	shortLength  = 3
)

// maxMessage is how much of a message is shown.
const maxMessage = 8 << 10

// openBindings are about components and blueprints and never secret.
var openBindings = set("cd components blueprint blueprintDef componentDescriptorDef")

// mask replaces what the inputs hold in the message of an error, also quoted, escaped and encoded. An error that shows nothing of them keeps its
// chain.
func mask(err error, in Input) error {
	if in.Unmasked {
		return err
	}
	if shown := masked(err.Error(), in); shown != err.Error() {
		return errors.New(shown)
	}
	return err
}

// Masked returns a text without what values hold, in any of the forms that errors of templates do not show either.
func Masked(text string, values map[string]any) string { return masked(text, Input{Values: values}) }

// masked does so in a text. What the template itself has is shown, and so are the names of objects such as Targets.
func masked(text string, in Input) string {
	values, names := textsOf(nil, in.State), map[string]bool{}
	for key, value := range in.Values {
		if !openBindings[key] {
			values = textsOf(values, value)
			addNames(names, value)
		}
	}
	values = slices.DeleteFunc(values, func(value string) bool { return names[value] })
	// The longest first: one may be part of another.
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	for _, value := range slices.Compact(values) {
		for _, form := range formsOf(value) {
			if strings.Contains(text, form) && !strings.Contains(in.Source, form) {
				text = strings.ReplaceAll(text, form, "[masked]")
			}
		}
	}
	return foreign.Beginning(text, maxMessage)
}

// textsOf adds the texts and numbers of a value: texts as a whole and each of their lines. Short numbers are everywhere.
func textsOf(all []string, value any) []string {
	switch t := value.(type) {
	case string:
		all = append(all, t)
		for line := range strings.SplitSeq(t, "\n") {
			all = append(all, strings.TrimSuffix(line, "\r"))
		}
	case float64:
		all = longOnes(all, strconv.FormatFloat(t, 'f', -1, 64), fmt.Sprint(t))
	case int64:
		all = longOnes(all, strconv.FormatInt(t, 10))
	case []any:
		for _, item := range t {
			all = textsOf(all, item)
		}
	case map[string]any:
		for _, item := range t {
			all = textsOf(all, item)
		}
	}
	return all
}

// addNames adds what names the Kubernetes objects in a value: kind, API version, name and namespace.
func addNames(names map[string]bool, value any) {
	switch t := value.(type) {
	case []any:
		for _, item := range t {
			addNames(names, item)
		}
	case map[string]any:
		if metadata, ok := t["metadata"].(map[string]any); ok && t["kind"] != nil && t["apiVersion"] != nil {
			for _, identity := range []any{t["kind"], t["apiVersion"], metadata["name"], metadata["namespace"]} {
				name, _ := identity.(string)
				names[name] = true
			}
			return
		}
		for _, item := range t {
			addNames(names, item)
		}
	}
}

func longOnes(all []string, numbers ...string) []string {
	return append(all, slices.DeleteFunc(numbers, func(number string) bool { return len(number) < secretLength })...)
}

// formsOf returns the forms in which messages repeat a text.
func formsOf(text string) []string {
	switch {
	case len(text) >= secretLength:
		return fault.Forms(text)
	case len(text) >= shortLength:
		return []string{strconv.Quote(text), "`" + text + "`", "'" + text + "'"}
	}
	return nil
}
