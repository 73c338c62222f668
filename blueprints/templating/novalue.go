// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
)

// noValue is what text/template prints for a missing value.
const noValue = "<no value>"

// checkNoValue fails when the output contains the text of a missing value; it names the place in the template that printed one, or
// else the place in the output.
func (r *goRun) checkNoValue(output string) error {
	offset := strings.Index(output, noValue)
	if !r.in.RejectNoValue || offset < 0 {
		return nil
	}
	if len(r.missing) == 0 {
		line, column := position(output, offset)
		return fmt.Errorf("the output contains %q in line %d, column %d", noValue, line, column)
	}
	first := r.missing[0]
	return &located{name: first.name, source: first.source, line: lineOf(first.source, first.offset),
		err: errors.New(r.describeMissing())}
}

func (r *goRun) describeMissing() string {
	var places []string
	for i, p := range r.missing {
		if i == 5 {
			places = append(places, fmt.Sprintf("and %d more", len(r.missing)-i))
			break
		}
		line, column := position(p.source, p.offset)
		places = append(places, fmt.Sprintf("{{ %s }} in %s line %d, column %d", beginning.Of(p.expression, lineWidth), p.name, line, column))
	}
	return fmt.Sprintf("the output contains %q, because a value is missing: %s; give the value, or use default", noValue,
		strings.Join(places, "; "))
}

// position counts lines and columns from 1.
func position(source string, offset int) (line, column int) {
	before := source[:min(offset, len(source))]
	return strings.Count(before, "\n") + 1, len(before) - strings.LastIndexByte(before, '\n')
}

func lineOf(source string, offset int) int {
	line, _ := position(source, offset)
	return line
}
