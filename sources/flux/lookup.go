// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
)

// Policy is what the operator of the cluster allows.
type Policy struct {
	// NoCrossNamespaceRefs forbids a reference to a source in another namespace than that of the referring object.
	NoCrossNamespaceRefs bool
	// RequireVerified refuses sources that Flux has not verified.
	RequireVerified bool
}

// Source is a source whose artifact may be used.
type Source struct {
	// Kind, Namespace and Name identify the source object.
	Kind, Namespace, Name string
	// Revision is the human-readable revision, such as "main@sha1:…" or "1.2.0@sha256:…".
	Revision string
	// Digest is the digest of the bytes behind URL; it may be empty where a source does not record it.
	Digest string
	// URL is where the artifact is downloaded. It is no part of any message.
	URL string
	// Object is the source object as it was read; it must not be changed.
	Object client.Object
}

// String names the source, for instance "OCIRepository default/shop".
func (s Source) String() string { return describe(s.Kind, s.Namespace, s.Name) }

// Status is what a status says about the source, without a digest of what is used of it.
func (s Source) Status() v1alpha1.SourceStatus {
	return v1alpha1.SourceStatus{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name, Revision: s.Revision, Digest: s.Digest, Verified: s.Verified()}
}

// Lookup reads the source that ref names for an object in namespace owner, and returns its artifact's coordinates. The
// error is an *Error if the source cannot be used, and any other error if the API server could not be asked.
func Lookup(ctx context.Context, r client.Reader, owner string, ref v1alpha1.SourceReference, p Policy) (Source, error) {
	namespace := namespaceOf(owner, ref)
	k, err := check(owner, namespace, ref, p)
	if err != nil {
		return Source{}, err
	}
	o := k.blank()
	if err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, o); err != nil {
		return Source{}, unread(k, namespace, ref.Name, err)
	}
	if err := judge(k, o); err != nil {
		return Source{}, err
	}
	a := o.GetArtifact()
	found := Source{
		Kind: k.name, Namespace: namespace, Name: ref.Name,
		Revision: a.Revision, Digest: a.Digest, URL: a.URL, Object: o,
	}
	if p.RequireVerified {
		return found, found.RequireVerified()
	}
	return found, nil
}

// Finder returns Lookup with a reader and a policy.
func Finder(reader client.Reader, p Policy) func(context.Context, string, v1alpha1.SourceReference) (Source, error) {
	return func(ctx context.Context, namespace string, ref v1alpha1.SourceReference) (Source, error) {
		return Lookup(ctx, reader, namespace, ref, p)
	}
}

// Artifact is what the source offers now.
func (s Source) Artifact() fetch.Artifact {
	return fetch.Artifact{URL: s.URL, Digest: s.Digest, Revision: s.Revision, Source: s.String()}
}

func namespaceOf(owner string, ref v1alpha1.SourceReference) string {
	if ref.Namespace == "" {
		return owner
	}
	return ref.Namespace
}

// check decides, without reading anything, whether the reference may be followed.
func check(owner, namespace string, ref v1alpha1.SourceReference, p Policy) (kind, error) {
	k, known := kindNamed(ref.Kind)
	fail := func(reason Reason, problem, cure string) (kind, error) {
		return kind{}, &Error{reason, false, ref.Kind, namespace, ref.Name, problem, cure}
	}
	switch {
	case !known:
		return fail(UnsupportedKind, fmt.Sprintf("kind %q is not a kind of source", ref.Kind), "use one of "+strings.Join(Kinds(), ", "))
	case !ourGroup(ref.APIVersion):
		return fail(UnsupportedKind, fmt.Sprintf("apiVersion %q is not that of a source", ref.APIVersion),
			"leave apiVersion out or use "+sourcev1.GroupVersion.String())
	case p.NoCrossNamespaceRefs && namespace != owner:
		return fail(AccessDenied, fmt.Sprintf("it lies in another namespace than %q, which refers to it", owner),
			"make the source in the own namespace, or let the operator allow it with --no-cross-namespace-refs=false")
	}
	return k, nil
}

// ourGroup accepts every version of the source API: the object is read in the version that we know.
func ourGroup(apiVersion string) bool {
	gv, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && (gv.Empty() || gv.Group == sourcev1.GroupVersion.Group)
}

// unread explains why the object could not be read.
func unread(k kind, namespace, name string, err error) error {
	switch {
	case kindMissing(err):
		return &Error{NotInstalled, false, k.name, namespace, name, "the cluster does not serve this kind", installCure(k)}
	case apierrors.IsNotFound(err):
		return &Error{NotFound, true, k.name, namespace, name, "it does not exist", "waiting for it to be made"}
	}
	return fmt.Errorf("read %s: %w", describe(k.name, namespace, name), err)
}

