// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Flow says how data flows among units. The version of unit 0 is what flows; every ConfigMap holds what has arrived at its unit.
type Flow string

const (
	// Apart units have nothing to do with each other.
	Apart Flow = ""
	// Chain lets every unit import from the one before and pass on what it got.
	Chain Flow = "chain"
	// Fan lets all units import from unit 0.
	Fan Flow = "fan"
)

// producer returns the unit that unit i imports from, negative when there is none.
func (f Flow) producer(i int) int {
	switch {
	case i == 0 || f == Apart:
		return -1
	case f == Fan:
		return 0
	}
	return i - 1
}

// isProducer reports whether a unit exports.
func (f Flow) isProducer(i int) bool { return f == Chain || f == Fan && i == 0 }

// connect adds imports and exports of unit i. An export is called like its unit.
func (f Flow) connect(inst *v1alpha1.Installation, u Units, i int) {
	if from := f.producer(i); from >= 0 {
		inst.Spec.Imports.Data = append(inst.Spec.Imports.Data, v1alpha1.DataImport{Name: "upstream", DataRef: u.Name(from)})
	}
	if f.isProducer(i) {
		inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "downstream", DataRef: u.Name(i)}}
	}
}

func (f Flow) imports(i int) string {
	if f.producer(i) < 0 {
		return ""
	}
	return `- name: upstream
  type: data
  schema: {type: string}
`
}

func (f Flow) manifest(i int) string {
	if f.producer(i) < 0 {
		return ""
	}
	return `              upstream: {{ .imports.upstream | quote }}
`
}

func (f Flow) exports(i int, version string) string {
	if !f.isProducer(i) {
		return ""
	}
	value := fmt.Sprintf("%q", version)
	if f.producer(i) >= 0 {
		value = "{{ .imports.upstream | quote }}"
	}
	return fmt.Sprintf(`exports:
- name: downstream
  type: data
  schema: {type: string}
exportExecutions:
- name: default
  type: GoTemplate
  template: |
    exports:
      downstream: %s
`, value)
}

// Ran waits for the end of the second job of an Installation, or of whichever the number says. It ends with an error when a job fails
// and when there is a job more.
func (o *Observer) Ran(number int) Condition {
	succeeded := Succeeded(1)
	return func(change watch.EventType, inst *v1alpha1.Installation) (bool, error) {
		done, err := succeeded(change, inst)
		switch jobs := o.jobs[inst.Name]; {
		case err != nil:
			return false, err
		case len(jobs) > number:
			return false, fmt.Errorf("%s has had %d jobs, %d are right", inst.Name, len(jobs), number)
		default:
			return done && len(jobs) == number, nil
		}
	}
}
