// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
)

// maxProblems is how many mismatches an error lists.
const maxProblems = 20

// Error says how data does not match its schema.
type Error struct {
	// Problems name a field and what was expected of it.
	Problems []string
}

// Error lists the problems.
func (e *Error) Error() string {
	return "the value does not match its schema: " + strings.Join(e.Problems, "; ")
}

// Reason returns ReasonFailed.
func (e *Error) Reason() string { return ReasonFailed }

// explained is a schema that cannot be used, in words that the author knows: documents have the names by which they were referred to.
type explained struct {
	message string
	cause   error
}

func (e *explained) Error() string { return e.message }

func (e *explained) Unwrap() error { return e.cause }

// explain puts the errors of the compiler into words.
func (r *resolver) explain(err error) error {
	if err == nil {
		return nil
	}
	message := err.Error()
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		message = invalid.Err.Error()
		if mismatch, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			c := &collector{seen: map[string]bool{}, ofSchema: true}
			c.collect(mismatch)
			message = strings.Join(c.problems, "; ")
		}
		if at, _, _ := strings.Cut(invalid.URL, "#"); at != rootURL {
			message = at + ": " + message
		}
	}
	for uri, at := range r.urls {
		message = regexp.MustCompile(regexp.QuoteMeta(at)+`\b`).ReplaceAllLiteralString(message, uri)
	}
	return &explained{strings.NewReplacer(rootURL, "", "schema://", "").Replace(message), err}
}

func describe(root *jsonschema.ValidationError) *Error {
	c := &collector{seen: map[string]bool{}}
	c.collect(root)
	if c.hasMore {
		c.problems = append(c.problems, "and more")
	}
	return &Error{Problems: c.problems}
}

type collector struct {
	problems []string
	seen     map[string]bool
	hasMore  bool
	// ofSchema is true for a schema, which is no secret and has rules of many alternatives: one for a field is enough.
	ofSchema bool
}

// meant says which allowed word is near to one that is not.
func meant(k jsonschema.ErrorKind) string {
	enum, ok := k.(*kind.Enum)
	if !ok {
		return ""
	}
	var allowed []string
	for _, value := range enum.Want {
		allowed = append(allowed, fmt.Sprint(value))
	}
	if near := document.Nearest(fmt.Sprint(enum.Got), allowed); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// collect takes the innermost causes.
func (c *collector) collect(e *jsonschema.ValidationError) {
	for _, cause := range e.Causes {
		c.collect(cause)
	}
	if len(e.Causes) > 0 {
		return
	}
	if len(c.problems) >= maxProblems {
		c.hasMore = true // without its text, which may be as long as the schema
		return
	}
	problem := field(e.InstanceLocation) + ": " + expectation(e.ErrorKind)
	same := problem
	if c.ofSchema {
		same = field(e.InstanceLocation)
		problem += meant(e.ErrorKind)
	}
	if !c.seen[same] {
		c.seen[same] = true
		c.problems = append(c.problems, problem)
	}
}

func field(location []string) string {
	if len(location) == 0 {
		return "(root)"
	}
	return strings.Join(location, ".")
}

// expectation says what the schema wants. It never says what the data is, beyond its type and counts.
func expectation(k jsonschema.ErrorKind) string {
	switch t := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be of type %s, but is of type %s", strings.Join(t.Want, " or "), t.Got)
	case *kind.Required:
		return "misses " + strings.Join(t.Missing, ", ")
	case *kind.AdditionalProperties:
		return "must not have the property " + strings.Join(t.Properties, ", ")
	case *kind.Enum:
		return "must be one of " + list(t.Want)
	case *kind.Const:
		return fmt.Sprintf("must be %v", t.Want)
	case *kind.Format:
		return "must be in the format " + t.Want
	case *kind.Pattern:
		return "must match the pattern " + t.Want
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d properties, but has %d", t.Want, t.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d properties, but has %d", t.Want, t.Got)
	case *kind.OneOf:
		return fmt.Sprintf("must match exactly one of the alternatives, but matches %d", len(t.Subschemas))
	}
	return sizeExpectation(k)
}

func sizeExpectation(k jsonschema.ErrorKind) string {
	switch t := k.(type) {
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items, but has %d", t.Want, t.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items, but has %d", t.Want, t.Got)
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", t.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", t.Want)
	case *kind.Minimum:
		return "must be at least " + decimal(t.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(t.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(t.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(t.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(t.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("must not have equal items, but items %d and %d are", t.Duplicates[0], t.Duplicates[1])
	case *kind.RefCycle:
		return "cannot be checked, because its schema refers to itself without end"
	case *kind.FalseSchema:
		return "must not be given"
	}
	return "breaks the rule " + strings.Join(k.KeywordPath(), "/")
}

func list(values []any) string {
	var out []string
	for _, value := range values {
		out = append(out, fmt.Sprint(value))
	}
	return strings.Join(out, ", ")
}

func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	return fmt.Sprint(f)
}
