// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

var artifact = &fluxmeta.Artifact{URL: "http://source/x.tar.gz", Digest: "sha256:abc", Revision: "main@sha1:def"}

func object(kind string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: strings.ToLower(kind), Generation: 3}
}

// ready returns a usable source of each kind.
func ready() map[string]Object {
	return map[string]Object{
		"GitRepository": &sourcev1.GitRepository{ObjectMeta: object("GitRepository"),
			Status: sourcev1.GitRepositoryStatus{ObservedGeneration: 3, Artifact: artifact}},
		"OCIRepository": &sourcev1.OCIRepository{ObjectMeta: object("OCIRepository"),
			Status: sourcev1.OCIRepositoryStatus{ObservedGeneration: 3, Artifact: artifact}},
		"Bucket": &sourcev1.Bucket{ObjectMeta: object("Bucket"),
			Status: sourcev1.BucketStatus{ObservedGeneration: 3, Artifact: artifact}},
		"HelmChart": &sourcev1.HelmChart{ObjectMeta: object("HelmChart"),
			Status: sourcev1.HelmChartStatus{ObservedGeneration: 3, Artifact: artifact}},
		"ExternalArtifact": &sourcev1.ExternalArtifact{ObjectMeta: object("ExternalArtifact"),
			Status: sourcev1.ExternalArtifactStatus{Artifact: artifact}},
	}
}

func scheme(t *testing.T) *runtime.Scheme {
	s := runtime.NewScheme()
	require.NoError(t, AddToScheme(s))
	return s
}

func reader(t *testing.T, objects ...client.Object) client.Client {
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()
}

// failing is a reader whose Get fails with err.
func failing(t *testing.T, err error) client.Reader {
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		},
	}).Build()
}

func ref(kind string) v1alpha1.SourceReference {
	return v1alpha1.SourceReference{Kind: kind, Name: strings.ToLower(kind)}
}

func TestLookupFindsEveryKind(t *testing.T) {
	for kind, o := range ready() {
		t.Run(kind, func(t *testing.T) {
			found, err := Lookup(context.Background(), reader(t, o), "default", ref(kind), Policy{NoCrossNamespaceRefs: true})
			require.NoError(t, err)
			require.Equal(t, o.GetName(), found.Object.GetName())
			found.Object = nil
			require.Equal(t, Source{Kind: kind, Namespace: "default", Name: strings.ToLower(kind),
				Revision: artifact.Revision, Digest: artifact.Digest, URL: artifact.URL}, found)
		})
	}
}

func TestReadyMapCoversEveryKind(t *testing.T) {
	require.Len(t, ready(), len(Kinds()))
	for _, kind := range Kinds() {
		require.Contains(t, ready(), kind)
	}
}

func TestLookupAcceptsTheNamespaceAndVersionWritten(t *testing.T) {
	for name, r := range map[string]v1alpha1.SourceReference{
		"own namespace": {Kind: "Bucket", Name: "bucket", Namespace: "default"},
		"v1":            {Kind: "Bucket", Name: "bucket", APIVersion: "source.toolkit.fluxcd.io/v1"},
		"older version": {Kind: "Bucket", Name: "bucket", APIVersion: "source.toolkit.fluxcd.io/v1beta2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Lookup(context.Background(), reader(t, ready()["Bucket"]), "default", r, Policy{NoCrossNamespaceRefs: true})
			require.NoError(t, err)
		})
	}
}

