// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// maxInventory is how many objects of a release are recorded.
	maxInventory = 5000
	// rememberedObjects is for how many items the objects of the last job are known.
	rememberedObjects = 4096
)

var _ contract.DriftDetector = &deployer{}

// DriftDetection returns the field driftDetection of the configuration.
func (d *deployer) DriftDetection(item *v1alpha1.DeployItem) (*managedresource.DriftDetection, error) {
	return contract.DriftModeIn(item.Spec.Configuration)
}

// Deployed returns the inventory of the release, or the managed resources where there is none. Releases of jobs that recorded no inventory are
// not watched before the next job.
func (d *deployer) Deployed(item *v1alpha1.DeployItem) (contract.Deployed, error) {
	status, err := helmv1alpha1.DecodeStatus(providerStatus(item))
	if err != nil {
		return contract.Deployed{}, err
	}
	if status.Release == nil {
		return contract.Deployed{
			Selector: v1alpha1.ManifestDeployItemLabel, Managers: []string{resources.FieldManager}, Objects: resources.References(status.ManagedResources),
		}, nil
	}
	return contract.Deployed{
		Selector: helmv1alpha1.ManagedByLabel + "=" + helmv1alpha1.ManagedByHelm, Managers: []string{engine.FieldManager, resources.FieldManager},
		Objects: referencesIn(status.Release.Inventory), Merged: true,
	}, nil
}

// FindDrift compares the release, or the objects of the chart, with the target.
func (d *deployer) FindDrift(ctx context.Context, item *contract.Item, search contract.DriftSearch) ([]contract.Drift, error) {
	j, err := d.begin(item)
	if err != nil {
		return nil, err
	}
	ctx, end := d.engine.Session(engine.OnWait(ctx, item.Waits))
	defer end()
	options := resources.DriftOptions{DriftSearch: search, DefaultNamespace: j.config.Namespace}
	if j.config.DriftDetection != nil {
		options.Ignore = j.config.DriftDetection.Ignore
	}
	if j.config.IsHelmDeployment() != (j.status.Release != nil) {
		return nil, contract.ErrNoVerdict
	}
	if j.config.IsHelmDeployment() {
		return j.releaseDrift(ctx, options)
	}
	return j.objectDrift(ctx, options)
}

// releaseDrift compares with the revision that the last job made, as it is recorded on the target.
func (j *job) releaseDrift(ctx context.Context, options resources.DriftOptions) ([]contract.Drift, error) {
	deployed := j.status.Release
	last, err := j.engine.Last(ctx, j.item.Target, deployed.Namespace, deployed.Name)
	if err != nil {
		return nil, err
	}
	record := j.engine.RecordOf(deployed.Namespace, deployed.Name, deployed.Revision)
	if last == nil {
		return j.lostDrift(ctx, record, options.Objects), nil
	}
	if last.Revision != deployed.Revision || last.Status != engine.StatusDeployed {
		return nil, contract.ErrNoVerdict
	}
	parsed, err := engine.ParseManifest(last.Manifest)
	if err != nil {
		return nil, err
	}
	desired, err := expand(parsed, managedresource.ManagePolicy)
	if err != nil {
		return nil, err
	}
	found, err := resources.FindDrift(ctx, j.session(), desired, ofRelease(deployed.Namespace, deployed.Name, options))
	return append(found, contract.Drift{Resource: record}), err // it may have been missing
}

// ofRelease makes options those for the objects of a release.
func ofRelease(namespace, name string, options resources.DriftOptions) resources.DriftOptions {
	release := managedresource.ReleaseReference{Name: name, Namespace: namespace}
	options.OfRelease, options.Manager = &release, engine.FieldManager
	options.Labels, options.Annotations = engine.Ownership(namespace, name)
	options.IsForeign = func(live *unstructured.Unstructured) bool {
		other, isMarked := helmv1alpha1.ReleaseOn(live)
		return isMarked && other != release
	}
	return options
}

// DriftOptions say how the objects that an item puts on its target are compared with those that are there.
func DriftOptions(config *helmv1alpha1.ProviderConfiguration) resources.DriftOptions {
	options := resources.DriftOptions{DefaultNamespace: config.Namespace, Strategy: config.UpdateStrategy, OnImmutable: config.OnImmutable}
	if config.IsHelmDeployment() {
		return ofRelease(config.Namespace, config.Name, options)
	}
	return options
}

// lostDrift tells of a release without a record that the record is missing, and which objects are; nothing says what the others should be like.
func (j *job) lostDrift(ctx context.Context, record managedresource.ResourceReference, objects []managedresource.ResourceReference) []contract.Drift {
	found := []contract.Drift{{Resource: record, Missing: true}}
	for _, ref := range objects {
		live := metadataOf(ref)
		err := j.item.Target.Client.Get(ctx, client.ObjectKeyFromObject(live), live)
		switch {
		case err == nil:
			found = append(found, contract.Drift{Resource: ref, Live: live})
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
			found = append(found, contract.Drift{Resource: ref, Missing: true})
		default:
			found = append(found, contract.Drift{Resource: ref, Err: err})
		}
	}
	return found
}

