// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

var _ contract.Rehearser = &deployer{}

// Rehearse renders the chart two times: what differs depends on chance or on the time, and is an error. Objects are compared with the target. A release is
// compared with what its last revision has recorded, and that with the target, because an upgrade undoes what others have changed.
func (d *deployer) Rehearse(ctx context.Context, item *contract.Item) ([]contract.Change, error) {
	j, err := d.begin(item)
	if err != nil {
		return nil, err
	}
	ctx, end := d.engine.Session(ctx)
	defer end()
	if err := j.resolveChart(ctx); err != nil {
		return nil, err
	}
	if err := j.readValues(ctx); err != nil {
		return nil, err
	}
	if j.config.IsHelmDeployment() {
		return j.rehearseRelease(ctx)
	}
	chance, err := j.renderTwice(func() error { return j.renderObjects(ctx) })
	if err != nil {
		return nil, err
	}
	changes, err := resources.Rehearse(ctx, j.session(), j.desired, j.status.ManagedResources, DriftOptions(j.config))
	changes, unknown := j.certain(changes, chance)
	return changes, errors.Join(err, unknown)
}

func (j *job) rehearseRelease(ctx context.Context) ([]contract.Change, error) {
	last, err := j.engine.Last(ctx, j.item.Target, j.config.Namespace, j.config.Name)
	if err != nil {
		return nil, err
	}
	release := managedresource.ResourceReference{APIVersion: "helm.sh/v3", Kind: "Release", Namespace: j.config.Namespace, Name: j.config.Name}
	switch {
	case last == nil:
		return []contract.Change{{Resource: release, Verb: contract.Create}}, nil
	case last.Status != engine.StatusDeployed:
		return nil, fmt.Errorf("the last revision of the release is %s, and the next job makes another", last.Status)
	}
	request, settings, err := j.request(helmv1alpha1.ActionUpgrade, nil)
	if err != nil {
		return nil, err
	}
	request.From = last.Revision
	var preview *engine.Preview
	chance, err := j.renderTwice(func() error {
		preview, err = j.engine.Preview(ctx, request)
		if err == nil {
			j.desired, err = desiredIn(preview.Manifest)
		}
		return err
	})
	if err != nil {
		return nil, helmProblem(err)
	}
	stored, err := desiredIn(last.Manifest)
	if err != nil {
		return nil, err
	}
	var unknown []error
	if len(preview.Hooks) > 0 {
		unknown = append(unknown, fmt.Errorf("its next job runs hooks of the chart, which decide what they change: %s", strings.Join(preview.Hooks, ", ")))
	}
	if settings.CRDs == helmv1alpha1.CRDsCreate || settings.CRDs == helmv1alpha1.CRDsCreateReplace {
		unknown = append(unknown, errors.New("its next job brings the definitions of the chart to the target, which are not compared"))
	}
	changes, chances := j.certain(j.compare(stored), chance)

	objects, err := last.Objects()
	if err != nil {
		return nil, err
	}
	j.status.Release = &helmv1alpha1.ReleaseStatus{Name: last.Name, Namespace: last.Namespace, Revision: last.Revision}
	drift, err := j.releaseDrift(ctx, resources.DriftOptions{
		DriftSearch: contract.DriftSearch{Objects: resources.References(objects)}, DefaultNamespace: j.config.Namespace,
	})
	undone, problem := contract.ChangesOf(drift)
	return append(changes, undone...), errors.Join(append(unknown, chances, err, problem)...)
}

func desiredIn(manifest string) ([]resources.Desired, error) {
	parsed, err := engine.ParseManifest(manifest)
	if err != nil {
		return nil, err
	}
	return expand(parsed, managedresource.ManagePolicy)
}

func (j *job) identityOf(ref managedresource.ResourceReference) resources.Identity {
	id := resources.IdentityOf(ref)
	id.Namespace = cmp.Or(id.Namespace, j.config.Namespace)
	return id
}

// compare returns how desired objects differ from those of a revision.
func (j *job) compare(stored []resources.Desired) []contract.Change {
	before := map[resources.Identity]resources.Desired{}
	for _, d := range stored {
		before[j.identityOf(resources.ReferenceTo(d.Object))] = d
	}
	var changes []contract.Change
	for _, d := range j.desired {
		ref := resources.ReferenceTo(d.Object)
		former, has := before[j.identityOf(ref)]
		delete(before, j.identityOf(ref))
		if !has {
			changes = append(changes, contract.Change{Resource: ref, Verb: contract.Create})
		} else if fields := resources.Differing(d.Object, former.Object); len(fields) > 0 {
			changes = append(changes, contract.Change{Resource: ref, Verb: contract.Update, Fields: fields})
		}
	}
	for _, d := range stored {
		ref := resources.ReferenceTo(d.Object)
		if _, left := before[j.identityOf(ref)]; left && d.Policy != managedresource.KeepPolicy {
			changes = append(changes, contract.Change{Resource: ref, Verb: contract.Delete})
		}
	}
	return changes
}

// renderTwice makes desired objects two times, and returns how the second ones differ from the first.
func (j *job) renderTwice(render func() error) ([]contract.Change, error) {
	if err := render(); err != nil {
		return nil, err
	}
	first := j.desired
	if err := render(); err != nil {
		return nil, err
	}
	return j.compare(first), nil
}

// certain takes from changes the fields that depend on chance, and returns an error about those.
func (j *job) certain(changes, chance []contract.Change) ([]contract.Change, error) {
	var unknown []error
	left := map[resources.Identity][]string{}
	for _, c := range chance {
		what := "whether it exists"
		if c.Verb == contract.Update {
			what = strings.Join(c.Fields, ", ")
		}
		left[j.identityOf(c.Resource)] = c.Fields
		unknown = append(unknown, fmt.Errorf("two renderings of the chart differ in %s: %s", c.Resource, what))
	}
	for i := range changes {
		changes[i].Fields = slices.DeleteFunc(changes[i].Fields, func(field string) bool { return slices.Contains(left[j.identityOf(changes[i].Resource)], field) })
	}
	return slices.DeleteFunc(changes, func(c contract.Change) bool { return c.Verb == contract.Update && len(c.Fields) == 0 }), errors.Join(unknown...)
}
