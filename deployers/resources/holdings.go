// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	helm "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	manifest "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// FindDeployItem reads live the metadata of the DeployItem that marks name: by its namespace and by its name as labels hold it. It returns nil
// when there is none.
func FindDeployItem(ctx context.Context, live crclient.Reader, namespace, label string) (*metav1.PartialObjectMetadata, error) {
	item := &metav1.PartialObjectMetadata{}
	item.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("DeployItem"))
	found, err := find(ctx, live, namespace, label, item, func() (map[string]string, error) { return longNames(ctx, live, namespace) })
	if !found {
		return nil, err
	}
	return item, nil
}

// find reads a DeployItem and reports whether there is one. Names returns those that labels hold shortened, by these labels.
func find(ctx context.Context, live crclient.Reader, namespace, label string, item crclient.Object, names func() (map[string]string, error)) (bool, error) {
	found, err := getNamed(ctx, live, namespace, label, item)
	if found || err != nil || len(label) < MaxLabelValue {
		return found, err
	}
	long, err := names()
	if err != nil || long[label] == "" {
		return false, err
	}
	return getNamed(ctx, live, namespace, long[label], item)
}

func getNamed(ctx context.Context, live crclient.Reader, namespace, name string, item crclient.Object) (bool, error) {
	err := live.Get(ctx, crclient.ObjectKey{Namespace: namespace, Name: name}, item)
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err):
		return false, nil
	}
	return false, fmt.Errorf("cannot read DeployItem %s of namespace %s: %w", name, namespace, err)
}

// longNames returns the names of the DeployItems of a namespace that labels hold shortened, by these labels.
func longNames(ctx context.Context, live crclient.Reader, namespace string) (map[string]string, error) {
	names := map[string]string{}
	err := target.Pages(math.MaxInt, func(limit int64, next string) (string, error) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("DeployItemList"))
		if err := live.List(ctx, list, crclient.InNamespace(namespace), crclient.Limit(limit), crclient.Continue(next)); err != nil {
			return "", fmt.Errorf("cannot list the DeployItems of namespace %s: %w", namespace, err)
		}
		if next == "" {
			clear(names)
		}
		for i := range list.Items {
			if name := list.Items[i].Name; len(name) > MaxLabelValue {
				names[LabelValue(name)] = name
			}
		}
		return list.Continue, nil
	})
	return names, err
}

// holding is what a DeployItem has a right to on targets.
type holding struct {
	// everything says that nothing is known to be free.
	everything bool
	// removes says that the DeployItem exists and deletes what it has let go of.
	removes bool
	// objects are those that it holds, and with the value false those that it neither holds nor deletes.
	objects map[Identity]bool
}

// has reports whether an object belongs to the holding.
func (h holding) has(object *unstructured.Unstructured) bool {
	return h.everything || h.objects[IdentityOf(ReferenceTo(object))]
}

// abandons reports whether an object is one that its DeployItem is going to delete unless somebody takes it over. Objects that are kept do not say
// who deletes them.
func (h holding) abandons(object *unstructured.Unstructured) bool {
	_, isKnown := h.objects[IdentityOf(ReferenceTo(object))]
	return h.removes && !isKnown && object.GetAnnotations()[OwnerUIDAnnotation] != ""
}

// add adds an object. Live objects of kinds without namespace have none, whatever the manifest says.
func (h holding) add(ref managedresource.ResourceReference, isHeld bool) {
	for range 2 {
		key := IdentityOf(ref)
		h.objects[key] = h.objects[key] || isHeld
		ref.Namespace = ""
	}
}

// holdingOf returns what a DeployItem holds; one that does not exist holds nothing. What its manifests no longer have, or leave alone, is free
// before a job has removed it, so that two items may swap objects whichever comes first: a deletion leaves what another item has taken. So one
// that is being deleted holds nothing either.
func holdingOf(item *v1alpha1.DeployItem) holding {
	switch {
	case item == nil:
		return holding{}
	case item.Spec.Type != v1alpha1.ManifestDeployItemType && item.Spec.Type != v1alpha1.HelmDeployItemType:
		return holding{everything: true}
	case !item.DeletionTimestamp.IsZero():
		return holding{removes: item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] != "true"}
	case item.Spec.Type == v1alpha1.ManifestDeployItemType:
		return manifestHolding(item)
	}
	return chartHolding(item)
}

func manifestHolding(item *v1alpha1.DeployItem) holding {
	if item.Spec.Configuration == nil {
		return holding{everything: true}
	}
	config, err := manifest.DecodeConfiguration(item.Spec.Configuration.Raw)
	if err != nil {
		return holding{everything: true}
	}
	desired, err := Expand(config.Manifests)
	if err != nil {
		return holding{everything: true}
	}
	held := holding{removes: true, objects: map[Identity]bool{}}
	for _, d := range desired {
		held.add(ReferenceTo(d.Object), d.Policy != managedresource.IgnorePolicy)
	}
	return held
}

