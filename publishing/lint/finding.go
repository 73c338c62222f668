// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity tells what a finding means.
type Severity string

// Severities of findings.
const (
	// Error makes an installation fail.
	Error Severity = "error"
	// Warning is legal, but hardly what the author wants.
	Warning Severity = "warning"
)

// Finding is one thing that the author of a file should know.
type Finding struct {
	// Severity of the finding.
	Severity Severity `json:"severity"`
	// Rule that found it; see Rules.
	Rule string `json:"rule"`
	// File in which it is: relative to the root of the blueprint, or below the name of the place that was checked.
	File string `json:"file"`
	// Line in the file and Column in the line, from 1; 0 when they are not known.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Field of a document, like imports[0].schema; empty in templates.
	Field string `json:"field,omitempty"`
	// Message says what is wrong and what to do.
	Message string `json:"message"`
}

// Rules say what the checks look at, by their names.
var Rules = map[string]string{
	ruleDocument:   "A document can be read, and has known keys and sound values",
	ruleSchema:     "Schemas can be used, and data matches them",
	ruleTemplate:   "Templates can be parsed, and name what there is",
	ruleReferences: "What objects and sub-installations import and export is there",
	ruleCycle:      "No Installation waits for itself",
	ruleDuplicate:  "An object, an import and an export is there once",
}

const (
	ruleDocument   = "document"
	ruleSchema     = "schema"
	ruleTemplate   = "template"
	ruleReferences = "references"
	ruleCycle      = "cycle"
	ruleDuplicate  = "duplicate"
)

// String returns file:line:column, field and message, as compilers print them.
func (f Finding) String() string {
	at := f.File
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, f.Line)
	}
	if f.Line > 0 && f.Column > 0 {
		at = fmt.Sprintf("%s:%d", at, f.Column)
	}
	if f.Field != "" {
		at += ": " + f.Field
	}
	return at + ": " + f.Message
}

// Report is the outcome for a blueprint or for places with many.
type Report struct {
	// Findings in the order of files and lines.
	Findings []Finding `json:"findings"`
	// Imports, Exports, Subinstallations and Executions count what a blueprint declares.
	Imports          int `json:"imports"`
	Exports          int `json:"exports"`
	Subinstallations int `json:"subinstallations"`
	Executions       int `json:"executions"`
	// Objects and Blueprints count what lies in places.
	Objects    int `json:"objects,omitempty"`
	Blueprints int `json:"blueprints,omitempty"`
}

// Count returns how many findings have a severity.
func (r *Report) Count(severity Severity) int {
	count := 0
	for _, f := range r.Findings {
		if f.Severity == severity {
			count++
		}
	}
	return count
}

// Valid reports whether there is no error.
func (r *Report) Valid() bool { return r.Count(Error) == 0 }

func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	r.Findings = slices.Compact(r.Findings)
}

// place is where something stands in a file; what is not known of it is 0.
type place struct{ line, column int }

// reporter adds findings of a rule.
type reporter struct {
	report *Report
	rule   string
}

func (r *reporter) add(severity Severity, file string, at place, field, format string, args ...any) {
	r.report.Findings = append(r.report.Findings, Finding{
		Severity: severity, Rule: r.rule, File: file, Line: at.line, Column: at.column, Field: field, Message: fmt.Sprintf(format, args...),
	})
}

// in reports about a field of a document.
func (r *reporter) in(d *document, severity Severity, field, format string, args ...any) {
	r.add(severity, d.file, d.at(field), field, format, args...)
}
