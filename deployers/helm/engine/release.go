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
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
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

	// references reads the manifest once: jobs ask for it several times, and manifests are long.
	references func() ([]managedresource.ResourceReference, error)
}

// References returns what names the objects of the manifest, those of Lists in the place of these. Those without a namespace get that of the release,
// also where their kind has none. Callers may change the list.
func (r *Release) References() ([]managedresource.ResourceReference, error) {
	if r.references == nil {
		return referencesIn(r.Manifest, r.Namespace)
	}
	references, err := r.references()
	return slices.Clone(references), err
}

func referencesIn(manifest, namespace string) ([]managedresource.ResourceReference, error) {
	parsed, err := ParseManifest(manifest)
	if err != nil {
		return nil, err
	}
	var references []managedresource.ResourceReference
	for _, object := range Flat(parsed) {
		references = append(references, managedresource.ResourceReference{
			APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: cmp.Or(object.GetNamespace(), namespace), Name: object.GetName(),
		})
	}
	return references, nil
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
	if err == nil && isAsRead(fromHelm(stored), rel) {
		err = change(op, stored)
	}
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return fmt.Errorf("the record of revision %d of helm release %s/%s cannot be changed: %w", rel.Revision, rel.Namespace, rel.Name, err)
	}
	return nil
}

func isAsRead(stored, read *Release) bool {
	return stored.Status == read.Status && stored.Began.Equal(read.Began) && maps.Equal(stored.Labels, read.Labels)
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
	result := &Release{
		Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Version, Manifest: rel.Manifest, Labels: maps.Clone(rel.Labels),
		HasValues: len(rel.Config) > 0, Inherited: isInherited(rel), Tests: testsOf(rel),
		Status: Status(rel.Info.Status), RolledBack: strings.HasPrefix(rel.Info.Description, rolledBack), Leaving: isLeaving(rel),
		Faulty: rel.Info.Status == release.StatusFailed || faulty.MatchString(rel.Info.Description), Began: rel.Info.LastDeployed.Time,
		references: sync.OnceValues(func() ([]managedresource.ResourceReference, error) { return referencesIn(rel.Manifest, rel.Namespace) }),
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
