// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package typed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	// maxDigits is how many digits a quantity may have before its exponent, and maxExponent how many in it.
	maxDigits, maxExponent = 64, 2
	// maxPath bounds the name of a field in an error, in bytes: keys of maps are part of it.
	maxPath = 256
)

var quantity = reflect.TypeFor[resource.Quantity]()

// Rules say what a document has to keep to.
type Rules struct {
	// Quantities are judged: the document is to become a Go type.
	Quantities bool
	// Elements is how many an object may have in those of its lists together that a strategic merge goes through one by one. 0 is any number.
	Elements int
}

// Object judges an object. The error names it, the field and what to do.
func (r Rules) Object(object runtime.Object) error {
	document, err := json.Marshal(object)
	if err != nil {
		return err
	}
	if err := r.Document(document); err != nil {
		return fmt.Errorf("%s: %w", nameOf(object), err)
	}
	return nil
}

func nameOf(object runtime.Object) string {
	kind := object.GetObjectKind().GroupVersionKind().Kind
	accessor, err := meta.Accessor(object)
	if err != nil {
		return kind
	}
	return kind + " " + strings.TrimPrefix(accessor.GetNamespace()+"/"+accessor.GetName(), "/")
}

// Document judges an object, or a list of some, that is JSON. The error names the field. It takes what has no kind for what a decoder may make of it.
func (r Rules) Document(document []byte) error {
	// Lists that are in each other have fewer commas than elements.
	mayBeLong := r.Elements > 0 && bytes.Count(document, []byte(",")) >= r.Elements/2
	if !mayBeLong && !(r.Quantities && hasHuge(document)) {
		return nil
	}
	kind, err := kjson.DefaultMetaFactory.Interpret(document)
	if err != nil {
		return nil // decoders of Go types ask the same first, and go no further
	}
	if r.Quantities && (kind.Kind == "" || kind.Version == "") {
		return errors.New("it has no apiVersion or no kind, and numbers that are too long for a quantity; see what serves it")
	}
	t, isKnown := scheme.Scheme.AllKnownTypes()[*kind]
	if !isKnown {
		return nil
	}
	w := &walk{decoder: json.NewDecoder(bytes.NewReader(document)), rules: r}
	w.decoder.UseNumber()
	return w.value(t, false)
}

// hasHuge reports whether a text has a number with too many digits, or with an exponent of too many.
func hasHuge(text []byte) bool {
	digits := 0
	for i, c := range text {
		switch {
		case isDigit(c) || c == '.':
			if digits++; digits > maxDigits {
				return true
			}
			continue
		case digits > 0 && (c == 'e' || c == 'E') && isHugeExponent(text[i+1:]):
			return true
		}
		digits = 0
	}
	return false
}

func isHugeExponent(text []byte) bool {
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	return len(text) > maxExponent && !bytes.ContainsFunc(text[:maxExponent+1], func(r rune) bool { return r < '0' || r > '9' })
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// walk goes through a document along the Go type that it is to become. A document is read as a stream: of a key that is there twice decoders take both.
type walk struct {
	decoder *json.Decoder
	// path is the field that is read, in parts.
	path []string
	// merged is how many elements there were so far in lists that are merged.
	merged int
	rules  Rules
}

// value reads one value, which becomes a t; nil is nothing that counts. merges says that it is a list that is merged.
func (w *walk) value(t reflect.Type, merges bool) error {
	if t == nil {
		return w.skip()
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return w.object(t)
		}
		return w.list(t, merges)
	case string:
		return w.scalar(t, token)
	case json.Number:
		return w.scalar(t, token.String())
	}
	return nil
}

// skip reads one value.
func (w *walk) skip() error {
	for depth := 0; ; {
		token, err := w.decoder.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// object reads what follows the beginning of an object.
func (w *walk) object(t reflect.Type) error {
	for w.decoder.More() {
		key, err := w.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		member := memberOf(t, name)
		if err := w.within("."+name, member.t, member.merges); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token()
	return err
}

// list reads what follows the beginning of a list.
func (w *walk) list(t reflect.Type, merges bool) error {
	var element reflect.Type
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		element = t.Elem()
	}
	for i := 0; w.decoder.More(); i++ {
		if merges {
			w.merged++
		}
		if w.rules.Elements > 0 && w.merged > w.rules.Elements {
			return fmt.Errorf("with %s, the lists that are merged element by element have more than %d elements together; spread them over several objects, "+
				"or let the container take variables from a ConfigMap with envFrom", w.field(), w.rules.Elements)
		}
		if err := w.within("["+strconv.Itoa(i)+"]", element, false); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token()
	return err
}

// within reads a value that is part of the current one.
func (w *walk) within(part string, t reflect.Type, merges bool) error {
	w.path = append(w.path, part)
	err := w.value(t, merges)
	w.path = w.path[:len(w.path)-1]
	return err
}

func (w *walk) scalar(t reflect.Type, text string) error {
	if !w.rules.Quantities || t != quantity || !hasHuge([]byte(text)) {
		return nil
	}
	return fmt.Errorf("%s is a quantity with more than %d digits, or more than %d in its exponent; write it shorter, such as 500m or 2Gi",
		w.field(), maxDigits, maxExponent)
}

// field returns the name of the field that is read.
func (w *walk) field() string {
	name := strings.TrimPrefix(strings.Join(w.path, ""), ".")
	return strings.ToValidUTF8(name[:min(len(name), maxPath)], "")
}
