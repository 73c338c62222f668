// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Failure is an error about one object. Its text is safe to show; the cause may not be.
type Failure struct {
	Text  string
	Cause error
}

// Error returns the text.
func (f *Failure) Error() string { return f.Text }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Cause }

// ObjectError says that verb failed for an object. Rejected credentials get the code ERR_UNAUTHORIZED, and what the API server refuses as often as it is
// asked ERR_CONFIGURATION_PROBLEM; everything else may heal and gets none. The content of refused objects stays out of the text.
func ObjectError(verb string, ref managedresource.ResourceReference, err error) error {
	if err == nil {
		return nil
	}
	wrapped := &Failure{Text: fmt.Sprintf("cannot %s %s: %s", verb, ref, target.ShownError(err)), Cause: err}
	if IsUnauthorized(err) {
		wrapped.Text += "; give the credentials of the target the permission, or correct them"
		return protocol.Coded(wrapped, v1alpha1.ErrorUnauthorized)
	}
	if cure := cureOf(err); cure != "" {
		wrapped.Text += "; " + cure
		return protocol.Coded(wrapped, v1alpha1.ErrorConfigurationProblem)
	}
	return wrapped
}

// cureOf says what a person does about a refusal that another try can only repeat; "" where it may heal. An address or port that another Service has
// is Invalid, too, and may become free.
func cureOf(err error) string {
	switch {
	case protocol.IsTooLarge(err):
		return "no API server stores an object of this size; make it smaller, or several of it"
	case protocol.IsRefusedForGood(err) && !strings.Contains(err.Error(), "is already allocated"), apierrors.IsBadRequest(err) && isUndecodable.MatchString(err.Error()):
		return "correct what the manifest or the chart says there"
	}
	return ""
}

// isUndecodable finds how API servers say that they cannot read an object. Other bad requests are those of webhooks and of servers in between.
var isUndecodable = regexp.MustCompile(`cannot be handled as a|the object provided is unrecognized|` + Untyped)

// Untyped is how API servers begin to say that an object has a field that its kind does not have, or a value of another type.
const Untyped = "failed to create typed patch object"

// MayHeal takes from an error what ends a job at once, where a refusal may be that of a definition which is about to change.
func MayHeal(err error) error {
	var answer *apierrors.StatusError
	if !errors.As(err, &answer) || cureOf(err) == "" && !strings.Contains(answer.Error(), Untyped) {
		return err
	}
	return &Failure{Text: err.Error(), Cause: answer}
}

// IsUnauthorized reports whether the credentials are at fault. Admission plug-ins answer 403 too (terminating namespaces, quotas,
// service accounts that are not there yet); those heal.
func IsUnauthorized(err error) bool {
	if !apierrors.IsForbidden(err) {
		return apierrors.IsUnauthorized(err)
	}
	text := err.Error()
	return strings.Contains(text, `User "`) && strings.Contains(text, `" cannot `) ||
		strings.Contains(text, "attempting to grant RBAC permissions")
}

// unknownKind explains a kind that the target does not serve. It is worth another try: a CustomResourceDefinition may come.
func unknownKind(cluster, apiVersion, kind string, err error) error {
	return &Failure{
		Text: fmt.Sprintf("kind %s of apiVersion %s is not known to target %s; install its CustomResourceDefinition there, "+
			"or correct apiVersion and kind", kind, apiVersion, cluster),
		Cause: err,
	}
}

// IsGone reports whether an error says that an object, or its whole kind, does not exist. A target that does not find its own kinds says nothing.
func IsGone(err error) bool {
	return !errors.Is(err, ErrUnanswered) && (apierrors.IsNotFound(err) || IsNoMatch(err))
}

// IsNoMatch also looks into wrapped errors, which meta.IsNoMatchError does not.
func IsNoMatch(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if meta.IsNoMatchError(err) {
			return true
		}
	}
	return false
}

// Misconfigured returns an error that a person has to end by changing the DeployItem.
func Misconfigured(format string, args ...any) error {
	return protocol.Coded(fmt.Errorf(format, args...), v1alpha1.ErrorConfigurationProblem)
}

// ErrLostRace says that the object changed, came or went between read and write.
var ErrLostRace = errors.New("the object keeps changing")