func TestLookupRefusesReferences(t *testing.T) {
	for name, tc := range map[string]struct {
		ref    v1alpha1.SourceReference
		reason Reason
		says   string
	}{
		"other namespace": {v1alpha1.SourceReference{Kind: "Bucket", Name: "bucket", Namespace: "other"}, AccessDenied, "--no-cross-namespace-refs=false"},
		"unknown kind":    {v1alpha1.SourceReference{Kind: "HelmRepository", Name: "r"}, UnsupportedKind, "use one of GitRepository, OCIRepository"},
		"other group":     {v1alpha1.SourceReference{Kind: "Bucket", Name: "b", APIVersion: "example.com/v1"}, UnsupportedKind, "source.toolkit.fluxcd.io/v1"},
		"bad apiVersion":  {v1alpha1.SourceReference{Kind: "Bucket", Name: "b", APIVersion: "a/b/c"}, UnsupportedKind, `apiVersion "a/b/c"`},
	} {
		t.Run(name, func(t *testing.T) {
			unread := failing(t, errors.New("must not be read"))
			_, err := Lookup(context.Background(), unread, "default", tc.ref, Policy{NoCrossNamespaceRefs: true})
			requireReason(t, err, tc.reason, false)
			require.ErrorContains(t, err, tc.says)
		})
	}
}

func TestLookupCrossesNamespacesWhereAllowed(t *testing.T) {
	r := ref("GitRepository")
	r.Namespace = "default"
	found, err := Lookup(context.Background(), reader(t, ready()["GitRepository"]), "team-a", r, Policy{})
	require.NoError(t, err)
	require.Equal(t, "GitRepository default/gitrepository", found.String())
}

func requireReason(t *testing.T, err error, reason Reason, waiting bool) {
	var typed *Error
	require.ErrorAs(t, err, &typed)
	require.Equal(t, reason, typed.Reason)
	require.Equal(t, waiting, typed.Waiting)
}

func TestLookupWaitsForUnusableSources(t *testing.T) {
	git := func(change func(*sourcev1.GitRepository)) Object {
		o := ready()["GitRepository"].(*sourcev1.GitRepository)
		change(o)
		return o
	}
	condition := func(kind, status, message string) []metav1.Condition {
		return []metav1.Condition{{Type: kind, Status: metav1.ConditionStatus(status), Message: message}}
	}
	for name, tc := range map[string]struct {
		source Object
		reason Reason
		says   string
	}{
		"no artifact": {git(func(o *sourcev1.GitRepository) {
			o.Status.Artifact, o.Status.Conditions = nil, condition("Ready", "False", "authentication required")
		}), NotReady, `it has no artifact yet: "authentication required"`},
		"new":                    {git(func(o *sourcev1.GitRepository) { o.Status = sourcev1.GitRepositoryStatus{ObservedGeneration: -1} }), NotReady, "latest change is not reconciled"},
		"no artifact and silent": {git(func(o *sourcev1.GitRepository) { o.Status.Artifact = nil }), NotReady, "its status gives no reason"},
		"never succeeded": {git(func(o *sourcev1.GitRepository) {
			o.Status = sourcev1.GitRepositoryStatus{ObservedGeneration: -1}
			conditions.MarkTrue(o, sourcev1.FetchFailedCondition, "Failed", "the repository is empty")
			conditions.MarkUnknown(o, fluxmeta.ReadyCondition, "Progressing", "trying again")
		}), NotReady, "the repository is empty"},
		"older generation": {git(func(o *sourcev1.GitRepository) { o.Generation++ }), NotReady, "latest change is not reconciled"},
		"suspended":        {git(func(o *sourcev1.GitRepository) { o.Status.Artifact, o.Spec.Suspend = nil, true }), NotReady, "it is suspended; resume it"},
		"stalled": {git(func(o *sourcev1.GitRepository) {
			o.Status.Conditions = condition("Stalled", "True", "URL is invalid")
		}), Stalled, `it is stalled: "URL is invalid"`},
		"external without artifact": {&sourcev1.ExternalArtifact{ObjectMeta: object("GitRepository")}, NotReady, "it has no artifact yet"},
	} {
		t.Run(name, func(t *testing.T) {
			k, _ := kindOf(tc.source)
			_, err := Lookup(context.Background(), reader(t, tc.source), "default",
				v1alpha1.SourceReference{Kind: k.name, Name: tc.source.GetName()}, Policy{})
			requireReason(t, err, tc.reason, true)
			require.ErrorContains(t, err, "sourceRef "+k.name+" default/gitrepository: ")
			require.ErrorContains(t, err, tc.says)
		})
	}
}

