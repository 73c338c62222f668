// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/fields"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/readiness"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// PatchAfterDeployment merges the patches of the desired objects into the live ones, as far as these are among the managed ones: objects of
// others are not patched. Errors are collected.
func PatchAfterDeployment(ctx context.Context, cluster *target.Cluster, desired []resources.Desired, managed []managedresource.ManagedResourceStatus) error {
	var problems []error
	records := resources.Identities(managed)
	for _, d := range desired {
		if d.PatchAfterDeployment == nil || len(d.PatchAfterDeployment.Raw) == 0 {
			continue
		}
		ref := objects.ReferenceTo(d.Object)
		record, isManaged := records[objects.IdentityOf(ref)]
		if !isManaged {
			ref.Namespace = "" // a manifest may give a cluster-scoped object a namespace
			record, isManaged = records[objects.IdentityOf(ref)]
		}
		if isManaged && d.Policy != managedresource.IgnorePolicy {
			problems = append(problems, patchAfter(ctx, cluster, d, record.Resource))
		}
	}
	return errors.Join(problems...)
}

// patchAfter patches one object, and only the one that is recorded.
func patchAfter(ctx context.Context, cluster *target.Cluster, d resources.Desired, ref managedresource.ResourceReference) error {
	patch := map[string]any{}
	if err := json.Unmarshal(d.PatchAfterDeployment.Raw, &patch); err != nil {
		return objects.Misconfigured("patchAfterDeployment of %s: is not an object, write one there", ref)
	}
	fields.MergeInto(patch, map[string]any{"metadata": map[string]any{"uid": string(ref.UID)}}, true)
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("cannot encode the patch: %w", err)
	}
	kind, err := objects.Lookup(ctx, cluster, objects.GVKOf(ref))
	if err != nil {
		return err
	}
	_, err = objects.Client(cluster, kind, ref.Namespace).Patch(ctx, ref.Name, types.MergePatchType, raw, metav1.PatchOptions{FieldManager: resources.FieldManager})
	if apierrors.IsNotFound(err) && readiness.GoesByItself(d.Object) {
		return nil
	}
	return objects.ObjectError("patch after deployment", ref, err)
}
