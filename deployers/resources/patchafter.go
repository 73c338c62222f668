// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

// PatchAfterDeployment merges the patches of the desired objects into the live ones. Errors are collected.
func (s *Session) PatchAfterDeployment(ctx context.Context, desired []Desired) error {
	var problems []error
	for _, d := range desired {
		if d.PatchAfterDeployment == nil || len(d.PatchAfterDeployment.Raw) == 0 || d.Policy == managedresource.IgnorePolicy {
			continue
		}
		ref := referenceTo(d.Object)
		kind, err := lookup(s.Cluster, gvkOf(ref))
		if err != nil {
			problems = append(problems, err)
			continue
		}
		_, err = client(s.Cluster, kind, ref.Namespace).Patch(ctx, ref.Name, types.MergePatchType, d.PatchAfterDeployment.Raw,
			metav1.PatchOptions{FieldManager: FieldManager})
		problems = append(problems, objectError("patch after deployment", ref, err))
	}
	return errors.Join(problems...)
}
