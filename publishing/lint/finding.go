// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package lint checks a blueprint without running it: the document with its rules, templates, schemas and sub-installations. What it
// finds names file, line, field and cure. It promises nothing to others.
package lint

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity tells what a finding means for the blueprint.
type Severity string

// Severities of findings.
const (
	// Error makes an installation of the blueprint fail.
	Error Severity = "error"
	// Warning is legal, but hardly what the author wants.
	Warning Severity = "warning"
)

// Finding is one thing about a blueprint that its author should know.
type Finding struct {
	// Severity of the finding.
	Severity Severity `json:"severity"`
	// File of the blueprint, relative to its root.
	File string `json:"file"`
	// Line in the file, from 1; 0 when it is not known.
	Line int `json:"line,omitempty"`
	// Field of a document, like imports[0].schema; empty in templates.
	Field string `json:"field,omitempty"`
	// Message says what is wrong and what to do.
	Message string `json:"message"`
}

// String returns file:line, field and message, as compilers print them.
func (f Finding) String() string {
	at := f.File
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, f.Line)
	}
	if f.Field != "" {
		at += ": " + f.Field
	}
	return at + ": " + f.Message
}

// Report is the outcome for one blueprint.
type Report struct {
	// Findings in the order of files and lines.
	Findings []Finding `json:"findings"`
	// Imports, Exports, Subinstallations and Executions count what the blueprint declares.
	Imports          int `json:"imports"`
	Exports          int `json:"exports"`
	Subinstallations int `json:"subinstallations"`
	Executions       int `json:"executions"`
}

// Valid reports whether there is no error.
func (r *Report) Valid() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error })
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	r.Findings = slices.Compact(r.Findings)
}
