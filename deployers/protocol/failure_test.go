// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestAsFailureTellsAWebhookThatIsDownFromOneThatRefuses(t *testing.T) {
	executions := schema.GroupResource{Group: v1alpha1.GroupName, Resource: "executions"}
	internal := func(text string) error { return apierrors.NewInternalError(errors.New(text)) }
	for name, c := range map[string]struct {
		err  error
		code v1alpha1.ErrorCode
	}{
		"refused connection": {internal(`failed calling webhook "v.example.com": failed to call webhook: Post "https://x": dial tcp: connect: connection refused`), v1alpha1.ErrorWebhook},
		"deadline":           {internal(`failed calling webhook "v.example.com": context deadline exceeded`), v1alpha1.ErrorWebhook},
		"wrapped":            {fmt.Errorf("create Execution: %w", internal(`failed calling webhook "v": proxy error from x`)), v1alpha1.ErrorWebhook},
		"refusal":            {apierrors.NewForbidden(executions, "x", errors.New(`admission webhook "v.example.com" denied the request`)), ""},
		"other server error": {internal("etcdserver: no leader"), ""},
		"other error":        {errors.New("webhook: connection refused"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			failure := AsFailure("Reconcile", c.err)
			assert.Equal(t, Retry, failure.Kind)
			assert.ErrorIs(t, failure, c.err)
			if c.code == "" {
				assert.NotContains(t, failure.Codes, v1alpha1.ErrorWebhook)
				return
			}
			assert.Equal(t, []v1alpha1.ErrorCode{c.code}, failure.Codes)
		})
	}
}

func TestIsTransientIsNothingThatSomebodyExplained(t *testing.T) {
	reset := fmt.Errorf("read: %w", syscall.ECONNRESET)
	for name, c := range map[string]struct {
		err       error
		transient bool
	}{
		"the way to the API server": {reset, true},
		"a lost race":               {apierrors.NewConflict(schema.GroupResource{}, "x", errors.New("changed")), true},
		"explained and tried again": {Again("Component", "ComponentNotResolved", "registry: %w", reset), false},
		"about the object":          {errors.New("not valid"), false},
		"explained, and no retry":   {Wait("Component", "SourceNotReady", "source: %w", reset), true},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.transient, IsTransient(c.err)) })
	}
}

const policyWords = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: none of these here"

// refusal is an answer of the API server with another reason, a cause without type and field, and another message.
func refusal(from *apierrors.StatusError, reason metav1.StatusReason, cause string, message ...string) error {
	answer := &apierrors.StatusError{ErrStatus: *from.ErrStatus.DeepCopy()}
	answer.ErrStatus.Reason = reason
	if cause != "" {
		answer.ErrStatus.Details.Causes = append(answer.ErrStatus.Details.Causes, metav1.StatusCause{Message: cause})
	}
	for _, text := range message {
		answer.ErrStatus.Message = text
	}
	return answer
}

func TestE01WhatOurAPIServerNeverAcceptsNeedsAPerson(t *testing.T) {
	executions := schema.GroupResource{Group: v1alpha1.GroupName, Resource: "executions"}
	invalid := apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Execution").GroupKind(), "x", nil)
	policy := refusal(apierrors.NewForbidden(executions, "x", errors.New(policyWords)), metav1.StatusReasonInvalid, policyWords)
	ofSchema := apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Execution").GroupKind(), "x",
		field.ErrorList{field.Invalid(field.NewPath("spec"), policyWords, `admission webhook "w" denied the request`)})
	for name, c := range map[string]struct {
		err  error
		kind FailureKind
	}{
		"policy":                       {fmt.Errorf("create: %w", policy), Retry},
		"policy that calls it large":   {refusal(apierrors.NewForbidden(executions, "x", errors.New(policyWords)), metav1.StatusReasonRequestEntityTooLarge, policyWords), Retry},
		"webhook":                      {refusal(invalid, metav1.StatusReasonInvalid, "", `admission webhook "w" denied the request: no`), Retry},
		"schema that quotes a refusal": {ofSchema, Stalled},
		"invalid":                      {fmt.Errorf("create: %w", invalid), Stalled},
		"too large":                    {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), Stalled},
		"quota":                        {apierrors.NewForbidden(executions, "x", errors.New("exceeded quota")), Retry},
		"explained as a wait":          {Wait("Reconcile", "Soon", "it comes: %w", invalid), Waiting},
		"something else":               {errors.New("boom"), Retry},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.kind, AsOwnFailure("Reconcile", c.err).Kind) })
	}
}

