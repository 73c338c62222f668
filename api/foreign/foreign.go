// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package foreign reads YAML that others wrote, within limits of memory. A few aliases in a small text can stand for gigabytes, so
// aliases are counted as often as they are used before anything is written out. Whatever comes from tenants, authors of blueprints,
// registries, repositories and clusters is read with this package.
//
// Errors are the second half of a sentence that begins with the name of the document: "is not YAML: …", "has more than … values …;
// write out less".
//
// It also says how much a regular expression of others may cost; see Patterns.
package foreign

import (
	"encoding/json"
	"errors"
	"strings"

	"sigs.k8s.io/yaml"
)

// Limits of one document. Zero fields mean those of Usual.
type Limits struct {
	// Values is how many values a document may have, keys included and those behind aliases counted as often as they are used. Reading
	// takes several hundred bytes of memory for each, however short it is.
	Values int
	// Bytes is how long the text may be, and how long its values may be together with aliases written out.
	Bytes int
}

// Usual are the limits of documents that people write.
var Usual = Limits{Values: 250_000, Bytes: 16 << 20}

// Index are the limits of the index of a Helm repository, which lists every version of every chart.
var Index = Limits{Values: 2_000_000, Bytes: 64 << 20}

// ToJSON turns the first document of a YAML text into JSON, within the limits of Usual. Errors are of type *Error.
func ToJSON(text []byte) ([]byte, error) { return Usual.ToJSON(text) }

// Unmarshal reads the first document of a YAML text into a Go value by its JSON tags, within the limits of Usual. Numbers of an any or a
// map[string]any are as DecodeJSON says. Errors are of type *Error.
func Unmarshal(text []byte, into any) error { return Usual.Unmarshal(text, into) }

// Afford refuses a text that has more than the limits of Usual allow, in any of its documents. It is for decoders of other libraries
// and says nothing about texts that are no YAML and have no aliases. Errors are of type *Error.
func Afford(text []byte) error {
	_, err := Usual.afford(text, allDocuments)
	return err
}

// ToJSON does the same as the function, within these limits.
func (l Limits) ToJSON(text []byte) ([]byte, error) {
	if _, err := l.afford(text, firstDocument); err != nil {
		return nil, err
	}
	return toJSON(text)
}

// toJSON reads a text that is known to be within its limits.
func toJSON(text []byte) ([]byte, error) {
	document, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, misread(notYAML, err)
	}
	return document, nil
}

// Unmarshal does the same as the function, within these limits.
func (l Limits) Unmarshal(text []byte, into any) error {
	if _, err := l.afford(text, firstDocument); err != nil {
		return err
	}
	return unmarshal(text, into)
}

// unmarshal reads a text that is known to be within its limits.
func unmarshal(text []byte, into any) error {
	if readsData(into) {
		document, err := toJSON(text)
		if err == nil {
			err = CheckNumbers(text)
		}
		if err != nil {
			return err
		}
		return decodeJSON(document, into)
	}
	problem := notYAML
	// The library calls the option when the text is JSON already.
	err := yaml.Unmarshal(text, into, func(decoder *json.Decoder) *json.Decoder {
		problem = "cannot be read"
		return decoder
	})
	if err != nil {
		return misread(problem, err)
	}
	return nil
}

// misread explains an error of the library, which has a limit of its own: the share of values behind aliases.
func misread(problem string, err error) error {
	if strings.Contains(err.Error(), "document contains excessive aliasing") {
		return &Error{"consists almost only of what aliases stand for; write out less with aliases", ErrTooMuch}
	}
	return &Error{problem, err}
}

// notYAML is the problem of texts that no decoder understands.
const notYAML = "is not YAML"

// ErrTooMuch is in the chain of errors about documents beyond their limits.
var ErrTooMuch = errors.New("more than the limits allow")

// Error says what is wrong with a document.
type Error struct {
	// Problem is the second half of a sentence. It shows nothing of the document.
	Problem string
	// Cause is the error of the decoder, which may quote the document, or ErrTooMuch.
	Cause error
}

// Error returns the problem, with the cause if that says more.
func (e *Error) Error() string {
	if errors.Is(e.Cause, ErrTooMuch) {
		return e.Problem
	}
	return e.Problem + ": " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Problem returns what is wrong with a document without quoting it, for texts that may be secret: "is not YAML", "cannot be read", or
// which limit it exceeds and what to do.
func Problem(err error) string {
	if found, ok := errors.AsType[*Error](err); ok {
		return found.Problem
	}
	return "cannot be read"
}