// chartHolding goes by the record, because only a job knows what a chart renders. While a job is due or at work, everything may be in it.
func chartHolding(item *v1alpha1.DeployItem) holding {
	status := &item.Status
	isSettled := status.IsIdle() && status.Phase == v1alpha1.PhaseSucceeded && status.ObservedGeneration == item.Generation
	if !isSettled || status.ProviderStatus == nil {
		return holding{everything: true}
	}
	recorded, err := helm.DecodeStatus(status.ProviderStatus.Raw)
	if err != nil {
		return holding{everything: true}
	}
	held := holding{removes: true, objects: map[Identity]bool{}}
	for _, resource := range recorded.ManagedResources {
		held.add(resource.Resource, true)
	}
	if recorded.Inventory != nil {
		for _, site := range recorded.Inventory.Sites {
			for _, resource := range site.Resources {
				held.add(resource.Resource, true)
			}
		}
	}
	return held
}

// Holdings is what other DeployItems of the namespace hold. Each is read once in a call.
type holdings struct {
	session *Session
	known   sync.Map
	names   func() (map[string]string, error)
}

// NewHoldings prepares for questions of a session.
func newHoldings(ctx context.Context, s *Session) *holdings {
	return &holdings{session: s, names: sync.OnceValues(func() (map[string]string, error) { return longNames(ctx, s.DeployItems, s.Owner.Namespace) })}
}

// holdingBy returns what a DeployItem of the own namespace holds.
func (h *holdings) holdingBy(ctx context.Context, label string) (holding, error) {
	read, _ := h.known.LoadOrStore(label, sync.OnceValues(func() (holding, error) {
		item := &v1alpha1.DeployItem{}
		found, err := find(ctx, h.session.DeployItems, h.session.Owner.Namespace, label, item, h.names)
		if !found {
			item = nil
		}
		return holdingOf(item), err
	}))
	return read.(func() (holding, error))()
}

// Standing says whose a foreign object is and whether it is to be had.
type standing struct {
	// Owner for messages, with what a person may do to hand the object over.
	Owner, Handover string
	// Held says that the owner still has a right to the object, or that this cannot be found out.
	Held bool
	// Abandoned says that the owner is going to delete the object.
	Abandoned bool
	// Unknown says why the rest cannot be found out.
	Unknown error
}

// StandingOf finds out how a foreign object stands. DeployItems of other namespaces are not asked for: whoever can write marks could find out
// what other tenants have.
func (h *holdings) StandingOf(ctx context.Context, live *unstructured.Unstructured) standing {
	s := h.session
	if release, found := helm.ReleaseOn(live); found {
		by, err := s.RivalOf(ctx, s.Cluster, live, release)
		if by.Exists || err != nil {
			return ofRelease(release, by.Owner, err)
		}
	}
	label, namespace := live.GetLabels()[v1alpha1.ManifestDeployItemLabel], live.GetAnnotations()[OwnerNamespaceAnnotation]
	now := standing{Owner: "DeployItem " + label, Handover: "remove its label " + v1alpha1.ManifestDeployItemLabel + " to hand it over", Held: true}
	if namespace != "" {
		now.Owner += " of namespace " + namespace
	}
	switch {
	case label == "" && live.GetAnnotations()[OwnerUIDAnnotation] == "":
		return standing{} // of a release that is gone, or the own one
	case s.DeployItems == nil, label == "", namespace == "", namespace != s.Owner.Namespace:
		return now
	}
	by, err := h.holdingBy(ctx, label)
	now.Held, now.Abandoned, now.Unknown = err != nil || by.has(live), err == nil && by.abandons(live), err
	return now
}

// ofRelease is how an object of a Helm release stands. It stays there until the release is gone or does not carry it any more.
func ofRelease(release managedresource.ReleaseReference, owner string, unknown error) standing {
	now := standing{Owner: fmt.Sprintf("Helm release %s/%s", release.Namespace, release.Name), Held: true, Unknown: unknown}
	if owner != "" {
		now.Owner += " of " + owner
	}
	now.Handover = "remove its annotation " + helm.ReleaseNameAnnotation + " if the release left it behind"
	return now
}

