// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const operation = "Sync"

// Reasons of failures.
const (
	reasonSeveral = "SeveralTargetSyncs"
	reasonSpec    = "InvalidSpec"
)

// all is the expression that selects every name.
const all = "*"

// checkAlone fails while the namespace has another TargetSync: what both have made carries the same label, so each would delete what the
// other made.
func (r *Reconciler) checkAlone(ctx context.Context, s *scope) error {
	others, err := others(ctx, r.Client, s.sync)
	if err != nil || len(others) == 0 {
		return err
	}
	r.sources.leave(client.ObjectKeyFromObject(s.sync))
	named := strings.Join(others[:min(len(others), maxShown)], ", ")
	if len(others) > maxShown {
		named += " and more" // how many would be another message for all of them whenever one comes or goes
	}
	return kit.Stall(operation, reasonSeveral, "namespace %s has other TargetSyncs: %s; none of them syncs until all but one are deleted",
		s.sync.Namespace, named)
}

// others returns the first names of the other TargetSyncs of the namespace that are not in deletion, one more than are shown.
func others(ctx context.Context, reader client.Reader, sync *v1alpha1.TargetSync) ([]string, error) {
	list := &v1alpha1.TargetSyncList{}
	if err := reader.List(ctx, list, client.InNamespace(sync.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		if other := &list.Items[i]; isRival(other, sync) {
			names = withFirst(names, other.Name)
		}
	}
	return names, nil
}

// withFirst adds a name to sorted ones, unless it comes after one more than are shown.
func withFirst(names []string, name string) []string {
	at, _ := slices.BinarySearch(names, name)
	if at > maxShown {
		return names
	}
	names = slices.Insert(names, at, name)
	return names[:min(len(names), maxShown+1)]
}

// checkSuspended stops a suspended TargetSync. Its Ready condition stays.
func (r *Reconciler) checkSuspended(_ context.Context, s *scope) error {
	if !s.sync.Spec.Suspend {
		return nil
	}
	r.leave(client.ObjectKeyFromObject(s.sync))
	return kit.ErrStop
}

// checkSpec reads the expressions of the spec.
func checkSpec(_ context.Context, s *scope) (err error) {
	s.pattern, err = patternOf(&s.sync.Spec)
	return err
}

func patternOf(spec *v1alpha1.TargetSyncSpec) (*regexp.Regexp, error) {
	field, expression := "spec.secretNameExpression", spec.SecretNameExpression
	switch {
	case spec.SourceNamespace == "":
		return nil, kit.Stall(operation, reasonSpec, "spec.sourceNamespace is empty; set it to a namespace of the source cluster")
	case spec.SecretRef.Name == "":
		return nil, kit.Stall(operation, reasonSpec, "spec.secretRef.name is empty; set it to the Secret with the kubeconfig of the source cluster")
	case spec.SecretNameExpression != "" && spec.ShootNameExpression != "":
		return nil, kit.Stall(operation, reasonSpec, "spec.secretNameExpression and spec.shootNameExpression are both set; remove one of them")
	case spec.ShootNameExpression != "":
		field, expression = "spec.shootNameExpression", spec.ShootNameExpression
	}
	if expression == "" {
		return nil, nil
	}
	if expression == all {
		expression = ""
	}
	if err := foreign.CheckPattern(expression); err != nil {
		return nil, kit.Stall(operation, reasonSpec, "%s %w, or use * for all names", field, err)
	}
	return regexp.MustCompile(expression), nil
}

// protect sets the finalizer before the first Target is made.
func (r *Reconciler) protect(ctx context.Context, s *scope) error {
	return patchMetadata(ctx, r.Client, s.sync, kit.MetadataChange{AddFinalizer: v1alpha1.Finalizer})
}

// patchMetadata changes metadata and keeps the status of the object in memory.
func patchMetadata(ctx context.Context, c client.Client, sync *v1alpha1.TargetSync, change kit.MetadataChange) error {
	ahead := sync.Status.DeepCopy()
	err := kit.PatchMetadata(ctx, c, sync, change)
	sync.Status = *ahead
	return err
}

func (s *scope) fail(format string, args ...any) {
	s.problems = append(s.problems, fmt.Errorf(format, args...))
}