// objectDrift compares with the objects of the chart, unless chart or values give others than those that the last job applied.
func (j *job) objectDrift(ctx context.Context, options resources.DriftOptions) ([]contract.Drift, error) {
	for _, run := range []func(*job, context.Context) error{(*job).resolveChart, (*job).readValues, (*job).renderObjects} {
		err := run(j, ctx)
		if _, waits := errors.AsType[*waiting](err); waits {
			return nil, contract.ErrNoVerdict
		}
		if err != nil {
			return nil, err
		}
	}
	if j.status.ObjectsDigest == "" || digestOf(j.desired, false) != j.status.ObjectsDigest {
		return nil, contract.ErrNoVerdict
	}
	options.Strategy = j.config.UpdateStrategy
	if known, found := j.rendered.Get(j.item.DeployItem.UID); !found || known != digestOf(j.desired, true) {
		j.desired = withoutContent(j.desired)
	}
	return resources.FindDrift(ctx, j.session(), j.desired, options)
}

// digestOf returns the digest of objects, for objectDrift. What Secrets hold is not part of what the status says, because its digest would tell who guesses
// it; it is part of what the process remembers.
func digestOf(desired []resources.Desired, withSecrets bool) string {
	if !withSecrets {
		desired = withoutContent(desired)
	}
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	for _, d := range desired {
		_ = encoder.Encode(d.Object.Object) // a hash takes everything
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}

// withoutContent returns the objects with empty Secrets.
func withoutContent(desired []resources.Desired) []resources.Desired {
	hidden := slices.Clone(desired)
	for i := range hidden {
		if hidden[i].Object.GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("Secret") {
			continue
		}
		hidden[i].Object = hidden[i].Object.DeepCopy()
		unstructured.RemoveNestedField(hidden[i].Object.Object, "data")
		unstructured.RemoveNestedField(hidden[i].Object.Object, "stringData")
	}
	return hidden
}

// inventoryFor lists the objects of a release as it is on a cluster; nil where they are too many, or cannot be told.
func inventoryFor(ctx context.Context, cluster *target.Cluster, release *engine.Release) *helmv1alpha1.ReleaseInventory {
	objects, err := objectsAt(ctx, cluster, release)
	if err != nil || len(objects) > maxInventory {
		return nil
	}
	inventory := &helmv1alpha1.ReleaseInventory{Entries: []helmv1alpha1.InventoryEntry{}}
	for _, object := range objects {
		inventory.Entries = append(inventory.Entries, inventoryEntry(object.Resource))
	}
	return inventory
}

func inventoryEntry(ref managedresource.ResourceReference) helmv1alpha1.InventoryEntry {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	return helmv1alpha1.InventoryEntry{
		ID: strings.Join([]string{ref.Namespace, inventoryName(ref.Name), kind.Group, kind.Kind}, "_"), Version: kind.Version,
	}
}

// inventoryName writes a name as inventories of Flux have it: colons, as in the names of roles, as two underscores. The underscores of names that would be
// read as others then are written as %5F, which no name has.
func inventoryName(name string) string {
	written := strings.ReplaceAll(name, ":", "__")
	if nameInInventory(written) != name {
		written = strings.ReplaceAll(strings.ReplaceAll(name, "_", "%5F"), ":", "__")
	}
	return written
}

func nameInInventory(written string) string {
	return strings.ReplaceAll(strings.ReplaceAll(written, "__", ":"), "%5F", "_")
}

// referencesIn returns the objects of an inventory.
func referencesIn(inventory *helmv1alpha1.ReleaseInventory) []managedresource.ResourceReference {
	if inventory == nil {
		return nil
	}
	refs := make([]managedresource.ResourceReference, 0, len(inventory.Entries))
	for _, entry := range inventory.Entries {
		namespace, rest, hasName := strings.Cut(entry.ID, "_")
		kindAt := strings.LastIndex(rest, "_")
		if !hasName || kindAt < 0 {
			continue
		}
		groupAt := strings.LastIndex(rest[:kindAt], "_")
		if groupAt < 0 {
			continue
		}
		kind := schema.GroupVersionKind{Group: rest[groupAt+1 : kindAt], Version: entry.Version, Kind: rest[kindAt+1:]}
		apiVersion, name := kind.ToAPIVersionAndKind()
		refs = append(refs, managedresource.ResourceReference{
			APIVersion: apiVersion, Kind: name, Namespace: namespace, Name: nameInInventory(rest[:groupAt]),
		})
	}
	return refs
}
