// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/manifest"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// FindDeployItem reads live the DeployItem that marks name: by its namespace and by its name as labels hold it. It returns nil when there is
// none.
func FindDeployItem(ctx context.Context, live crclient.Reader, namespace, label string) (*v1alpha1.DeployItem, error) {
	item := &v1alpha1.DeployItem{}
	err := live.Get(ctx, crclient.ObjectKey{Namespace: namespace, Name: label}, item)
	switch {
	case err == nil:
		return item, nil
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("cannot read DeployItem %s of namespace %s: %w", label, namespace, err)
	case len(label) < maxLabelValue:
		return nil, nil
	}
	list := &v1alpha1.DeployItemList{}
	if err := live.List(ctx, list, crclient.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the DeployItems of namespace %s: %w", namespace, err)
	}
	for i := range list.Items {
		if LabelValue(list.Items[i].Name) == label {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// holding is what a DeployItem has a right to on targets.
type holding struct {
	// everything says that nothing is known to be free.
	everything bool
	objects    map[identity]bool
}

// has reports whether an object belongs to the holding.
func (h holding) has(object *unstructured.Unstructured) bool {
	return h.everything || h.objects[identityOf(referenceTo(object))]
}

// add adds an object. Live objects of kinds without namespace have none, whatever the manifest says.
func (h holding) add(ref managedresource.ResourceReference) {
	h.objects[identityOf(ref)] = true
	ref.Namespace = ""
	h.objects[identityOf(ref)] = true
}

// holdingOf returns what a DeployItem holds; one that does not exist holds nothing. What its manifests no longer have, or leave alone, is free
// before a job has removed it, so that two items may swap objects whichever comes first: a deletion leaves what another item has taken.
func holdingOf(item *v1alpha1.DeployItem) holding {
	switch {
	case item == nil:
		return holding{}
	case item.Spec.Type == v1alpha1.ManifestDeployItemType:
		return manifestHolding(item)
	case item.Spec.Type == v1alpha1.HelmDeployItemType:
		return chartHolding(item)
	}
	return holding{everything: true}
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
	held := holding{objects: map[identity]bool{}}
	for _, d := range desired {
		if d.Policy != managedresource.IgnorePolicy {
			held.add(referenceTo(d.Object))
		}
	}
	return held
}

// chartHolding goes by the record, because only a job knows what a chart renders. While a job is due or at work, everything may be in it.
func chartHolding(item *v1alpha1.DeployItem) holding {
	status := &item.Status
	isSettled := status.IsIdle() && status.Phase == v1alpha1.PhaseSucceeded && status.ObservedGeneration == item.Generation
	if !isSettled || !item.DeletionTimestamp.IsZero() || status.ProviderStatus == nil {
		return holding{everything: true}
	}
	recorded, err := helm.DecodeStatus(status.ProviderStatus.Raw)
	if err != nil {
		return holding{everything: true}
	}
	held := holding{objects: map[identity]bool{}}
	for _, resource := range recorded.ManagedResources {
		held.add(resource.Resource)
	}
	if recorded.Inventory != nil {
		for _, site := range recorded.Inventory.Sites {
			for _, resource := range site.Resources {
				held.add(resource.Resource)
			}
		}
	}
	return held
}

// holdings is what other DeployItems hold, each once in a call of a deployer.
type holdings struct{ known sync.Map }

type ownerKey struct{ namespace, label string }

// isHeld reports whether the DeployItem that a foreign object names still holds it. It does where that cannot be found out.
func (s *Session) isHeld(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	owner := ownerKey{object.GetAnnotations()[OwnerNamespaceAnnotation], object.GetLabels()[v1alpha1.ManifestDeployItemLabel]}
	if s.DeployItems == nil || owner.namespace == "" || owner.label == "" {
		return true, nil
	}
	read, _ := s.holdings.known.LoadOrStore(owner, sync.OnceValues(func() (holding, error) {
		item, err := FindDeployItem(ctx, s.DeployItems, owner.namespace, owner.label)
		return holdingOf(item), err
	}))
	held, err := read.(func() (holding, error))()
	return err != nil || held.has(object), err
}

// meetForeign takes an object over that its owner has let go of, and leaves any other alone. That is an error, because its owner may delete
// it at any time; policy keep, which never deletes, is content with an object that is as the manifest wants it.
func (s *Session) meetForeign(ctx context.Context, t task, strategy managedresource.UpdateStrategy, live *unstructured.Unstructured) result {
	held, unknown := s.isHeld(ctx, live)
	switch {
	case !held:
		return s.write(ctx, t, strategy, live)
	case t.Policy == managedresource.KeepPolicy && same(merged(t.unmarked, live, true), live):
		return result{live: live, notOurs: true}
	}
	return result{notOurs: true, err: ofAnother(t.ref, live, unknown)}
}

// reasonOfAnother says that something on the target belongs to another DeployItem.
const reasonOfAnother = "ObjectOfAnother"

// ofAnother is the error about an object of another DeployItem. It passes when that one lets go of the object.
func ofAnother(ref managedresource.ResourceReference, live *unstructured.Unstructured, unknown error) error {
	text := fmt.Sprintf("cannot update %s: it belongs to %s; remove it there, give it the policy fallback here, or remove its label %s to hand it over",
		ref, nameOf(live), v1alpha1.ManifestDeployItemLabel)
	if unknown != nil {
		text += " (" + unknown.Error() + ")"
	}
	return &kit.Failure{Kind: kit.Retry, Reason: reasonOfAnother, Err: &failure{text: text}}
}
