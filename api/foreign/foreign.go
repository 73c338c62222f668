// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package foreign reads YAML that others wrote, within limits of memory. A few aliases in a small text can stand for gigabytes, so
// aliases are counted as often as they are used before anything is written out. Whatever comes from tenants, authors of blueprints,
// registries, repositories and clusters is read with this package.
//
// Errors are the second half of a sentence that begins with the name of the document: "is not YAML: …", "has more than … bytes; write out less".
//
// It also says which regular expressions of others are small enough; see CheckPattern.
package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp/syntax"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Limit is how many bytes a document may have, together with what its aliases stand for.
type Limit int

const (
	// Usual is the limit of documents that people write.
	Usual Limit = 16 << 20
	// Index is the limit of the index of a Helm repository, which lists every version of every chart.
	Index Limit = 64 << 20
)

// ToJSON turns the first document of a YAML text into JSON, within the limit Usual. Errors are of type *Error.
func ToJSON(text []byte) ([]byte, error) { return Usual.ToJSON(text) }

// Unmarshal reads the first document of a YAML text into a Go value by its JSON tags, within the limit Usual. Numbers of an any or a
// map[string]any are as DecodeJSON says. Errors are of type *Error.
func Unmarshal(text []byte, into any) error { return Usual.Unmarshal(text, into) }

// Afford refuses a text that is beyond the limit Usual, all its documents together. It is for decoders of other libraries
// and says nothing about texts that are no YAML and have no aliases. Errors are of type *Error.
func Afford(text []byte) error { return Usual.afford(text, allDocuments) }

// ToJSON does the same as the function, within this limit.
func (l Limit) ToJSON(text []byte) ([]byte, error) {
	if err := l.afford(text, firstDocument); err != nil {
		return nil, err
	}
	return toJSON(text)
}

// toJSON reads a text that is known to be within its limit.
func toJSON(text []byte) ([]byte, error) {
	document, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, misread(notYAML, err)
	}
	return document, nil
}

// Unmarshal does the same as the function, within this limit.
func (l Limit) Unmarshal(text []byte, into any) error {
	if err := l.afford(text, firstDocument); err != nil {
		return err
	}
	return unmarshal(text, into)
}

// unmarshal reads a text that is known to be within its limit.
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
	if strings.Contains(err.Error(), "unknown anchor") { // it may be a secret that begins with a star
		return &Error{notYAML, errNoAlias}
	}
	if strings.Contains(err.Error(), "document contains excessive aliasing") {
		return &Error{"consists almost only of what aliases stand for; write out less with aliases", ErrTooMuch}
	}
	return &Error{problem, err}
}

var errNoAlias = errors.New("a value begins with * and is no alias; put it in quotes")

// notYAML is the problem of texts that no decoder understands.
const notYAML = "is not YAML"

// ErrTooMuch is in the chain of errors about documents beyond their limits.
var ErrTooMuch = errors.New("more than the limits allow")

// Error says what is wrong with a document.
type Error struct {
	// Problem is the second half of a sentence. It shows nothing of the document.
	Problem string
	// Cause is the error of the decoder, which may quote the document, ErrTooMuch, or nil where the problem says all.
	Cause error
}