// SuccessorOf finds another DeployItem of the namespace and the Target whose manifests have an object, with the policy that they give it.
func successorOf(ctx context.Context, siblings crclient.Reader, owner Owner, target string, live *unstructured.Unstructured) (*v1alpha1.DeployItem, managedresource.ManifestPolicy, error) {
	items := &v1alpha1.DeployItemList{}
	if err := siblings.List(ctx, items, crclient.InNamespace(owner.Namespace), crclient.UnsafeDisableDeepCopy); err != nil {
		return nil, "", fmt.Errorf("cannot list the DeployItems of namespace %s: %w", owner.Namespace, err)
	}
	for i := range items.Items {
		item := &items.Items[i]
		isCandidate := item.Name != owner.Item && item.Spec.Type == v1alpha1.ManifestDeployItemType && item.DeletionTimestamp.IsZero() &&
			item.Spec.Target != nil && item.Spec.Target.Name == target && item.Spec.Configuration != nil
		if !isCandidate || !bytes.Contains(item.Spec.Configuration.Raw, []byte(live.GetName())) {
			continue // most are told apart without being decoded
		}
		if policy := policyOf(item, live); policy != "" && policy != managedresource.IgnorePolicy {
			return item, policy, nil
		}
	}
	return nil, "", nil
}

// policyOf returns the policy that the manifests of a DeployItem give an object, empty if they do not have it or cannot be read.
func policyOf(item *v1alpha1.DeployItem, live *unstructured.Unstructured) managedresource.ManifestPolicy {
	config, err := manifest.DecodeConfiguration(item.Spec.Configuration.Raw)
	if err != nil {
		return ""
	}
	desired, err := Expand(config.Manifests)
	if err != nil {
		return ""
	}
	var policy managedresource.ManifestPolicy
	for _, d := range desired {
		ref := ReferenceTo(d.Object)
		if live.GetNamespace() == "" {
			ref.Namespace = ""
		}
		if IdentityOf(ref) == IdentityOf(ReferenceTo(live)) {
			policy = d.Policy
		}
	}
	return policy
}

// meetForeign takes an object over that its owner has let go of, and leaves any other alone. That is an error, because its owner may delete
// it at any time; policy keep, which never deletes, is content with an object that is as the manifest wants it.
func (w *writer) meetForeign(ctx context.Context, t task, live *unstructured.Unstructured) result {
	now := w.others.StandingOf(ctx, live)
	switch {
	case !now.Held:
		return w.write(ctx, t, live)
	case t.Policy == managedresource.KeepPolicy && sameContent(mergedWith(t.unmarked, live, true), live):
		return result{live: live, notOurs: true}
	}
	return result{notOurs: true, err: ofAnother(t.ref, now)}
}

// reasonOfAnother says that something on the target belongs to another DeployItem.
const reasonOfAnother = "ObjectOfAnother"

// ofAnother is the error about an object of another DeployItem. It passes when that one lets go of the object.
func ofAnother(ref managedresource.ResourceReference, now standing) error {
	text := fmt.Sprintf("cannot update %s: it belongs to %s; remove it there, give it the policy fallback here, or %s", ref, now.Owner, now.Handover)
	if now.Unknown != nil {
		text += " (" + now.Unknown.Error() + ")"
	}
	return &protocol.Failure{Kind: protocol.Retry, Reason: reasonOfAnother, Err: &ObjectFailure{Text: text}}
}

// standBack leaves an object alone that is not the owner's, unless it is about to be deleted: then it becomes the owner's. What is never to be
// updated only gets the marks.
func (w *writer) standBack(ctx context.Context, t task, live *unstructured.Unstructured, claim Claim) result {
	if claim != Foreign || !w.others.StandingOf(ctx, live).Abandoned {
		return result{live: live, notOurs: true}
	}
	if t.isUnchangeable() {
		t.Object = live.DeepCopy()
		w.owner.Mark(t.Object, t.Policy)
		merging := *w
		merging.strategy = managedresource.UpdateStrategyMergeOverwrite
		w = &merging
	}
	return w.write(ctx, t, live)
}

// leaveRelease takes the marks of a Helm release off an object that is being taken over. Those that the manifest has stay.
func leaveRelease(owner Owner, t task, next, live *unstructured.Unstructured) {
	if _, found := helm.ReleaseOn(live); !found || owner.Labelled(live) {
		return
	}
	if _, isWanted := t.unmarked.GetLabels()[helm.ManagedByLabel]; !isWanted && next.GetLabels()[helm.ManagedByLabel] == helm.ManagedByHelm {
		unstructured.RemoveNestedField(next.Object, "metadata", "labels", helm.ManagedByLabel)
	}
	for _, annotation := range []string{helm.ReleaseNameAnnotation, helm.ReleaseNamespaceAnnotation} {
		if _, isWanted := t.unmarked.GetAnnotations()[annotation]; !isWanted {
			unstructured.RemoveNestedField(next.Object, "metadata", "annotations", annotation)
		}
	}
}
