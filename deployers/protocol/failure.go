// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/net"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// FailureKind says who can end a failure.
type FailureKind = fault.Kind

// Kinds of failures.
const (
	// Retry failures go away by themselves; the work is tried again with back-off.
	Retry = fault.Retry
	// Waiting is not an error: an event of another object will come.
	Waiting = fault.Waiting
	// Stalled failures need a person.
	Stalled = fault.Stalled
)

// Failure is why an object cannot go on. Its text never holds the content of Secrets.
type Failure struct {
	// Kind says who can end it.
	Kind FailureKind
	// Operation that failed, for lastError.operation.
	Operation string
	// Reason in one CamelCase word, for lastError.reason and conditions.
	Reason string
	// Codes for lastError.codes.
	Codes []v1alpha1.ErrorCode
	// Err is the cause; its text is the message.
	Err error
	// Heals says that an event of the cluster starts the work again: the job ends badly, but nobody has to act.
	Heals bool
}

// Error returns the message of the cause.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Stall returns a failure that needs a person, with the code ERR_CONFIGURATION_PROBLEM.
func Stall(operation, reason, format string, args ...any) error {
	return &Failure{
		Kind: Stalled, Operation: operation, Reason: reason,
		Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, Err: fmt.Errorf(format, args...),
	}
}

// Wait returns a failure that an event ends. The message says for what object the work waits.
func Wait(operation, reason, format string, args ...any) error {
	return &Failure{
		Kind: Waiting, Operation: operation, Reason: reason,
		Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorUnfinished, v1alpha1.ErrorForInfoOnly}, Err: fmt.Errorf(format, args...),
	}
}

// Again returns a failure that is tried again with back-off.
func Again(operation, reason, format string, args ...any) error {
	return &Failure{Kind: Retry, Operation: operation, Reason: reason, Err: fmt.Errorf(format, args...)}
}

// Coded attaches error codes to an error.
func Coded(err error, codes ...v1alpha1.ErrorCode) error {
	if err == nil {
		return nil
	}
	return &coded{error: err, codes: codes}
}

type coded struct {
	error
	codes []v1alpha1.ErrorCode
}

// Unwrap returns the error without codes.
func (c *coded) Unwrap() error { return c.error }

// CodesOf returns the error codes of the whole chain of wrapped errors, each once.
func CodesOf(err error) []v1alpha1.ErrorCode {
	var codes []v1alpha1.ErrorCode
	add := func(more []v1alpha1.ErrorCode) {
		for _, code := range more {
			if !slices.Contains(codes, code) {
				codes = append(codes, code)
			}
		}
	}
	for err != nil {
		switch e := err.(type) {
		case *Failure:
			add(e.Codes)
		case *coded:
			add(e.codes)
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				add(CodesOf(inner))
			}
		}
		err = errors.Unwrap(err)
	}
	return codes
}

// IsUnrecoverable reports whether an error carries a code that ends a job at once.
func IsUnrecoverable(err error) bool {
	return slices.ContainsFunc(CodesOf(err), func(code v1alpha1.ErrorCode) bool {
		return slices.Contains(v1alpha1.UnrecoverableCodes, code)
	})
}

// AsFailure returns err as a Failure. Errors that are none become Stalled when they carry an unrecoverable code, else Retry; a webhook that
// did not answer a write of ours is Retry with the code ERR_WEBHOOK.
func AsFailure(operation string, err error) *Failure {
	if failure, ok := errors.AsType[*Failure](err); ok {
		return failure
	}
	if isWebhookSilent(err) {
		return &Failure{
			Kind: Retry, Operation: operation, Reason: reasonWebhook, Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorWebhook},
			Err: fmt.Errorf("an admission webhook of the cluster does not answer; it is tried again: %w", err),
		}
	}
	kind := Retry
	if IsUnrecoverable(err) {
		kind = Stalled
	}
	return &Failure{Kind: kind, Operation: operation, Reason: reasonOf(err), Codes: CodesOf(err), Err: err}
}

// AsOwnFailure is AsFailure for a loop that writes to the API server of its own objects: what that refuses for good is Stalled.
func AsOwnFailure(operation string, err error) *Failure {
	failure := AsFailure(operation, err)
	var explained *Failure
	if !errors.As(err, &explained) && IsRefusedForGood(err) {
		failure.Kind, failure.Codes = Stalled, append(failure.Codes, v1alpha1.ErrorConfigurationProblem)
	}
	return failure
}

// IsRefusedForGood reports whether the API server refused a write of ours as invalid or too large, and so refuses it at every other attempt too.
// What a policy or a webhook of the cluster refuses is not of that kind, whatever reason it gives: those rules change, and nobody tells us when.
func IsRefusedForGood(err error) bool {
	return (apierrors.IsInvalid(err) || IsTooLarge(err)) && !isRefusedByAdmission(err)
}

// isRefusedByAdmission reports whether a ValidatingAdmissionPolicy or an admission webhook refused a write. Both choose the reason of the refusal;
// a policy that chooses none says Invalid, as the schema does. A policy states its refusal as a cause without type and field, which every cause
// of the schema has. A webhook may return any causes, but the API server begins the message.
func isRefusedByAdmission(err error) bool {
	var refusal apierrors.APIStatus
	if !errors.As(err, &refusal) {
		return false
	}
	status := refusal.Status()
	if strings.HasPrefix(status.Message, "admission webhook ") && strings.Contains(status.Message, " denied the request") {
		return true
	}
	return status.Details != nil && slices.ContainsFunc(status.Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type == "" && cause.Field == "" && strings.HasPrefix(cause.Message, "ValidatingAdmissionPolicy ")
	})
}

