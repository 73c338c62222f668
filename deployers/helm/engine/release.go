// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Status is the state of a release.
type Status string

// States of a release.
const (
	// StatusDeployed is the end of a good install or upgrade.
	StatusDeployed Status = "deployed"
	// StatusFailed is the end of a bad one.
	StatusFailed Status = "failed"
	// StatusUninstalling says that an uninstall began and did not end.
	StatusUninstalling Status = "uninstalling"
	// StatusUninstalled says that the objects are gone and the history was kept.
	StatusUninstalled Status = "uninstalled"
)

// IsPending tells whether an install, upgrade or rollback began and did not end.
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
	// Labels that the operation was given.
	Labels map[string]string
	// Began is when the install or upgrade began.
	Began time.Time
}

// Last returns the newest revision of a release in any state, nil when there is none.
func (e *Engine) Last(ctx context.Context, cluster *target.Cluster, namespace, name string) (*Release, error) {
	op, err := e.begin(ctx, cluster, namespace)
	if err != nil {
		return nil, err
	}
	last, err := op.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("helm release %s/%s cannot be looked up: %w", namespace, name, err)
	}
	return fromHelm(last), nil
}

// Forget removes the record of one revision and leaves the objects in place.
func (e *Engine) Forget(ctx context.Context, cluster *target.Cluster, rel *Release) error {
	op, err := e.begin(ctx, cluster, rel.Namespace)
	if err != nil {
		return err
	}
	_, err = op.Releases.Delete(rel.Name, rel.Revision)
	if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
		return fmt.Errorf("revision %d of helm release %s/%s cannot be removed: %w", rel.Revision, rel.Namespace, rel.Name, err)
	}
	return nil
}

// GiveUp records that one revision failed, with the reason, so that the next upgrade can start from it.
func (e *Engine) GiveUp(ctx context.Context, cluster *target.Cluster, rel *Release, reason string) error {
	op, err := e.begin(ctx, cluster, rel.Namespace)
	if err != nil {
		return err
	}
	stored, err := op.Releases.Get(rel.Name, rel.Revision)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil
	}
	if err == nil {
		stored.SetStatus(release.StatusFailed, reason)
		err = op.Releases.Update(stored)
	}
	if err != nil {
		return fmt.Errorf("revision %d of helm release %s/%s cannot be marked as failed: %w", rel.Revision, rel.Namespace, rel.Name, err)
	}
	return nil
}

func fromHelm(rel *release.Release) *Release {
	if rel == nil {
		return nil
	}
	result := &Release{
		Name: rel.Name, Namespace: rel.Namespace, Revision: rel.Version, Manifest: rel.Manifest, Labels: rel.Labels,
	}
	if rel.Info != nil {
		result.Status = Status(rel.Info.Status)
		result.Began = rel.Info.LastDeployed.Time
	}
	if rel.Chart != nil && rel.Chart.Metadata != nil {
		result.ChartName, result.ChartVersion = rel.Chart.Metadata.Name, rel.Chart.Metadata.Version
	}
	return result
}