// kindMissing tells a kind that the API server does not serve from an object that does not exist.
func kindMissing(err error) bool {
	if apimeta.IsNoMatchError(err) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsNotFound(err) {
		return false
	}
	details := status.Status().Details
	return details != nil && slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeUnexpectedServerResponse
	})
}

func installCure(k kind) string {
	const install = "install Flux's source-controller and restart this controller"
	if k.name == sourcev1.ExternalArtifactKind {
		return install + "; this kind needs Flux 2.7 or later, and the feature gate ExternalArtifact in Flux's own controllers"
	}
	return install
}

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

// judge returns nil if the artifact of o may be used: the status speaks of the present spec, the source is not stalled and
// has an artifact. A source that merely failed its last attempt keeps serving what it has.
func judge(k kind, o Object) error {
	wait := func(reason Reason, problem, cure string) error {
		return &Error{reason, true, k.name, o.GetNamespace(), o.GetName(), problem, cure}
	}
	switch {
	case !o.GetDeletionTimestamp().IsZero():
		return wait(NotReady, "it is being deleted", "make it again or refer to another source")
	case k.observed != nil && conditions.IsStalled(o):
		return wait(Stalled, "it is stalled: "+ownMessage(o, meta.StalledCondition), "correct the source")
	case k.observed != nil && k.observed(o) != o.GetGeneration():
		return wait(NotReady, "its latest change is not reconciled yet"+failure(o)+hint(k, o), "waiting for its status")
	case o.GetArtifact() == nil:
		return wait(NotReady, "it has no artifact yet: "+ownMessage(o, meta.ReadyCondition)+hint(k, o), "waiting for its artifact")
	}
	return nil
}

// ownMessage is what the source itself says.
func ownMessage(o Object, condition string) string {
	if message := conditions.GetMessage(o, condition); message != "" {
		return fmt.Sprintf("%q", message)
	}
	return "its status gives no reason"
}

// failures are the conditions of sources that stay from a failure until the next success, so that retries in between do not show.
var failures = []string{
	sourcev1.FetchFailedCondition, sourcev1.BuildFailedCondition, sourcev1.StorageOperationFailedCondition,
}

// failure is what the source says about failing at its present spec: it observes a generation only once it has succeeded with it.
func failure(o Object) string {
	for _, condition := range failures {
		found := conditions.Get(o, condition)
		if found != nil && found.Status == metav1.ConditionTrue && found.ObservedGeneration == o.GetGeneration() {
			return ": " + ownMessage(o, condition)
		}
	}
	return ""
}

// hint names the one state that a person set and that would let everybody wait for ever.
func hint(k kind, o Object) string {
	if k.suspended == nil || !k.suspended(o) {
		return ""
	}
	return " (it is suspended; resume it)"
}

// Verified reports whether Flux has verified the signature of the artifact: the source asks for it in spec.verify, and its condition
// SourceVerified is True for its present spec.
func (s Source) Verified() bool {
	o, ok := s.Object.(Object)
	if !ok || !asksForVerification(o) {
		return false
	}
	found := conditions.Get(o, sourcev1.SourceVerifiedCondition)
	return found != nil && found.Status == metav1.ConditionTrue && found.ObservedGeneration == o.GetGeneration()
}

// RequireVerified returns nil if the artifact is verified, and else an *Error that names the cure.
func (s Source) RequireVerified() error {
	o, ok := s.Object.(Object)
	switch {
	case s.Verified():
		return nil
	case !ok || !asksForVerification(o):
		return &Error{NotVerified, false, s.Kind, s.Namespace, s.Name, "Context or operator require sources that Flux has verified, and it has no " +
			"spec.verify", "set spec.verify, or use a GitRepository or OCIRepository, which have it"}
	}
	problem := "Flux has not verified it: " + ownMessage(o, sourcev1.SourceVerifiedCondition)
	return &Error{NotVerified, true, s.Kind, s.Namespace, s.Name, problem, "sign what it refers to, or correct its spec.verify"}
}

func asksForVerification(o Object) bool {
	switch source := o.(type) {
	case *sourcev1.GitRepository:
		return source.Spec.Verification != nil
	case *sourcev1.OCIRepository:
		return source.Spec.Verify != nil
	case *sourcev1.HelmChart:
		return source.Spec.Verify != nil
	}
	return false
}