func TestLookupUsesTheArtifactOfASourceThatFailedItsLastAttempt(t *testing.T) {
	o := ready()["GitRepository"].(*sourcev1.GitRepository)
	o.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Message: "timeout"}}
	found, err := Lookup(context.Background(), reader(t, o), "default", ref("GitRepository"), Policy{})
	require.NoError(t, err)
	require.Equal(t, artifact.Revision, found.Revision)
}

func TestLookupWaitsForADeletedSource(t *testing.T) {
	o := ready()["GitRepository"]
	o.(client.Object).SetFinalizers([]string{"finalizers.fluxcd.io"})
	c := reader(t, o)
	require.NoError(t, c.Delete(context.Background(), o))
	_, err := Lookup(context.Background(), c, "default", ref("GitRepository"), Policy{})
	requireReason(t, err, NotReady, true)
	require.ErrorContains(t, err, "is being deleted")
}

func TestLookupWaitsForAMissingSource(t *testing.T) {
	_, err := Lookup(context.Background(), reader(t), "default", ref("Bucket"), Policy{})
	requireReason(t, err, NotFound, true)
	require.EqualError(t, err, "sourceRef Bucket default/bucket: it does not exist; waiting for it to be made")
}

func TestLookupNamesAKindThatIsNotInstalled(t *testing.T) {
	noMatch := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: sourcev1.GroupVersion.Group, Kind: "x"}}
	for kind, says := range map[string]string{
		"GitRepository":    "install Flux's source-controller",
		"ExternalArtifact": "feature gate ExternalArtifact",
	} {
		t.Run(kind, func(t *testing.T) {
			_, err := Lookup(context.Background(), failing(t, noMatch), "default", ref(kind), Policy{})
			requireReason(t, err, NotInstalled, false)
			require.ErrorContains(t, err, says)
		})
	}
}

// A client that asks a real server for a kind it does not serve gets a plain 404 page, not a Status.
func TestLookupTellsAMissingKindFromAMissingObject(t *testing.T) {
	for name, tc := range map[string]struct {
		serve  http.HandlerFunc
		reason Reason
	}{
		"kind": {http.NotFound, NotInstalled},
		"object": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			gr := schema.GroupResource{Group: sourcev1.GroupVersion.Group, Resource: "buckets"}
			status := apierrors.NewNotFound(gr, "bucket").Status()
			status.APIVersion, status.Kind = "v1", "Status"
			_ = json.NewEncoder(w).Encode(status)
		}, NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(tc.serve)
			defer srv.Close()
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(sourcev1.GroupVersion.WithKind("Bucket"), meta.RESTScopeNamespace)
			c, err := client.New(&rest.Config{Host: srv.URL}, client.Options{Scheme: scheme(t), Mapper: mapper})
			require.NoError(t, err)
			_, err = Lookup(context.Background(), c, "default", ref("Bucket"), Policy{})
			var typed *Error
			require.ErrorAs(t, err, &typed)
			require.Equal(t, tc.reason, typed.Reason)
		})
	}
}

func TestLookupPassesOtherErrorsOn(t *testing.T) {
	cause := apierrors.NewTooManyRequests("busy", 1)
	_, err := Lookup(context.Background(), failing(t, cause), "default", ref("Bucket"), Policy{})
	var typed *Error
	require.NotErrorAs(t, err, &typed)
	require.ErrorIs(t, err, cause)
	require.ErrorContains(t, err, "read Bucket default/bucket")
}

func TestMessagesNeverShowTheURL(t *testing.T) {
	o := ready()["GitRepository"].(*sourcev1.GitRepository)
	o.Spec.URL = "https://user:secret@git.example.com"
	o.Generation++
	_, err := Lookup(context.Background(), reader(t, o), "default", ref("GitRepository"), Policy{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
	require.NotContains(t, err.Error(), artifact.URL)
}
