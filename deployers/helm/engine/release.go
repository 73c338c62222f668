// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Status is the state of a release.
type Status string

// States of a release.
const (
	// StatusDeployed is the end of a good install or upgrade.
	StatusDeployed Status = "deployed"
	// StatusSuperseded says that another revision followed.
	StatusSuperseded Status = "superseded"
	// StatusFailed is the end of a bad one.
	StatusFailed Status = "failed"
	// StatusUninstalling says that an uninstall began and did not end.
	StatusUninstalling Status = "uninstalling"
	// StatusUninstalled says that the objects are gone and the history was kept.
	StatusUninstalled Status = "uninstalled"
)

// IsPending reports whether an install, upgrade or rollback began and did not end.
func (s Status) IsPending() bool { return strings.HasPrefix(string(s), "pending-") }

// Release is one revision of a release.
type Release struct {
	// Name and Namespace of the release.
	Name, Namespace string
	// Revision counts from 1.
	Revision int
	// Status of the revision.
	Status Status
	// Manifest holds the objects as YAML documents, without hooks. It may contain Secrets: never log it.
	Manifest string
	// ChartName and ChartVersion are those of the chart.
	ChartName, ChartVersion string
	// HasValues says that it was made with values beside those of the chart.
	HasValues bool
	// Labels that the operation was given.
	Labels map[string]string
	// Inherited says that another program made the revision and Helm handed it the labels of one that was made here.
	Inherited bool
	// RolledBack says that the revision repeats an earlier one.
	RolledBack bool
	// Leaving says that the objects are deleted and were still there when the uninstall ended, which goes on when they are gone.
	Leaving bool
	// Faulty says that the operation which made the revision failed, whatever its status has become since.
	Faulty bool
	// Tests are those of the chart, with the results of their last run.
	Tests []TestRun
	// Began is when the install, upgrade or uninstall began.
	Began time.Time

	// objects reads the manifest once: jobs ask for it several times, and manifests are long.
	objects func() ([]managedresource.ManagedResourceStatus, error)
}

// Objects returns the objects of the manifest, those of Lists in the place of these, as a status records them. Those without a namespace get that of the
// release, also where their kind has none. Callers may change the list.
func (r *Release) Objects() ([]managedresource.ManagedResourceStatus, error) {
	if r.objects == nil {
		return objectsIn(r.Manifest, r.Namespace)
	}
	objects, err := r.objects()
	return slices.Clone(objects), err
}

func objectsIn(manifest, namespace string) ([]managedresource.ManagedResourceStatus, error) {
	parsed, err := ParseManifest(manifest)
	if err != nil {
		return nil, err
	}
	var objects []managedresource.ManagedResourceStatus
	for _, object := range Flat(parsed) {
		objects = append(objects, managedresource.ManagedResourceStatus{Policy: managedresource.ManagePolicy, Resource: managedresource.ResourceReference{
			APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: cmp.Or(object.GetNamespace(), namespace), Name: object.GetName(),
		}})
	}
	return objects, nil
}

// Last returns the newest revision of a release in any state, nil when there is none.
func (e *Engine) Last(ctx context.Context, cluster *target.Cluster, namespace, name string) (*Release, error) {
	history, err := e.History(ctx, cluster, namespace, name)
	if err != nil || len(history) == 0 {
		return nil, err
	}
	return history[len(history)-1], nil
}

// History returns the revisions of a release that are still recorded, oldest first, with one request.
func (e *Engine) History(ctx context.Context, cluster *target.Cluster, namespace, name string) ([]*Release, error) {
	op, err := e.begin(ctx, Request{Cluster: cluster, Namespace: namespace, Name: name})
	if err != nil {
		return nil, err
	}
	recorded, err := op.Releases.History(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("helm release %s/%s cannot be looked up: %w", namespace, name, err)
	}
	releaseutil.SortByRevision(recorded)
	history := make([]*Release, 0, len(recorded))
	for _, rel := range recorded {
		history = append(history, fromHelm(rel))
	}
	return history, nil
}

// Forget removes the record of one revision and leaves the objects in place. A record that has changed since it was read stays.
func (e *Engine) Forget(ctx context.Context, cluster *target.Cluster, rel *Release) error {
	return e.amend(ctx, cluster, rel, func(op *operation, _ *release.Release) error {
		_, err := op.Releases.Delete(rel.Name, rel.Revision)
		return err
	})
}

// GiveUp records that one revision failed, with the reason, so that the next upgrade can start from it. A record that has changed since it
// was read stays as it is.
func (e *Engine) GiveUp(ctx context.Context, cluster *target.Cluster, rel *Release, reason string) error {
	return e.amend(ctx, cluster, rel, func(op *operation, stored *release.Release) error {
		stored.SetStatus(release.StatusFailed, gaveUp+reason)
		return op.Releases.Update(stored)
	})
}

// amend changes the record of one revision, unless it is not as it was read any more.
func (e *Engine) amend(ctx context.Context, cluster *target.Cluster, rel *Release, change func(*operation, *release.Release) error) error {
	op, err := e.begin(ctx, Request{Cluster: cluster, Namespace: rel.Namespace, Name: rel.Name})
	if err != nil {
		return err
	}
	stored, err := op.Releases.Get(rel.Name, rel.Revision)
	if err == nil {
		now := fromHelm(stored)
		if now.Status == rel.Status && now.Began.Equal(rel.Began) && maps.Equal(now.Labels, rel.Labels) {
			err = change(op, stored)
		}
	}
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return fmt.Errorf("the record of revision %d of helm release %s/%s cannot be changed: %w", rel.Revision, rel.Namespace, rel.Name, err)
	}
	return nil
}

