// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// maxIgnored is how many rules a DriftDetection may have, and how many paths a rule.
const maxIgnored = 100

// ModeOf returns the mode of a configuration; nil means the default.
func (d *DriftDetection) ModeOf() DriftMode {
	if d == nil || d.Mode == "" {
		return DriftWarn
	}
	return d.Mode
}

// ValidateDriftDetection checks drift detection; the errors name the fields below path. Nil is valid.
func ValidateDriftDetection(path string, detection *DriftDetection) []error {
	if detection == nil {
		return nil
	}
	var errs []error
	switch detection.ModeOf() {
	case DriftEnabled, DriftWarn, DriftDisabled:
	default:
		errs = append(errs, fmt.Errorf("%s.mode: %q is unknown, use enabled, warn or disabled", path, document.Brief(string(detection.Mode))))
	}
	if len(detection.Ignore) > maxIgnored {
		return append(errs, fmt.Errorf("%s.ignore: has %d entries, more than %d; put paths of the same objects into one entry", path, len(detection.Ignore), maxIgnored))
	}
	return append(errs, fault.ProblemsIn(len(detection.Ignore), func(i int) []error {
		return validateIgnoreRule(fmt.Sprintf("%s.ignore[%d]", path, i), &detection.Ignore[i])
	})...)
}

func validateIgnoreRule(path string, rule *IgnoreRule) []error {
	if len(rule.Paths) == 0 {
		return []error{fmt.Errorf("%s.paths: is empty, name at least one field such as /spec/replicas", path)}
	}
	if len(rule.Paths) > maxIgnored {
		return []error{fmt.Errorf("%s.paths: has %d entries, more than %d; name the field that they are in", path, len(rule.Paths), maxIgnored)}
	}
	var errs []error
	for i, pointer := range rule.Paths {
		if !strings.HasPrefix(pointer, "/") || pointer == "/" {
			errs = append(errs, fmt.Errorf("%s.paths[%d]: %q is not a JSON pointer to a field, write for example /spec/replicas", path, i, document.Brief(pointer)))
		}
	}
	if rule.Target == nil {
		return errs
	}
	return append(errs, rule.Target.validate(path+".target")...)
}

// namedPattern is a regular expression with the field that it is in.
type namedPattern struct{ field, text string }

func (s *ObjectSelector) patterns() [5]namedPattern {
	return [5]namedPattern{{"group", s.Group}, {"version", s.Version}, {"kind", s.Kind}, {"namespace", s.Namespace}, {"name", s.Name}}
}

// validate checks a selector.
func (s *ObjectSelector) validate(path string) []error {
	var errs []error
	for _, pattern := range s.patterns() {
		if err := foreign.CheckWholePattern(pattern.text); err != nil {
			errs = append(errs, fmt.Errorf("%s.%s: %q %w", path, pattern.field, document.Brief(pattern.text), err))
		}
	}
	for _, selector := range []struct{ field, text string }{{"labelSelector", s.LabelSelector}, {"annotationSelector", s.AnnotationSelector}} {
		if _, err := parseSelector(path+"."+selector.field, selector.text); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Selects reports whether an object of a kind is selected.
type Selects func(kind schema.GroupVersionKind, object metav1.Object) bool

// Compile returns the selector as a function. Nil selects every object. The error names the field below path.
func (s *ObjectSelector) Compile(path string) (Selects, error) {
	if s == nil {
		return func(schema.GroupVersionKind, metav1.Object) bool { return true }, nil
	}
	if errs := s.validate(path); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var patterns [5]*regexp.Regexp
	for i, pattern := range s.patterns() {
		if pattern.text != "" {
			patterns[i] = regexp.MustCompile(foreign.Whole(pattern.text))
		}
	}
	byLabels, err := parseSelector(path+".labelSelector", s.LabelSelector)
	if err != nil {
		return nil, err
	}
	byAnnotations, err := parseSelector(path+".annotationSelector", s.AnnotationSelector)
	if err != nil {
		return nil, err
	}
	return func(kind schema.GroupVersionKind, object metav1.Object) bool {
		for i, value := range []string{kind.Group, kind.Version, kind.Kind, object.GetNamespace(), object.GetName()} {
			if patterns[i] != nil && !patterns[i].MatchString(value) {
				return false
			}
		}
		return byLabels.Matches(labels.Set(object.GetLabels())) && byAnnotations.Matches(labels.Set(object.GetAnnotations()))
	}, nil
}

func parseSelector(path, text string) (labels.Selector, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %q is not a selector; write for example app=web", path, document.Brief(text))
	}
	return selector, nil
}
