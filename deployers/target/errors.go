// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
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
	return errors.Is(err, egress.ErrLarge) || errors.Is(err, egress.ErrRedirect) || errors.Is(err, errForeign) || errors.Is(err, egress.ErrPrivate)
}

// maxQuote is from how many bytes on a value that an API server quotes is left out: it is a whole object, and may be one that somebody else wrote.
const maxQuote = 200

// noValue stands for a value that is left out.
const noValue = `Invalid value: "…"`

// quoted is a value that an API server refuses, as it quotes it.
var quoted = regexp.MustCompile(`(?:Invalid|Unsupported|Duplicate) value: ` + anyValue)

// anyValue is a text in quotes, JSON, or a number.
const anyValue = `(?:"(?:[^"\\]|\\.)*"|[{\[](?:"(?:[^"\\]|\\.)*"|[^"\s])*[}\]]|[^\s":{\[,\]]+)`

// repeated are other words of API servers that quote values: what a type does not take, and keys that elements of a list have in common.
var repeated = regexp.MustCompile(`(parsing time|cannot parse|of type [\w-]+:) "(?:[^"\\]|\\.)*"|(duplicate entries for key) \[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\]`)

// quotedOf is such a value with its field, and whether it is wrong, none of those that there are, or there twice.
var quotedOf = regexp.MustCompile(`([^\s\[]+): (Invalid|Unsupported|Duplicate) value: ` + anyValue)

// secretKind finds out from the words of clients and API servers that an error is about a Secret.
var secretKind = regexp.MustCompile(`\b(?:kind|as a) "?Secret\b|\bSecret "|\bsecrets "`)

// excerpt is where a JSON decoder begins to show what surrounds the place that it could not read.
var excerpt = regexp.MustCompile(`(?s)error found in #.*`)

// ShownError returns the text of an error about an object, as it may be shown. API servers quote what they refuse: of that only names, labels and
// annotations are shown, and of Secrets nothing. It also looks into the text, because Helm joins the words of errors and drops the errors.
func ShownError(err error) string {
	var status apierrors.APIStatus
	text := repeated.ReplaceAllString(err.Error(), `$1$2 "…"`)
	if !AboutSecret(err) {
		return quoted.ReplaceAllStringFunc(quotedOf.ReplaceAllStringFunc(text, ofMetadata), func(quote string) string {
			if len(quote) < maxQuote {
				return quote
			}
			return noValue
		})
	}
	if !errors.As(err, &status) {
		return excerpt.ReplaceAllString(quoted.ReplaceAllString(text, noValue), "…")
	}
	before, _, found := strings.Cut(text, status.Status().Message)
	if !found || status.Status().Message == "" {
		before = ""
	}
	return before + refusedSecret(status.Status())
}

// AboutSecret reports whether an API server has refused a Secret, so that nothing else that tells of it may be shown either.
func AboutSecret(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return secretKind.MatchString(err.Error())
	}
	details := status.Status().Details
	isOfSecret := details != nil && (details.Kind == "Secret" || details.Kind == "secrets") || secretKind.MatchString(err.Error())
	return isOfSecret && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err))
}

// ofMetadata returns the value of a field as it is where that is of the metadata of an object, and the field without it elsewhere: any other may be a
// password, as of an account in a resource of others.
func ofMetadata(quote string) string {
	parts := quotedOf.FindStringSubmatch(quote)
	if field := parts[1]; strings.HasPrefix(field, "metadata.") || strings.Contains(field, ".metadata.") {
		return quote
	}
	return parts[1] + ": " + parts[2] + ` value: "…"`
}

// refusedSecret says of a refused Secret what is wrong without what is in it.
func refusedSecret(answer metav1.Status) string {
	text, joint := "the server answers "+string(answer.Reason), " for "
	if answer.Details != nil {
		for _, cause := range answer.Details.Causes {
			text, joint = text+joint+cause.Field, ", "
		}
	}
	return text + "; correct the fields (data has to be base64, stringData text)"
}
