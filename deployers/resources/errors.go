// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// failure is an error about one object. Its text is safe to show; the cause may not be.
type failure struct {
	text  string
	cause error
}

// Error returns the text.
func (f *failure) Error() string { return f.text }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.cause }

// objectError says that verb failed for an object. Rejected credentials get the code ERR_UNAUTHORIZED; everything else may
// heal and gets none. The content of refused objects stays out of the text.
func objectError(verb string, ref managedresource.ResourceReference, err error) error {
	if err == nil {
		return nil
	}
	wrapped := &failure{text: fmt.Sprintf("cannot %s %s: %s", verb, ref, target.ShownError(err)), cause: err}
	if isUnauthorized(err) {
		wrapped.text += "; give the credentials of the target the permission, or correct them"
		return kit.Coded(wrapped, v1alpha1.ErrorUnauthorized)
	}
	return wrapped
}

// isUnauthorized reports whether the credentials are at fault. Admission plug-ins answer 403 too (terminating namespaces, quotas,
// service accounts that are not there yet); those heal.
func isUnauthorized(err error) bool {
	if !apierrors.IsForbidden(err) {
		return apierrors.IsUnauthorized(err)
	}
	text := err.Error()
	return strings.Contains(text, `User "`) && strings.Contains(text, `" cannot `) ||
		strings.Contains(text, "attempting to grant RBAC permissions")
}

// unknownKind explains a kind that the target does not serve. It is worth another try: a CustomResourceDefinition may come.
func unknownKind(cluster, apiVersion, kind string, err error) error {
	return &failure{
		text: fmt.Sprintf("kind %s of apiVersion %s is not known to target %s; install its CustomResourceDefinition there, "+
			"or correct apiVersion and kind", kind, apiVersion, cluster),
		cause: err,
	}
}

// isGone reports whether an error says that an object, or its whole kind, does not exist. A target that does not find its own kinds says nothing.
func isGone(err error) bool {
	return !errors.Is(err, errUnanswered) && (apierrors.IsNotFound(err) || isNoMatch(err))
}

// isNoMatch also looks into wrapped errors, which meta.IsNoMatchError does not.
func isNoMatch(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if meta.IsNoMatchError(err) {
			return true
		}
	}
	return false
}

// misconfigured returns an error that a person has to end by changing the DeployItem.
func misconfigured(format string, args ...any) error {
	return kit.Coded(fmt.Errorf(format, args...), v1alpha1.ErrorConfigurationProblem)
}
