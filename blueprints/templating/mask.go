// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
	"github.com/flux-landscaper/flux-landscaper/api/disguise"
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

// masked does so in a text.
func masked(text string, in Input) string {
	m := newMasker(text, in.Source)
	for key, value := range in.Values {
		if !openBindings[key] {
			m.look(value)
		}
	}
	m.look(in.State)
	for _, form := range longestFirst(m.found) {
		m.message = strings.ReplaceAll(m.message, form, "[masked]")
	}
	if m.isCut {
		m.message += "…"
	}
	return beginning.Of(m.message, maxMessage)
}

// masker collects the forms in which values of the inputs are in a message.
type masker struct {
	source, message string
	// pieces of the message, so that most forms are ruled out by a look at both ends.
	pieces map[string]bool
	found  map[string]bool
	// isCut says that the message is the beginning of a longer one, which may end within a form.
	isCut bool
}

// pieceLength is the length of the pieces: that of the shortest form.
const pieceLength = shortLength + 2

func newMasker(message, source string) *masker {
	m := &masker{source: source, message: message, pieces: map[string]bool{}, found: map[string]bool{}}
	if len(message) > maxMessage {
		m.message, m.isCut = strings.ToValidUTF8(message[:maxMessage], ""), true
		message = m.message
	}
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
		m.number(strconv.FormatFloat(t, 'f', -1, 64))
		m.form(fmt.Sprint(t), secretLength)
	case int64:
		m.number(strconv.FormatInt(t, 10))
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

// number looks for a number; short ones are everywhere.
func (m *masker) number(text string) {
	if len(text) >= secretLength {
		m.encoded(text)
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
		if len(line) >= secretLength {
			m.encoded(line)
			continue
		}
		quoted := strconv.Quote(line)
		m.form(quoted[1:len(quoted)-1], secretLength)
		for _, quote := range []string{`"`, "`", "'"} {
			m.form(quote+line+quote, shortLength+2)
		}
	}
}

// encoded looks for what encodings make of a text.
func (m *masker) encoded(text string) {
	for _, form := range disguise.Forms(text) {
		m.form(form, secretLength)
	}
}

// form notes a form that the message has and the template itself has not.
func (m *masker) form(form string, least int) {
	if len(form) < least || !m.pieces[form[:pieceLength]] {
		return
	}
	if m.isCut && !strings.Contains(m.source, form) {
		m.cut(form)
	}
	if !m.pieces[form[len(form)-pieceLength:]] {
		return
	}
	if strings.Contains(m.message, form) && !strings.Contains(m.source, form) {
		m.found[form] = true
	}
}

// cut takes the beginning of a form off the end of the message.
func (m *masker) cut(form string) {
	for at := max(0, len(m.message)-len(form)); ; at++ {
		next := strings.Index(m.message[at:], form[:pieceLength])
		if next < 0 {
			return
		}
		if at += next; strings.HasPrefix(form, m.message[at:]) {
			m.message = m.message[:at]
			return
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
