// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Uninstall removes the objects of a release and, unless flags say otherwise, its history. A release that does not exist any more is no error.
// Of flags, Wait, UntilGone, Timeout, DisableHooks, KeepHistory and DeletionPropagation count. With UntilGone it returns the release as long as that is
// leaving; once its objects are gone another call ends the uninstall, with the hooks that follow it.
func (e *Engine) Uninstall(ctx context.Context, cluster *target.Cluster, namespace, name string, flags Flags) (*Release, error) {
	request := Request{Cluster: cluster, Namespace: namespace, Name: name, Flags: flags}
	last, err := e.run(ctx, request, "uninstall", func(op *operation) (*release.Release, error) {
		if flags.KeepHistory {
			if isDone, err := op.isUninstalled(name, flags); isDone || err != nil {
				return nil, err
			}
		}
		op.passUnserved(false)
		uninstall := action.NewUninstall(op.Configuration) // IgnoreNotFound would take every failure to read the release for its absence
		uninstall.Wait, uninstall.DisableHooks, uninstall.KeepHistory = flags.Wait, flags.DisableHooks || flags.OnlyMarked, flags.KeepHistory
		uninstall.DeletionPropagation = cmp.Or(flags.DeletionPropagation, "background")
		uninstall.Timeout = flags.budget(ctx)
		op.pause(uninstall, flags)
		done, err := uninstall.Run(name)
		if errors.Is(err, driver.ErrReleaseNotFound) {
			if isDone, unread := op.isUninstalled(name, flags); isDone || unread != nil {
				return nil, unread
			}
		}
		if err != nil || !isLeaving(done.Release) {
			return nil, err
		}
		return done.Release, nil
	})
	return last, err
}

// leaving is how the description of a release begins whose objects are deleted and not gone.
const leaving = "Deletion waits for the objects to go"

func isLeaving(rel *release.Release) bool {
	return rel.Info != nil && rel.Info.Status == release.StatusUninstalled && rel.Info.Description == leaving
}

// pause makes an uninstall end before the hooks that follow it, where objects are still there, and go on there where an earlier one has ended so. Helm
// itself would hold a worker as long as it waits, ask every two seconds, and not say for what.
func (o *operation) pause(uninstall *action.Uninstall, flags Flags) {
	client, ok := o.KubeClient.(*sparing)
	if !ok {
		return
	}
	own := *uninstall
	if flags.UntilGone {
		client.leaves = func() { uninstall.DisableHooks, uninstall.KeepHistory, uninstall.Description = true, true, leaving }
	}
	o.Releases.Driver = resumed{Driver: o.Releases.Driver, resume: func() {
		uninstall.DisableHooks = true // those that go before it have run
		client.left = func() { uninstall.DisableHooks = own.DisableHooks }
	}}
}

// resumed is a storage in which a release that is leaving counts as one that is being uninstalled.
type resumed struct {
	driver.Driver
	// resume is called when there is one.
	resume func()
}

// Query returns releases.
func (r resumed) Query(labels map[string]string) ([]*release.Release, error) {
	found, err := r.Driver.Query(labels)
	for _, rel := range found {
		if isLeaving(rel) {
			rel.Info.Status = release.StatusUninstalling
			r.resume()
		}
	}
	return found, err
}

// isUninstalled reports whether there is no release, or it is as an uninstall that keeps the history leaves it; for Helm, a second one is an error.
func (o *operation) isUninstalled(name string, flags Flags) (bool, error) {
	last, err := o.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return true, nil
	}
	return flags.KeepHistory && err == nil && last.Info != nil && last.Info.Status == release.StatusUninstalled && !isLeaving(last), err
}
