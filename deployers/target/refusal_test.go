// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestShownError(t *testing.T) {
	whole := `{"data":{"password":"aHVudGVy"},"note":"` + strings.Repeat("x", maxQuote) + `"}`
	refused := func(kind, value, detail string) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: kind}, "app", field.ErrorList{field.Invalid(field.NewPath("patch"), value, detail)})
	}
	plain := func(message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonBadRequest, Message: message}}
	}
	for name, tc := range map[string]struct {
		err    error
		want   []string
		secret bool
	}{
		"no answer of a server": {errors.New(`Invalid value: "hunter"`), []string{`Invalid value: "hunter"`}, false},
		"a short value":         {refused("Deployment", "aHVudGVy", "no number"), []string{`patch: Invalid value: "…": no number`}, false},
		"a value among others": {
			apierrors.NewInvalid(schema.GroupKind{Kind: "Account"}, "app", field.ErrorList{
				field.Invalid(field.NewPath("metadata", "labels"), "too long!", "no label"),
				field.Invalid(field.NewPath("spec", "greeting"), "aHVudGVy", "too short"), field.Duplicate(field.NewPath("spec").Index(1), "aHVudGVy"),
				field.NotSupported(field.NewPath("spec", "type"), "aHVudGVy", []string{"A"}),
				field.Invalid(field.NewPath("spec", "pin"), 48151623, "too large"), field.Duplicate(field.NewPath("spec", "list"), map[string]any{"k": map[string]any{"a": 1}, "password": "aHVud}GVy"}),
				field.Invalid(field.NewPath("spec", "at"), "aHVudGVy", `must be of type date-time: "aHVudGVy"`),
			}),
			[]string{`[metadata.labels: Invalid value: "too long!": no label, spec.greeting: Invalid value: "…": too short, spec[1]: Duplicate value: "…", spec.type: Unsupported value: "…": supported values: "A", ` +
				`spec.pin: Invalid value: "…": too large, spec.list: Duplicate value: "…", spec.at: Invalid value: "…": must be of type date-time: "…"]`}, false,
		},
		"an element of a list": {
			errors.New(`failed to create typed patch object: .spec.list: duplicate entries for key [="aHVu]dGVy"]; parsing time "aHVudGVy" as "2006": cannot parse "aHVudGVy" as "2006"`),
			[]string{`duplicate entries for key "…"; parsing time "…" as "2006": cannot parse "…" as "2006"`}, false,
		},
		"a whole object": {
			fmt.Errorf("cannot patch: %w", refused("Deployment", whole, "no number")),
			[]string{`cannot patch: Deployment "app" is invalid: patch: Invalid value: "…": no number`}, false,
		},
		"a Secret": {
			fmt.Errorf("cannot patch: %w", refused("Secret", whole, "no text")),
			[]string{"cannot patch: the server answers Invalid for patch; correct the fields"}, true,
		},
		"a Secret that the server does not name": {
			fmt.Errorf(`cannot patch "app" with kind Secret: %w`, refused("", whole, "no text")),
			[]string{`cannot patch "app" with kind Secret: the server answers Invalid for patch`}, true,
		},
		"a Secret that cannot be decoded": {
			plain(`Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0: "aHVudGVy"`),
			[]string{"the server answers BadRequest; correct the fields"}, true,
		},
		"a Secret of which only the words are left": {
			errors.New(`cannot patch "app" with kind Secret:  "" is invalid: patch: Invalid value: "{\"password\":\"aHVudGVy\"}": no text`),
			[]string{`cannot patch "app" with kind Secret`, `Invalid value: "…": no text`}, true,
		},
		"a Secret and what a decoder shows of it": {
			errors.New(`cannot create "app" with kind Secret: found 5, error found in #10 byte of ...|"aHVudGVy":5}|..., bigger context`),
			[]string{"found 5, …"}, true,
		},
		"words around the answer that are its own": {errors.Join(plain(`as a Secret "aHVudGVy"`), errors.New("aHVudGVy later")), []string{"BadRequest"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			text := ShownError(tc.err)
			for _, want := range tc.want {
				assert.Contains(t, text, want)
			}
			assert.NotContains(t, text, "aHVudGVy")
			assert.Equal(t, tc.secret, AboutSecret(tc.err))
		})
	}
}

func FuzzShownError(f *testing.F) {
	f.Add(`Secret "a" is invalid: patch: Invalid value: "{\"data\":\"planted\"}": no`, "Secret")
	f.Add(`x: Invalid value: "planted\\" planted"`, "")
	f.Fuzz(func(t *testing.T, message, kind string) {
		err := &apierrors.StatusError{ErrStatus: metav1.Status{
			Reason: metav1.StatusReasonInvalid, Message: message, Details: &metav1.StatusDetails{Kind: kind},
		}}
		text := ShownError(fmt.Errorf("cannot patch: %w", err))
		if AboutSecret(err) {
			assert.True(t, strings.HasSuffix(text, refusedSecret(err.ErrStatus)), text)
		}
	})
}