// Error returns the problem, with the cause if that says more.
func (e *Error) Error() string {
	if e.Cause == nil || errors.Is(e.Cause, ErrTooMuch) {
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

// How many documents of a text count: the decoder of JSON stops after the first.
const (
	firstDocument = 1
	allDocuments  = -1
)

// CheckWhole refuses a YAML text of which decoders silently leave something out: a value whose key has another one later in the same object, and what stands
// in further documents. Errors are of type *Error, name the line and show nothing of the text.
func CheckWhole(text []byte) error {
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	for number := 1; ; number++ {
		var root yamlv3.Node
		if err := decoder.Decode(&root); err != nil || len(root.Content) == 0 {
			return nil // the end, or what is no YAML, which is found where the text is decoded
		}
		if line := keyTwice(&root); line > 0 {
			return &Error{fmt.Sprintf("has a key twice in one object, again in line %d; remove one of them", line), nil}
		}
		if first := root.Content[0]; number > 1 && first.Tag != "!!null" {
			return &Error{fmt.Sprintf("has a second document, from line %d on, which nobody reads; write one document", first.Line), nil}
		}
	}
}

// keyTwice returns the line of a key that is in an object before with another value; 0 where there is none. Merge keys may be there several times.
func keyTwice(n *yamlv3.Node) int {
	var seen map[string]*yamlv3.Node
	if n.Kind == yamlv3.MappingNode {
		seen = map[string]*yamlv3.Node{}
	}
	for i, child := range n.Content {
		if seen != nil && i%2 == 0 && child.Tag != "!!merge" {
			value := n.Content[i+1]
			if before := seen[child.Value]; before != nil && before.Tag != "!!null" && !isEqual(before, value) {
				return child.Line
			}
			seen[child.Value] = value
		}
		if line := keyTwice(child); line > 0 {
			return line
		}
	}
	return 0
}

func isEqual(a, b *yamlv3.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, isEqual)
}

// afford refuses texts beyond the limit before they are decoded.
func (l Limit) afford(text []byte, documents int) error {
	if len(text) > int(l) {
		return &Error{fmt.Sprintf("has more than %d bytes; split it or write out less", l), ErrTooMuch}
	}
	if !hasName(text, '&') || !hasName(text, '*') {
		return nil
	}
	w := &weight{most: int(l), of: map[*yamlv3.Node]int{}}
	sum := 0
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	for ; documents != 0; documents-- {
		var root yamlv3.Node
		if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return misread(notYAML, err)
		}
		if sum += w.size(&root); sum > w.most {
			return &Error{fmt.Sprintf("has more than %d bytes, counting those behind aliases; write out less", l), ErrTooMuch}
		}
	}
	return nil
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

// weight measures documents with their aliases written out. A node that aliases stand for is measured once.
type weight struct {
	most int
	of   map[*yamlv3.Node]int
}

const (
	// nodeBytes is what each value counts beside its text: to keep it takes more than that.
	nodeBytes = 64
	// endless is the size of a node that contains itself.
	endless = 1 << 40
)

// size returns the bytes of a node, or more than the most as soon as they are reached.
func (w *weight) size(n *yamlv3.Node) int {
	if n.Kind == yamlv3.AliasNode {
		return w.aliased(n.Alias)
	}
	sum := nodeBytes + len(n.Value)
	for _, child := range n.Content {
		if sum += w.size(child); sum > w.most {
			break
		}
	}
	return sum
}

// aliased measures the node that an alias stands for.
func (w *weight) aliased(n *yamlv3.Node) int {
	if known, ok := w.of[n]; ok {
		return known
	}
	w.of[n] = endless
	w.of[n] = w.size(n)
	return w.of[n]
}

// Limits of a regular expression: its characters, and the steps that it is compiled to. Seven characters can stand for a thousand steps, each of which
// takes memory, and time with each name that it is asked about.
const (
	maxPattern      = 2048
	maxPatternSteps = 2500
)

// CheckPattern returns what is wrong with a regular expression for names of objects, as the end of a sentence that begins with its field; nil for
// nothing, and for none.
func CheckPattern(text string) error { return check(text, text) }

// CheckWholePattern does the same for an expression that has to match as a whole, as Whole writes it.
func CheckWholePattern(text string) error { return check(text, Whole(text)) }

// Whole returns the regular expression that matches what another one matches as a whole.
func Whole(text string) string { return "^(?:" + text + ")$" }

func check(text, compiled string) error {
	if text == "" {
		return nil
	}
	if len(text) > maxPattern {
		return fmt.Errorf("is longer than %d characters; shorten it", maxPattern)
	}
	parsed, err := syntax.Parse(compiled, syntax.Perl)
	if err != nil {
		reason := "it cannot be read"
		if problem, ok := errors.AsType[*syntax.Error](err); ok {
			reason = problem.Code.String() // without the expression
		}
		return fmt.Errorf("is not a regular expression (RE2): %s; correct it", reason)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > maxPatternSteps {
		return fmt.Errorf("repeats too much: %d steps are the most; use * or + in place of counts", maxPatternSteps)
	}
	return nil
}

const ellipsis = "…"

// Of returns a text as it is where it has at most longest bytes, and else its beginning followed by an ellipsis, of at most longest bytes together.
// It never cuts a character in two: the API server stores another text in place of one that is no UTF-8, and who writes it would write it again
// and again. longest is at least 3.
func Beginning[T ~string](text T, longest int) string {
	if len(text) <= longest {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:longest-len(ellipsis)]), "") + ellipsis
}
