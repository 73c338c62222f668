// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

var targetImport = list{object{"name": "cluster", "type": "target", "targetType": clusterType}}

// deploying is a root with deploy items, and sub-installations with deploy items.
func deploying(items string, subs ...object) object {
	parts := object{"imports": targetImport, "subinstallations": subs, "deployExecutions": goTemplate("deployItems:\n" + items)}
	return object{"blueprint": inline(parts), "imports": object{"targets": list{object{"name": "cluster", "target": "cluster"}}}}
}

// part is a sub-installation of such a root.
func part(name, items string) object {
	return object{
		"name": name, "imports": object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
		"blueprint": inTemplate(object{"imports": targetImport, "deployExecutions": goTemplate("deployItems:\n" + items)}),
	}
}

// value is a deploy item that deploys a ConfigMap of its name.
func value(name, value string) string { return configItem(name, "{import: cluster}", name, value) }

// hold keeps a ConfigMap of the scene from going, until the function that it returns is called.
func (s *scene) hold(name string) (letGo func()) {
	s.T.Helper()
	patch := func(body string) {
		require.NoError(s.T, s.Client().Patch(s.Ctx, s.config(name), client.RawPatch("application/merge-patch+json", []byte(body))))
	}
	patch(`{"metadata":{"finalizers":["example.com/hold"]}}`)
	return func() { patch(`{"metadata":{"finalizers":null}}`) }
}

// waitsFor waits until a root shows that a deploy item waits for an object of another.
func (s *scene) waitsFor(root, object string) {
	s.T.Helper()
	s.AwaitState(root, func(inst *v1alpha1.Installation) bool {
		ready := conditions.Get(inst, meta.ReadyCondition)
		return ready != nil && ready.Reason == meta.ProgressingWithRetryReason && strings.Contains(ready.Message, "/"+object+": it belongs to")
	})
}

// TestNoJobGivesItsChildrenTwoSpecs edits a root twice; the second edit comes while the job of the first has given its spec to a sub-installation
// only, because it waits for another one to be gone.
func TestNoJobGivesItsChildrenTwoSpecs(t *testing.T) {
	t.Parallel()
	const x, nothing = "x", ""
	for name, tc := range map[string]struct{ root, part [3]string }{
		"the root takes an object from the part":           {[3]string{nothing, nothing, x}, [3]string{x, x, nothing}},
		"the root keeps an object that the part waits for": {[3]string{x, nothing, x}, [3]string{nothing, x, nothing}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Target("cluster")
			apply := func(n int, edit string) {
				own, of := value("of-root", edit), value("of-a", edit)
				if tc.root[n] != nothing {
					own += value(x, "same")
				}
				if tc.part[n] != nothing {
					of += value(x, "same")
				}
				s.install("root", deploying(own, part("a", of), part("b", value("of-b", "same"))))
			}
			apply(0, "zero")
			s.succeeded("root")
			letGo := s.hold("of-b")
			s.Delete(s.Child("root", "b"))
			apply(1, "one")
			require.Eventually(t, func() bool { return s.configValue("of-a") == "one" }, landscapePatience, tick)
			apply(2, "two")
			require.Eventually(t, func() bool { return s.configValue("of-a") == "two" }, landscapePatience, tick)
			letGo()
			s.succeeded("root")
			assert.Equal(t, "two", s.configValue("of-root"))
			assert.Equal(t, "same", s.configValue(x))
			s.RequireJobs(3, "root")
		})
	}
}

// TestADeletionEndsAJobThatOnlyWaits deletes a root of which two deploy items want the same object, so that one waits for the other in vain.
func TestADeletionEndsAJobThatOnlyWaits(t *testing.T) {
	t.Parallel()
	twice := value("x", "same") + strings.Replace(value("x", "same"), "name: x\n", "name: again\n", 1)
	for name, spec := range map[string]object{
		"of the root": deploying(twice), "of a sub-installation": deploying(value("of-root", "same"), part("a", twice)),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Target("cluster")
			s.install("root", spec)
			s.waitsFor("root", "x")
			s.RequireStandstill()
			s.Delete(s.Installation("root"))
			s.Gone(s.Installation("root"))
			assert.Empty(t, s.configs())
			require.Eventually(t, func() bool { return len(s.objectsOf()) == 0 }, landscapePatience, tick, "%v", s.objectsOf())
		})
	}
}
