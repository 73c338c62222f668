// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// configMaps is the resource of the objects that units deploy.
const configMaps = "configmaps"

// deletions counts from the audit log how often our programs asked with success to delete the objects of a resource, by name.
func (s *stage) deletions(ctx context.Context, resource string) map[string]int {
	s.t.Helper()
	requests, err := s.Requests(ctx, s.begun)
	require.NoError(s.t, err)
	counted := map[string]int{}
	for _, r := range requests {
		inside := r.Namespace == s.units.Namespace || r.Namespace == s.units.Deployed
		if inside && s.isOurs(r.User) && r.Resource == resource && r.Verb == "delete" && r.Code < http.StatusBadRequest {
			counted[r.Name]++
		}
	}
	return counted
}

// isOurs reports whether a user is a program of ours, here or on the target.
func (s *stage) isOurs(user string) bool { return s.programs[user] != nil || user == targetUser }

// requireBorn fails unless exactly want objects of a kind have ever existed, none of them under the name of another.
func (s *stage) requireBorn(kind string, want int) {
	s.t.Helper()
	births := s.ledger.births(kind)
	require.Len(s.t, births, want, "number of objects of kind %s", kind)
	for name, times := range births {
		require.Equal(s.t, 1, times, "times that %s %s was created", kind, name)
	}
}

// requireJobs fails unless each of the units has had exactly so many jobs.
func (s *stage) requireJobs(units, jobs int) {
	s.t.Helper()
	for i := range units {
		seen := s.observer.Jobs(s.units.Name(i))
		require.Len(s.t, seen, jobs, "jobs of %s: %v", s.units.Name(i), seen)
	}
}

// requireVersion fails unless every unit's ConfigMap holds this version.
func (s *stage) requireVersion(ctx context.Context, units int, version string) {
	s.t.Helper()
	list := &corev1.ConfigMapList{}
	require.NoError(s.t, s.Client().List(ctx, list, client.InNamespace(s.units.Deployed)))
	found := map[string]string{}
	for _, object := range list.Items {
		found[object.Name] = object.Data["version"]
	}
	for i := range units {
		require.Equal(s.t, version, found[s.units.Name(i)], "version of ConfigMap %s", s.units.Name(i))
	}
}

// deployedVersion returns what the ConfigMap of a unit holds, or nothing if there is none.
func (s *stage) deployedVersion(ctx context.Context, unit int) string {
	s.t.Helper()
	return s.versionOf(ctx, s.units.Name(unit))
}

// versionOf returns what a deployed ConfigMap holds, or nothing if there is none.
func (s *stage) versionOf(ctx context.Context, name string) string {
	s.t.Helper()
	object := &corev1.ConfigMap{}
	err := s.Client().Get(ctx, client.ObjectKey{Namespace: s.units.Deployed, Name: name}, object)
	require.NoError(s.t, client.IgnoreNotFound(err))
	return object.Data["version"]
}

// requireUnit fails unless a unit is deployed in this version after so many jobs, and every object of it was made once.
func (s *stage) requireUnit(ctx context.Context, unit int, plan, version string, jobs int) {
	s.t.Helper()
	name := s.units.Name(unit)
	require.Len(s.t, s.observer.Jobs(name), jobs, "%s: jobs", plan)
	require.Equal(s.t, version, s.deployedVersion(ctx, unit), "%s: version of the ConfigMap", plan)
	items, deployed := 1, 1
	if s.units.Mock {
		items++
	}
	if s.units.HasHelm(unit) {
		items, deployed = items+1, 2
		if s.units.HasReleases() {
			s.requireReleases(ctx, unit, unit+1, "")
		}
	}
	for kind, each := range map[string]int{executionKind: 1, deployItemKind: items, configMapKind: deployed, dataObjectKind: 1, targetKind: 1} {
		require.Len(s.t, s.ledger.births(kind), (unit+1)*each, "%s: objects of kind %s so far", plan, kind)
		for object, times := range s.ledger.births(kind) {
			require.Equal(s.t, 1, times, "%s: times that %s %s was created", plan, kind, object)
		}
	}
}

// requireReleases fails unless every helm unit from first up to next has exactly one deployed release, in this revision unless it is
// empty, and none that is pending.
func (s *stage) requireReleases(ctx context.Context, first, next int, revision string) {
	s.t.Helper()
	list := &corev1.SecretList{}
	require.NoError(s.t, s.Client().List(ctx, list, client.InNamespace(s.units.Deployed), client.MatchingLabels{"owner": "helm"}))
	deployed := map[string]string{}
	for _, record := range list.Items {
		require.NotContains(s.t, record.Labels["status"], "pending", "release record %s", record.Name)
		if record.Labels["status"] == "deployed" {
			require.Empty(s.t, deployed[record.Labels["name"]], "second deployed record %s", record.Name)
			deployed[record.Labels["name"]] = record.Labels["version"]
		}
	}
	for i := first; i < next; i++ {
		if !s.units.HasHelm(i) {
			continue
		}
		require.NotEmpty(s.t, deployed[s.units.Name(i)], "release %s is not deployed", s.units.Name(i))
		if revision != "" {
			require.Equal(s.t, revision, deployed[s.units.Name(i)], "revision of release %s", s.units.Name(i))
		}
	}
}

// shared are the objects of the stage that belong to no unit.
var shared = []string{"cluster", "cluster-access", "other", "other-access", "settings", "kube-root-ca.crt"}

// requireNothingLeft fails if anything of the units is left. What the garbage collector has still to collect is waited for.
func (s *stage) requireNothingLeft(ctx context.Context) {
	s.t.Helper()
	for _, list := range []client.ObjectList{
		&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}, &corev1.ConfigMapList{}, &corev1.SecretList{},
	} {
		require.Empty(s.t, s.leftovers(ctx, list))
	}
	for _, list := range []client.ObjectList{&v1alpha1.DataObjectList{}, &v1alpha1.TargetList{}} {
		for _, object := range s.leftovers(ctx, list) {
			require.NotEmpty(s.t, object.GetOwnerReferences(), "%s would stay forever", object.GetName())
		}
	}
	require.NoError(s.t, s.ledger.awaitNone(ctx))
}

// leftovers lists what units left in the namespaces of the stage.
func (s *stage) leftovers(ctx context.Context, list client.ObjectList) []client.Object {
	s.t.Helper()
	var left []client.Object
	for _, namespace := range []string{s.units.Namespace, s.units.Deployed} {
		require.NoError(s.t, s.Client().List(ctx, list, client.InNamespace(namespace)))
		items, err := meta.ExtractList(list)
		require.NoError(s.t, err)
		for _, item := range items {
			object := item.(client.Object)
			if !slices.Contains(shared, object.GetName()) && !strings.HasPrefix(object.GetName(), "default-token") {
				left = append(left, object)
			}
		}
	}
	return left
}

// summary shows how often requests of our programs met a conflict or an existing object, which is no fault.
func (s *stage) summary(ctx context.Context) string {
	s.t.Helper()
	requests, err := s.Requests(ctx, s.begun)
	require.NoError(s.t, err)
	writes, conflicts := 0, 0
	for _, r := range requests {
		if !s.isOurs(r.User) || !r.Writes() {
			continue
		}
		writes++
		if r.Code == http.StatusConflict {
			conflicts++
		}
	}
	return fmt.Sprintf("%d writes, %d of them refused by a conflict", writes, conflicts)
}
