// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Limits of the requests to a target.
const (
	// Attempts bounds how often one call answers a lost race with another read.
	Attempts = 5
	// Parallel bounds the requests that one call has under way at a time.
	Parallel = 16
)

// Client returns the client for the objects of a kind in a namespace. The namespace of cluster-scoped kinds is ignored.
func Client(cluster *target.Cluster, kind ResourceKind, namespace string) dynamic.ResourceInterface {
	if kind.Namespaced {
		return cluster.Dynamic.Resource(kind.GVR).Namespace(namespace)
	}
	return cluster.Dynamic.Resource(kind.GVR)
}

// Watched names an object for contract.Outcome.Watch.
func Watched(cluster *target.Cluster, ref managedresource.ResourceReference) contract.Watched {
	return contract.Watched{Cluster: cluster, APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// ReferenceTo names an object together with its UID.
func ReferenceTo(object *unstructured.Unstructured) managedresource.ResourceReference {
	return managedresource.ResourceReference{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName(),
		Namespace: object.GetNamespace(), UID: object.GetUID(),
	}
}

// Answered returns a reference with the UID of the object that the target has answered, and its name where the API server chose it. Nothing else is kept
// of the answer.
func Answered(asked managedresource.ResourceReference, live *unstructured.Unstructured) managedresource.ResourceReference {
	asked.UID = live.GetUID()
	if asked.Name == "" {
		asked.Name = live.GetName()
	}
	if live.GetNamespace() == "" { // its kind has none, whatever the manifest says
		asked.Namespace = ""
	}
	return asked
}

// Preconditions tie a destructive call to the state that it was decided on.
func Preconditions(live *unstructured.Unstructured) *metav1.Preconditions {
	uid, version := types.UID(live.GetUID()), live.GetResourceVersion()
	return &metav1.Preconditions{UID: &uid, ResourceVersion: &version}
}

// Identity tells objects apart across versions of their kind.
type Identity struct {
	GroupKind       schema.GroupKind
	Namespace, Name string
}

// IdentityOf returns what tells a referenced object apart.
func IdentityOf(ref managedresource.ResourceReference) Identity {
	return Identity{GroupKind: GVKOf(ref).GroupKind(), Namespace: ref.Namespace, Name: ref.Name}
}

// GVKOf returns the kind of a reference.
func GVKOf(ref managedresource.ResourceReference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
}

// ReferenceOf returns a reference of the API as records write it, without UID.
func ReferenceOf(ref *v1alpha1.TypedObjectReference) managedresource.ResourceReference {
	return managedresource.ResourceReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, Namespace: ref.Namespace}
}

// HasCondition reports whether an object has a condition with a status.
func HasCondition(object *unstructured.Unstructured, kind, status string) bool {
	return Condition(object, kind)["status"] == status
}

// Condition returns the fields of a condition of an object, nil for none.
func Condition(object *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok && fields["type"] == kind {
			return fields
		}
	}
	return nil
}

// Each calls work for the indexes below count, several at a time, and waits for all. A panic of one goes on in the caller.
func Each(count int, work func(i int)) {
	var running errgroup.Group
	running.SetLimit(Parallel)
	for i := range count {
		running.Go(func() error {
			return fault.Survived(context.Background(), func() error {
				work(i)
				return nil
			})
		})
	}
	if err := running.Wait(); err != nil {
		panic(err)
	}
}

// CRDGroupKind is the kind that defines kinds.
var CRDGroupKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// ErrUnanswered is inside the error of a target that cannot be asked for its kinds.
var ErrUnanswered = errors.New("cannot learn the kinds of target")

// ResourceKind is how the API server serves a kind.
type ResourceKind struct {
	GVR        schema.GroupVersionResource
	Namespaced bool
}

// Lookup asks the target how it serves a kind. The error of an unknown kind satisfies isNoMatch.
func Lookup(ctx context.Context, cluster *target.Cluster, gvk schema.GroupVersionKind) (ResourceKind, error) {
	mapping, err := cluster.MapperFor(ctx).RESTMapping(gvk.GroupKind(), gvk.Version)
	if IsNoMatch(err) {
		return ResourceKind{}, unknownKind(cluster.Name, gvk.GroupVersion().String(), gvk.Kind, err)
	}
	if err != nil {
		return ResourceKind{}, fmt.Errorf("%w %s: %w", ErrUnanswered, cluster.Name, err)
	}
	return ResourceKind{GVR: mapping.Resource, Namespaced: mapping.Scope.Name() == "namespace"}, nil
}

// IsUnserved reports whether an answer says that the path is not served, and not that the object does not exist: the version of its kind, or the
// kind, may be gone since it was learnt, or something in the place of the API server does not know what it is asked for.
func IsUnserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// Served is how clusters serve kinds now, each asked for once in a call of a deployer.
type Served struct{ known sync.Map }

type servedKey struct {
	cluster *target.Cluster
	schema.GroupKind
}

// Anew asks the target how it serves a kind in any version, whatever is known from before. The error of a kind that no version has satisfies
// isNoMatch: objects of it do not exist.
func (s *Served) Anew(ctx context.Context, cluster *target.Cluster, kind schema.GroupKind) (ResourceKind, error) {
	read, _ := s.known.LoadOrStore(servedKey{cluster, kind}, sync.OnceValues(func() (ResourceKind, error) {
		found, err := servedIn(ctx, cluster, kind)
		if err != nil && !IsNoMatch(err) {
			return found, fmt.Errorf("%w %s: %w", ErrUnanswered, cluster.Name, err)
		}
		return found, err
	}))
	return read.(func() (ResourceKind, error))()
}

