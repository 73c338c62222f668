// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	yamlv3 "go.yaml.in/yaml/v3"
)

// How many documents of a text count: the decoder of JSON stops after the first.
const (
	firstDocument = 1
	allDocuments  = -1
)

func (l Limits) orUsual() Limits {
	l.Values = cmp.Or(max(l.Values, 0), Usual.Values)
	l.Bytes = cmp.Or(max(l.Bytes, 0), Usual.Bytes)
	return l
}

// afford refuses texts that would need too much memory, before they are parsed. It returns the size of the documents if they use aliases.
func (l Limits) afford(text []byte, documents int) (Limits, error) {
	l = l.orUsual()
	if len(text) > l.Bytes || separators(text) > l.Values {
		return Limits{}, tooMuch("has more than", l, textCure)
	}
	if !hasName(text, '&') || !hasName(text, '*') {
		return Limits{}, nil
	}
	w := &weight{limits: l, of: map[*yamlv3.Node]Limits{}}
	sum := Limits{}
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	for ; documents != 0; documents-- {
		var root yamlv3.Node
		if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return Limits{}, &Error{notYAML, err}
		}
		if sum = plus(sum, w.size(&root)); !w.limits.hold(sum) {
			return Limits{}, tooMuch("has more than", l, aliasCure)
		}
	}
	return sum, nil
}

// hasName reports whether the sign is followed by what may be the name of an anchor.
func hasName(text []byte, sign byte) bool {
	for {
		i := bytes.IndexByte(text, sign)
		if i < 0 || i+1 == len(text) {
			return false
		}
		if c := text[i+1]; c == 0 || c > ' ' && c != sign { // in UTF-16 a zero is half of the sign or of the next
			return true
		}
		text = text[i+1:]
	}
}

// separators counts the signs that values begin or end with. There are at most twice as many values, and one.
func separators(text []byte) int {
	count := 0
	for i, c := range text {
		switch c {
		case ',', ':', '[', '{', '?':
			count++
		case '-':
			if i+1 == len(text) || breaks(text[i+1]) {
				count++
			}
		}
	}
	return count
}

// breaks reports whether a byte is white space, or may begin one of the breaks that Unicode has beside those of ASCII.
func breaks(c byte) bool { return c <= ' ' || c == 0xC2 || c == 0xE2 }

// weight measures documents with their aliases written out. A node that aliases stand for is measured once.
type weight struct {
	limits Limits
	of     map[*yamlv3.Node]Limits
}

// endless is the size of a node that contains itself.
var endless = Limits{Values: 1 << 40, Bytes: 1 << 40}

func (l Limits) hold(size Limits) bool { return size.Values <= l.Values && size.Bytes <= l.Bytes }

// What to do about texts beyond their limits.
const (
	textCure  = "; split it or write out less"
	aliasCure = ", counting those behind aliases; write out less"
)

func tooMuch(what string, l Limits, cure string) error {
	return &Error{fmt.Sprintf("%s %d values or %d bytes%s", what, l.Values, l.Bytes, cure), ErrTooMuch}
}

// size returns values and bytes of a node, or something beyond the limits as soon as they are reached.
func (w *weight) size(n *yamlv3.Node) Limits {
	if n.Kind == yamlv3.AliasNode {
		return w.aliased(n.Alias)
	}
	sum := Limits{1, len(n.Value)}
	for _, child := range n.Content {
		if sum = plus(sum, w.size(child)); !w.limits.hold(sum) {
			break
		}
	}
	return sum
}

// aliased measures the node that an alias stands for.
func (w *weight) aliased(n *yamlv3.Node) Limits {
	if known, ok := w.of[n]; ok {
		return known
	}
	w.of[n] = endless
	w.of[n] = w.size(n)
	return w.of[n]
}

func plus(a, b Limits) Limits { return Limits{a.Values + b.Values, a.Bytes + b.Bytes} }