func TestFailuresWithoutReasonGetOne(t *testing.T) {
	for want, err := range map[string]error{
		"Conflict":             apierrors.NewConflict(schema.GroupResource{}, "a", nil),
		"InvalidConfiguration": fmt.Errorf("spec.config: %w", Coded(errors.New("manifests: is missing"), v1alpha1.ErrorConfigurationProblem)),
		"UnknownKind":          fmt.Errorf("apply: %w", &meta.NoKindMatchError{}),
		"Error":                errors.New("something else"),
	} {
		assert.Equal(t, want, AsFailure("Reconcile", err).Reason)
	}
}

func TestReasonsAreMadeValid(t *testing.T) {
	for given, want := range map[string]string{
		"DeployItemFailed":        "DeployItemFailed",
		"Deployment failed":       "DeploymentFailed",
		"":                        "Error",
		"…":                       "Error",
		"42 is wrong":             "IsWrong",
		"ends with:":              "EndsWith",
		"a":                       "a",
		strings.Repeat("A", 4000): strings.Repeat("A", 128),
	} {
		assert.Equal(t, want, Reason(given), "%.40q", given)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	long := Message(strings.Repeat("ä", MaxMessage))
	assert.LessOrEqual(t, len(long), MaxMessage)
	assert.True(t, utf8.ValidString(long))
	assert.Equal(t, "short", Message("short"))
	assert.NotEmpty(t, Message(""))
	assert.Equal(t, "bytes", Message("by\xfftes"))
}

func TestMessagesOfEqualFailuresAreEqual(t *testing.T) {
	for given, want := range map[string]string{
		"Get \"https://t\": read tcp 10.0.0.1:54321->10.0.0.2:443: read: connection reset by peer":                           "Get \"https://t\": read tcp 10.0.0.2:443: read: connection reset by peer",
		"write tcp6 [::1]:5->[::1]:443: broken pipe":                                                                         "write tcp6 [::1]:443: broken pipe",
		"x509: certificate has expired or is not yet valid: current time 2026-01-01T00:00:01Z is after 2025-01-01T00:00:00Z": "x509: certificate has expired or is not yet valid: current time is after 2025-01-01T00:00:00Z",
		"dial tcp 10.0.0.2:443: connect: connection refused":                                                                 "dial tcp 10.0.0.2:443: connect: connection refused",
	} {
		assert.Equal(t, want, Message(given))
	}
}

func TestCodesAreBounded(t *testing.T) {
	many := []v1alpha1.ErrorCode{"ERR_TIMEOUT", "", "ERR_TIMEOUT", v1alpha1.ErrorCode(strings.Repeat("X", 65))}
	assert.Equal(t, []v1alpha1.ErrorCode{"ERR_TIMEOUT"}, boundCodes(many))
	for i := range 100 {
		many = append(many, v1alpha1.ErrorCode(strings.Repeat("C", 1+i%50)))
	}
	assert.Len(t, boundCodes(many), 16)
}

func FuzzFailuresGiveValidConditions(f *testing.F) {
	f.Add("Deployment failed", "m")
	f.Add("", "")
	f.Add("ünïcode:", strings.Repeat("x", MaxMessage+1))
	f.Fuzz(func(t *testing.T, reason, message string) {
		obj := &v1alpha1.Execution{}
		Fail(obj, &Failure{Reason: reason, Err: text(message)}, now)
		assert.Empty(t, validation.ValidateConditions(obj.Status.Conditions, field.NewPath("status", "conditions")))
		Progress(obj, reason, message)
		assert.Empty(t, validation.ValidateConditions(obj.Status.Conditions, field.NewPath("status", "conditions")))
	})
}

// text is an error with any text.
type text string

// Error returns the text.
func (t text) Error() string { return string(t) }

var now = metav1.Now().Time
