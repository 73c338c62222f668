// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/address"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// Reasons of Error.
const (
	// ReasonNotFound says that the Target does not exist.
	ReasonNotFound = "NoTargetFound"
	// ReasonContentMissing says that the Secret with the content, or its key, does not exist (yet).
	ReasonContentMissing = "TargetContentNotFound"
	// ReasonInvalid says that the Target has to be changed by a person.
	ReasonInvalid = "InvalidTarget"
	// ReasonTokenRequest says that the landscaper cluster issued no token for the ServiceAccount of the Target.
	ReasonTokenRequest = "TokenRequestFailed"
	// ReasonNoTokens says that this process requests no tokens, which the Target needs.
	ReasonNoTokens = "TokensNotAllowed"
	// ReasonUnreachable says that nothing answers at the address of the cluster.
	ReasonUnreachable = "ClusterUnreachable"
	// ReasonHostNotFound says that the name of the cluster does not exist in DNS.
	ReasonHostNotFound = "HostNotFound"
	// ReasonTimeout says that the cluster did not answer in time.
	ReasonTimeout = "ClusterTimeout"
	// ReasonCertificate says that the certificate of the cluster is not to be trusted.
	ReasonCertificate = "CertificateNotTrusted"
	// ReasonRefused says that the cluster refuses the credentials.
	ReasonRefused = "CredentialsRefused"
	// ReasonNoServer says that what answers is no usable API server.
	ReasonNoServer = "NoAPIServer"
)

// Error is why a Target cannot be opened. Its text names the Target, the field and the cure, and holds no content of Secrets.
type Error struct {
	// Reason is one of the Reason constants.
	Reason string
	// Codes classify the error; a Target that a person has to change carries ERR_CONFIGURATION_PROBLEM.
	Codes []v1alpha1.ErrorCode

	message string
	cause   error
}

// Error returns the message.
func (e *Error) Error() string { return e.message }

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.cause }

func notFound(namespace, name string, cause error) error {
	return &Error{
		Reason: ReasonNotFound, cause: cause,
		message: fmt.Sprintf("Target %q does not exist in namespace %q; create it, or name an existing one in spec.target.name", name, namespace),
	}
}

func contentMissing(cause error, format string, args ...any) error {
	return &Error{Reason: ReasonContentMissing, cause: cause, message: fmt.Sprintf(format, args...)}
}

// refusal is a problem inside the content of a Target; Open adds which Target it is.
type refusal struct {
	field, problem, cure string
}

// Error returns field, problem and cure in one sentence.
func (r *refusal) Error() string {
	return fmt.Sprintf("%s %s; %s", r.field, r.problem, r.cure)
}

func refuse(field, problem, cure string) error {
	return &refusal{field: field, problem: problem, cure: cure}
}

func invalid(target *v1alpha1.Target, cause error) error {
	return &Error{
		Reason: ReasonInvalid, Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, cause: cause,
		message: fmt.Sprintf("Target %q in namespace %q cannot be used: %s", v1alpha1.OriginalName(target), target.Namespace, cause),
	}
}

var lineNumber = regexp.MustCompile(`line [0-9]+`)

// where returns the place that a parser complains about. The rest of such messages may quote credentials.
func where(err error) string {
	if line := lineNumber.FindString(err.Error()); line != "" {
		return " (" + line + ")"
	}
	return ""
}

// IsUnusable reports whether a request failed because of what the server is, so that only another Target or another server helps.
func IsUnusable(err error) bool {
	return errors.Is(err, egress.ErrLarge) || errors.Is(err, egress.ErrRedirect) || errors.Is(err, errForeign) || errors.Is(err, address.ErrPrivate)
}
