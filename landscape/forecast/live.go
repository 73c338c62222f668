// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmconfig "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	manifestconfig "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// ask adds to the change of an item what the API server of its target says: what it would refuse, and what the job would change there beside.
func (s *simulation) ask(ctx context.Context, item *v1alpha1.DeployItem, desired []resources.Desired, change *ItemChange) {
	if s.targets == nil || item == nil || item.Spec.Target == nil || len(desired) == 0 {
		return
	}
	found, err := s.rehearse(ctx, item, desired)
	if err != nil {
		change.Unknown = append(change.Unknown, fmt.Sprintf("what target %s says: %s", item.Spec.Target.Name, target.ShownError(err)))
	}
	for _, answer := range found {
		kind := schema.FromAPIVersionAndKind(answer.Resource.APIVersion, answer.Resource.Kind).GroupKind()
		id := landscape.ID{Kind: kind.String(), Namespace: answer.Resource.Namespace, Name: answer.Resource.Name}
		at := slices.IndexFunc(change.Objects, func(o ObjectChange) bool {
			return o.What != Deleted && o.Kind == id.Kind && o.Name == id.Name && (o.Namespace == id.Namespace || id.Namespace == "" || o.Namespace == "")
		})
		if at < 0 {
			at = len(change.Objects)
			object := ObjectChange{ID: id, What: Added}
			if answer.Verb == contract.Update {
				object.What = Changed
			}
			for _, field := range answer.Fields {
				object.Fields = append(object.Fields, FieldChange{Path: strings.ReplaceAll(strings.TrimPrefix(field, "/"), "/", ".")})
			}
			change.Objects = append(change.Objects, object)
		}
		if answer.Refused != nil {
			change.Objects[at].Refused = answer.Refused.Error()
		}
	}
}

// rehearse compares what an item deploys with what its target has. A Target that does not answer is not asked again.
func (s *simulation) rehearse(ctx context.Context, item *v1alpha1.DeployItem, desired []resources.Desired) ([]contract.Change, error) {
	at := client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.Target.Name}
	if err := s.silent[at]; err != nil {
		return nil, err
	}
	options, err := driftOptions(item)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cluster, err := s.targets.Open(ctx, s.store, s.store, at.Namespace, at.Name, target.ActorOf(item))
	if err != nil {
		return nil, err
	}
	changes, err := resources.Rehearse(ctx, resources.NewSession(&contract.Item{DeployItem: item, Target: cluster}, nil), desired, nil, options)
	if ctx.Err() != nil {
		s.silent[at] = err
	}
	return changes, err
}

// driftOptions say how the objects of an item are compared with those on its target.
func driftOptions(item *v1alpha1.DeployItem) (resources.DriftOptions, error) {
	if item.Spec.Type == v1alpha1.HelmDeployItemType {
		config, err := helmconfig.DecodeConfiguration(rawOf(item))
		if err != nil {
			return resources.DriftOptions{}, err
		}
		return helm.DriftOptions(config), nil
	}
	config, err := manifestconfig.DecodeConfiguration(rawOf(item))
	if err != nil {
		return resources.DriftOptions{}, err
	}
	return resources.DriftOptions{Strategy: config.UpdateStrategy, OnImmutable: config.OnImmutable}, nil
}
