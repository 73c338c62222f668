// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// deployOnce applies an Installation with these items that runs once.
func (s *scene) deployOnce(name string, items ...holder) {
	s.T.Helper()
	var template strings.Builder
	template.WriteString("deployItems:\n")
	for _, item := range items {
		template.WriteString(item.String())
	}
	once := map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile}
	s.apply(leaf{name: name, annotations: once, blueprint: inlineOf(template.String())}.String())
	s.Ended(name, v1alpha1.PhaseSucceeded)
}

// wipe removes the status of objects, as a restore without status does.
func (s *scene) wipe(objects ...client.Object) {
	s.T.Helper()
	for _, object := range objects {
		require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(object), object))
		switch found := object.(type) {
		case *v1alpha1.Installation:
			found.Status = v1alpha1.InstallationStatus{}
		case *v1alpha1.Execution:
			found.Status = v1alpha1.ExecutionStatus{}
		case *v1alpha1.DeployItem:
			found.Status = v1alpha1.DeployItemStatus{}
		}
		require.NoError(s.T, s.Client().Status().Update(s.Ctx, object))
	}
}

// TestDeletionAfterTheStatusWasLostLeavesNothing deletes before any job has recorded anew what is deployed.
func TestDeletionAfterTheStatusWasLostLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(s *scene){
		"of the DeployItems": func(s *scene) { s.wipe(s.items()["a"], s.items()["b"]) },
		"of all objects": func(s *scene) {
			s.wipe(s.Installation("one"), &v1alpha1.Execution{ObjectMeta: s.Named("one")}, s.items()["a"], s.items()["b"])
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.Target("cluster")
			a, b := holds("a", "of-a"), holds("b", "of-b")
			b.after = "a"
			s.deployOnce("one", a, b)
			lose(s)

			s.delete(s.Installation("one"))

			for _, object := range []string{"of-a", "of-b"} {
				left := &corev1.ConfigMap{ObjectMeta: s.Named(object)}
				require.Error(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(left), left), object)
			}
		})
	}
}