// IsTooLarge reports whether the API server or etcd refused the size of a request. The API server reports the latter as an internal error.
func IsTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "etcdserver: request is too large")
}

const reasonWebhook = "WebhookUnavailable"

// webhookSigns are what the API server says when it cannot reach a webhook. A webhook that answers and refuses says none of them.
var webhookSigns = []string{
	"failed calling webhook", "failed to call webhook", "connection refused", "context deadline exceeded", "proxy error", "no endpoints available",
}

// isWebhookSilent reports whether a write failed because a webhook could not be asked. The API server reports that as an internal error of
// its own, so nothing but the text tells it apart.
func isWebhookSilent(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "webhook") &&
		slices.ContainsFunc(webhookSigns, func(sign string) bool { return strings.Contains(err.Error(), sign) })
}

const (
	// ReasonInvalidConfiguration says that a person has to correct the configuration of a deploy item.
	ReasonInvalidConfiguration = "InvalidConfiguration"
	reasonUnknownKind          = "UnknownKind"
	reasonForbidden            = "Forbidden"
)

func reasonOf(err error) string {
	if apierrors.IsForbidden(err) {
		return reasonForbidden // as Kubernetes calls it; the reference of reasons has a cure for it
	}
	if reason := apierrors.ReasonForError(err); reason != "" {
		return string(reason)
	}
	if slices.Contains(CodesOf(err), v1alpha1.ErrorConfigurationProblem) {
		return ReasonInvalidConfiguration
	}
	if errors.As(err, new(*meta.NoKindMatchError)) || errors.As(err, new(*meta.NoResourceMatchError)) {
		return reasonUnknownKind
	}
	return unknownReason
}

// IsTransient reports whether an error is about the way to the API server or about a lost race, and says nothing about the
// object: it is retried and never shown in status. A Failure that says itself that it is retried is shown, whatever its cause.
func IsTransient(err error) bool {
	var explained *Failure
	if errors.As(err, &explained) && explained.Kind == Retry {
		return false
	}
	return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || net.IsConnectionRefused(err) ||
		net.IsConnectionReset(err) || net.IsProbableEOF(err) || errors.Is(err, context.Canceled)
}

// InterruptOperation is operation and reason of the error of a job that was interrupted.
const InterruptOperation = "InterruptOperation"

// Interrupted returns the failure of a job that the operation "interrupt" has ended.
func Interrupted() *Failure {
	return &Failure{Kind: Stalled, Operation: InterruptOperation, Reason: InterruptOperation, Err: errors.New("operation was interrupted")}
}

const (
	// MaxMessage is the length, in bytes, of messages in status and events.
	MaxMessage = 8 << 10
	// maxReason is the length of reasons; events take no longer ones.
	maxReason = 128
	// maxCodes is how many error codes a status keeps, and maxCode how long each may be.
	maxCodes, maxCode = 16, 64
)

// unknownReason stands for a reason that holds nothing usable.
const unknownReason = "Error"

// Reason returns a reason that conditions accept: the given one if it is valid, else its letters and digits in CamelCase. Reasons come
// from deployers of others, too, and one that the API server refuses would keep the whole status from being written.
func Reason(reason string) string {
	if len(reason) <= maxReason && conditionReason.MatchString(reason) {
		return reason
	}
	var camel strings.Builder
	upper := true
	for _, r := range reason {
		letter, digit := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z', r >= '0' && r <= '9'
		if !letter && (!digit || camel.Len() == 0) {
			upper = true
			continue
		}
		if upper && r >= 'a' {
			r -= 'a' - 'A'
		}
		camel.WriteRune(r)
		upper = false
		if camel.Len() == maxReason {
			break
		}
	}
	if camel.Len() == 0 {
		return unknownReason
	}
	return camel.String()
}

// varying are the parts of errors of networks that differ at every attempt: the local port and the time. A status that showed them would be
// written anew each time.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\b(read|write) (tcp|udp)([46]?) \S+->`), "$1 $2$3 "},
	{regexp.MustCompile(`\bcurrent time \S+ is (after|before)\b`), "current time is $1"},
}

// Message returns a text as status and events show it: valid, at most MaxMessage long, with the middle cut out of a longer one, and without
// what differs between two attempts that fail alike. An empty text is replaced, because a condition that fails has to say something.
func Message(text string) string {
	if text == "" {
		return "no message was given"
	}
	const cut = " … "
	if len(text) > MaxMessage {
		half := (MaxMessage - len(cut)) / 2
		text = text[:half] + cut + text[len(text)-half:]
	}
	for _, part := range varying {
		text = part.pattern.ReplaceAllString(text, part.instead)
	}
	return strings.ToValidUTF8(text, "")
}

// boundCodes returns the first codes of a list that may come from others, each once and none absurdly long.
func boundCodes(codes []v1alpha1.ErrorCode) []v1alpha1.ErrorCode {
	var bounded []v1alpha1.ErrorCode
	for _, code := range codes {
		if code == "" || len(code) > maxCode || slices.Contains(bounded, code) {
			continue
		}
		if bounded = append(bounded, code); len(bounded) == maxCodes {
			break
		}
	}
	return bounded
}
