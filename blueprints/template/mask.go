// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sort"
	"strconv"
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
	for _, key := range slices.Sorted(maps.Keys(values)) {
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
	if shown := masked(err.Error(), in); shown != err.Error() {
		return errors.New(shown)
	}
	return err
}

// Masked returns a text without what values hold, in any of the forms that errors of templates do not show either.
func Masked(text string, values map[string]any) string { return masked(text, Input{Values: values}) }

// masked does so in a text.
func masked(text string, in Input) string {
	m := newMasker(beginning.Of(text, maxMessage), in.Source)
	for key, value := range in.Values {
		if !openBindings[key] {
			m.look(value)
		}
	}
	m.look(in.State)
	for _, form := range longestFirst(m.found) {
		m.message = strings.ReplaceAll(m.message, form, "[masked]")
	}
	return m.message
}

// masker collects the forms in which values of the inputs are in a message.
type masker struct {
	source, message string
	// pieces of the message, so that most forms are ruled out by a look at both ends.
	pieces map[string]bool
	found  map[string]bool
}

// pieceLength is the length of the pieces: that of the shortest form.
const pieceLength = shortLength + 2

func newMasker(message, source string) *masker {
	m := &masker{source: source, message: message, pieces: map[string]bool{}, found: map[string]bool{}}
	for i := range max(0, len(message)-pieceLength+1) {
		m.pieces[message[i:i+pieceLength]] = true
	}
	return m
}

func (m *masker) look(value any) {
	switch t := value.(type) {
	case string:
		m.text(t)
	case float64:
		m.form(strconv.FormatFloat(t, 'f', -1, 64), secretLength)
		m.form(fmt.Sprint(t), secretLength)
	case int64:
		m.form(strconv.FormatInt(t, 10), secretLength)
	case []any:
		for _, item := range t {
			m.look(item)
		}
	case map[string]any:
		for _, item := range t {
			m.look(item)
		}
	}
}

// text looks for a text as a whole and for each of its lines.
func (m *masker) text(text string) {
	lines := strings.Split(text, "\n")
	if len(lines) > 1 {
		m.encoded(text)
	}
	for _, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		m.form(line, secretLength)
		m.form(inside(strconv.Quote(line)), secretLength)
		if len(line) >= secretLength {
			m.encoded(line)
			continue
		}
		m.form(`"`+line+`"`, shortLength+2)
		m.form("`"+line+"`", shortLength+2)
		m.form("'"+line+"'", shortLength+2)
	}
}

// encoded looks for what encodings make of a text.
func (m *masker) encoded(text string) {
	inJSON, _ := json.Marshal(text)
	m.form(inside(string(inJSON)), secretLength)
	m.form(inside(strconv.QuoteToASCII(text)), secretLength)
	m.form(url.QueryEscape(text), secretLength)
	m.form(url.PathEscape(text), secretLength)
	m.form(base64.RawStdEncoding.EncodeToString([]byte(text)), secretLength)
	m.form(base64.RawURLEncoding.EncodeToString([]byte(text)), secretLength)
	m.form(strings.ReplaceAll(text, "'", "''"), secretLength)
	m.form(hex.EncodeToString([]byte(text)), secretLength)
}

func inside(quoted string) string { return quoted[1 : len(quoted)-1] }

// form notes a form that the message has and the template itself has not.
func (m *masker) form(form string, least int) {
	if len(form) < least || !m.pieces[form[:pieceLength]] || !m.pieces[form[len(form)-pieceLength:]] {
		return
	}
	if strings.Contains(m.message, form) && !strings.Contains(m.source, form) {
		m.found[form] = true
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