// OfAnyVersion is lookup for objects that may have been applied long ago, in a version that the target does not serve any more.
func (s *Served) OfAnyVersion(ctx context.Context, cluster *target.Cluster, gvk schema.GroupVersionKind) (ResourceKind, error) {
	kind, err := Lookup(ctx, cluster, gvk)
	if !IsNoMatch(err) {
		return kind, err
	}
	if kind, anew := s.Anew(ctx, cluster, gvk.GroupKind()); !IsNoMatch(anew) {
		return kind, anew
	}
	return kind, err
}

// versionKey is a version of a group on a cluster.
type versionKey struct {
	cluster *target.Cluster
	schema.GroupVersion
}

// InVersion asks the target whether it serves a kind in exactly this version, whatever is known from before. The versions of the core group do not go.
func (s *Served) InVersion(ctx context.Context, cluster *target.Cluster, gvk schema.GroupVersionKind) (bool, error) {
	if gvk.Group == "" {
		return true, nil
	}
	read, _ := s.known.LoadOrStore(versionKey{cluster, gvk.GroupVersion()}, sync.OnceValues(func() (*metav1.APIResourceList, error) {
		client, err := cluster.DiscoveryFor(ctx)
		if err != nil {
			return nil, err
		}
		resources, err := client.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("%w %s: %w", ErrUnanswered, cluster.Name, err)
		}
		return resources, nil
	}))
	resources, err := read.(func() (*metav1.APIResourceList, error))()
	_, isServed := resourceIn(resources, gvk)
	return isServed, err
}

func servedIn(ctx context.Context, cluster *target.Cluster, kind schema.GroupKind) (ResourceKind, error) {
	client, err := cluster.DiscoveryFor(ctx)
	if err != nil {
		return ResourceKind{}, err
	}
	groups, err := client.ServerGroups()
	if err != nil {
		return ResourceKind{}, err
	}
	for _, group := range groups.Groups {
		if group.Name != kind.Group {
			continue
		}
		for _, version := range group.Versions {
			resources, err := client.ServerResourcesForGroupVersion(version.GroupVersion)
			if err != nil && !apierrors.IsNotFound(err) {
				return ResourceKind{}, err
			}
			if found, isServed := resourceIn(resources, kind.WithVersion(version.Version)); isServed {
				return found, nil
			}
		}
	}
	return ResourceKind{}, &meta.NoKindMatchError{GroupKind: kind}
}

func resourceIn(resources *metav1.APIResourceList, gvk schema.GroupVersionKind) (ResourceKind, bool) {
	if resources == nil {
		return ResourceKind{}, false
	}
	for _, resource := range resources.APIResources {
		if resource.Kind == gvk.Kind && !strings.Contains(resource.Name, "/") {
			return ResourceKind{GVR: gvk.GroupVersion().WithResource(resource.Name), Namespaced: resource.Namespaced}, true
		}
	}
	return ResourceKind{}, false
}

// KindNamed returns the kind that a deletion group names, by kind or by plural resource name. Names that the target does not
// know are returned as they are.
func KindNamed(ctx context.Context, cluster *target.Cluster, apiVersion, name string) (schema.GroupVersionKind, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupVersionKind{}, Misconfigured("apiVersion %q is malformed: %w", apiVersion, err)
	}
	if name != "" && (name[0] < 'a' || name[0] > 'z') {
		return gv.WithKind(name), nil
	}
	gvk, err := cluster.MapperFor(ctx).KindFor(gv.WithResource(name))
	if IsNoMatch(err) {
		return gv.WithKind(name), nil
	}
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("%w %s: %w", ErrUnanswered, cluster.Name, err)
	}
	return gvk, nil
}

// IsCRD reports whether an object is a CustomResourceDefinition.
func IsCRD(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == CRDGroupKind
}

// Get reads one object live.
func (s *Served) Get(ctx context.Context, cluster *target.Cluster, ref managedresource.ResourceReference) (*unstructured.Unstructured, error) {
	kind, err := s.OfAnyVersion(ctx, cluster, GVKOf(ref))
	if err != nil {
		return nil, err
	}
	live, err := Client(cluster, kind, ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if IsUnserved(err) {
		if kind, err = s.Anew(ctx, cluster, GVKOf(ref).GroupKind()); err != nil {
			return nil, err
		}
		live, err = Client(cluster, kind, ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, ObjectError("read", ref, err)
	}
	return live, nil
}

// Failure is an error about one object. Its text is safe to show; the cause may not be.
type ObjectFailure struct {
	Text  string
	Cause error
}

// Error returns the text.
func (f *ObjectFailure) Error() string { return f.Text }

// Unwrap returns the cause.
func (f *ObjectFailure) Unwrap() error { return f.Cause }

// ObjectError says that verb failed for an object. Rejected credentials get the code ERR_UNAUTHORIZED, and what the API server refuses as often as it is
// asked ERR_CONFIGURATION_PROBLEM; everything else may heal and gets none. The content of refused objects stays out of the text.
func ObjectError(verb string, ref managedresource.ResourceReference, err error) error {
	if err == nil {
		return nil
	}
	wrapped := &ObjectFailure{Text: fmt.Sprintf("cannot %s %s: %s", verb, ref, target.ShownError(err)), Cause: err}
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
	return &ObjectFailure{Text: err.Error(), Cause: answer}
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
	return &ObjectFailure{
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