// rolledBack is how Helm begins the description of a revision that a rollback made.
const rolledBack = "Rollback to "

// faulty is the description that Helm and GiveUp give to a revision whose operation failed. A rollback that fails makes it superseded.
var faulty = regexp.MustCompile(`^(Upgrade|Release|Rollback) "[^"]*" failed: |^` + regexp.QuoteMeta(gaveUp))

// gaveUp is how the description of a revision that was given up begins.
const gaveUp = "Given up: "

func fromHelm(rel *release.Release) *Release {
	if rel == nil {
		return nil
	}
	// Helm hands the labels of a revision on to the next one, also where a person makes that. One without a number may have been made here by an earlier
	// version of the deployer.
	number, isNumbered := rel.Labels[revisionLabel]
	result := &Release{
		Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Version, Manifest: rel.Manifest, Labels: maps.Clone(rel.Labels),
		HasValues: len(rel.Config) > 0, Inherited: isNumbered && number != strconv.Itoa(rel.Version), Tests: testsOf(rel),
		Status: Status(rel.Info.Status), RolledBack: strings.HasPrefix(rel.Info.Description, rolledBack), Leaving: isLeaving(rel),
		Faulty: rel.Info.Status == release.StatusFailed || faulty.MatchString(rel.Info.Description), Began: rel.Info.LastDeployed.Time,
		objects: sync.OnceValues(func() ([]managedresource.ManagedResourceStatus, error) { return objectsIn(rel.Manifest, rel.Namespace) }),
	}
	for _, label := range driver.GetSystemLabels() {
		delete(result.Labels, label)
	}
	if rel.Info.Deleted.After(rel.Info.LastDeployed) {
		result.Began = rel.Info.Deleted.Time
	}
	if rel.Chart != nil && rel.Chart.Metadata != nil {
		result.ChartName, result.ChartVersion = rel.Chart.Metadata.Name, rel.Chart.Metadata.Version
	}
	return result
}

// Ownership returns the labels and annotations of the objects of a release.
func Ownership(namespace, name string) (labels, annotations map[string]string) {
	return map[string]string{config.ManagedByLabel: config.ManagedByHelm}, map[string]string{config.ReleaseNameAnnotation: name, config.ReleaseNamespaceAnnotation: namespace}
}

// Owns reports whether an object belongs to a release.
func Owns(object metav1.Object, namespace, name string) bool {
	release, isMarked := config.ReleaseOn(object)
	return isMarked && object.GetLabels()[config.ManagedByLabel] == config.ManagedByHelm && release.Name == name && release.Namespace == namespace
}

// IsOwned reports whether an object belongs to any release.
func IsOwned(object metav1.Object) bool {
	return object.GetAnnotations()[config.ReleaseNameAnnotation] != ""
}

// RecordPrefix is how the names of all records of releases begin.
const RecordPrefix = storage.HelmStorageType + "."

// maxPages is how many answers a search takes from a cluster, which are of metadata alone.
const maxPages = 400

// Labelled returns the releases on a cluster that have a revision with the given labels. Where the records of all namespaces may not be listed, it looks in
// the given namespaces, as far as they may be listed there. The error is Forbidden if they may be listed nowhere.
func (e *Engine) Labelled(ctx context.Context, cluster *target.Cluster, labels map[string]string, namespaces ...string) ([]managedresource.ReleaseReference, error) {
	found, refusal := e.labelledIn(ctx, cluster, metav1.NamespaceAll, labels)
	if !apierrors.IsForbidden(refusal) {
		return found, refusal
	}
	for _, namespace := range namespaces {
		more, err := e.labelledIn(ctx, cluster, namespace, labels)
		switch {
		case err == nil:
			found, refusal = append(found, more...), nil
		case !apierrors.IsForbidden(err):
			return nil, err
		}
	}
	return found, refusal
}

func (e *Engine) labelledIn(ctx context.Context, cluster *target.Cluster, namespace string, labels map[string]string) ([]managedresource.ReleaseReference, error) {
	wanted := maps.Clone(labels)
	wanted["owner"] = "helm"
	found := map[managedresource.ReleaseReference]bool{}
	err := target.Pages(maxPages, func(limit int64, next string) (string, error) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(e.recordKind() + "List"))
		err := cluster.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(wanted), client.Limit(limit), client.Continue(next))
		for i := range list.Items {
			if name := list.Items[i].Labels["name"]; name != "" {
				found[managedresource.ReleaseReference{Namespace: list.Items[i].Namespace, Name: name}] = true
			}
		}
		return list.Continue, err
	})
	if err != nil {
		return nil, fmt.Errorf("helm releases cannot be looked for: %w", err)
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b managedresource.ReleaseReference) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	}), nil
}

// RecordOf names the record of a revision.
func (e *Engine) RecordOf(namespace, name string, revision int) managedresource.ResourceReference {
	return managedresource.ResourceReference{
		APIVersion: "v1", Kind: e.recordKind(), Namespace: namespace, Name: fmt.Sprintf("%s%s.v%d", RecordPrefix, name, revision),
	}
}
