// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import "github.com/flux-landscaper/flux-landscaper/api/fault"

// Reason says why a source cannot be used; it is fit to be the reason of a condition.
type Reason string

// The reasons of Error.
const (
	// NotFound: the source object does not exist (yet).
	NotFound Reason = "SourceNotFound"
	// NotReady: the source has no artifact for its present spec (yet), or is being deleted.
	NotReady Reason = "SourceNotReady"
	// Stalled: the source itself waits for a person.
	Stalled Reason = "SourceStalled"
	// NotVerified: Flux has not verified the signature of the artifact, where that is required.
	NotVerified Reason = "SourceNotVerified"
	// AccessDenied: the reference crosses namespaces and the policy forbids that.
	AccessDenied Reason = "AccessDenied"
	// UnsupportedKind: the reference names no kind of source.
	UnsupportedKind Reason = "SourceKindUnsupported"
	// NotInstalled: the cluster does not serve the kind of the source.
	NotInstalled Reason = "SourceKindNotInstalled"
)

// Error says which source cannot be used, why, and what to do.
type Error struct {
	Reason Reason
	// Waiting is true if a change of the source object will end the problem, so that a watch is enough; false if a person
	// has to change the reference, the policy or the cluster.
	Waiting bool
	// Kind, Namespace and Name identify the source; Namespace is the effective one.
	Kind, Namespace, Name string
	// Problem is the fact, with the source's own message where it has one.
	Problem string
	// Cure is what a person can do.
	Cure string
}

// Error returns object, problem and cure as one sentence.
func (e *Error) Error() string {
	return "sourceRef " + describe(e.Kind, e.Namespace, e.Name) + ": " + e.Problem + "; " + e.Cure
}

// FaultKind returns Waiting or Stalled.
func (e *Error) FaultKind() fault.Kind {
	if e.Waiting {
		return fault.Waiting
	}
	return fault.Stalled
}

func describe(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }
