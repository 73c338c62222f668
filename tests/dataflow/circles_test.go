// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestRootsOfACircleAreDeletedWithoutOrder(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.data("start", "cm")
	s.install("one", consumer("start", "one", "one"))
	s.install("two", consumer("one", "two", "two"))
	s.install("three", consumer("two", "three", "three"))
	s.succeeded("three")
	s.install("one", consumer("three", "one", "one"))
	assert.Equal(t, "CyclicDependencies", s.failed("one").Reason)
	for _, name := range []string{"one", "two", "three"} {
		s.Delete(s.Installation(name))
	}
	for _, name := range []string{"one", "two", "three"} {
		s.Gone(s.Installation(name), s.config(name), s.dataObject(name))
	}
}

func TestAnInstallationThatImportsWhatItExportsFailsOnce(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]object{
		"a root":             consumer("same", "cm", "same"),
		"a sub-installation": landscapeOf(appender("d", "D", "d")),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Target("cluster")
			s.data("same", "cm")
			s.installWith("root", spec, object{
				v1alpha1.ReconcileIfChangedAnnotation: "true", v1alpha1.ReconcileIfImportsChangedAnnotation: "true",
			})
			assert.Contains(t, s.failed("root").Codes, v1alpha1.ErrorCyclicDependencies)
			s.RequireStandstill()
			s.RequireJobs(1, "root")
			assert.Equal(t, `"cm"`, s.value("same"), "nothing is exported over the import")
		})
	}
}

// TestAConfigMapThatItsImporterDeploysStartsNoJobs counts up in a ConfigMap that the root both imports and deploys.
func TestAConfigMapThatItsImporterDeploysStartsNoJobs(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	counter := &corev1.ConfigMap{ObjectMeta: s.Named("counter"), Data: map[string]string{"value": "1"}}
	require.NoError(t, s.Client().Create(s.Ctx, counter))
	imports := append(list{}, append(targetImport, dataImports("n")...)...)
	s.installWith("root", object{
		"blueprint": inline(object{"imports": imports, "deployExecutions": goTemplate("deployItems:\n" + value("counter", `"{{ add (int .imports.n) 1 }}"`))}),
		"imports": object{
			"targets": list{object{"name": "cluster", "target": "cluster"}},
			"data":    list{object{"name": "n", "configMapRef": object{"name": "counter", "key": "value"}}},
		},
	}, object{v1alpha1.ReconcileIfChangedAnnotation: "true", v1alpha1.ReconcileIfImportsChangedAnnotation: "true"})
	s.succeeded("root")
	s.RequireStandstill()
	require.LessOrEqual(t, len(s.Witness.Jobs(s.Namespace, "root")), 2, "one more, as the first job made the ConfigMap its own")
}
