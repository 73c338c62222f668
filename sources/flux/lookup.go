// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	if meta.IsNoMatchError(err) {
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
