// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// forge makes an Installation say that another owns it, and that a job waits for it.
func (s *scene) forge(name, owner string) {
	s.T.Helper()
	named := s.Installation(owner)
	require.NoError(s.T, s.Client().Get(s.Ctx, s.key(owner), named))
	patch, err := json.Marshal(object{"metadata": object{
		"labels":      object{v1alpha1.EncompassedByLabel: owner},
		"annotations": object{v1alpha1.JobAnnotation: "forged"},
		"ownerReferences": list{object{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Installation", "name": owner, "uid": named.UID, "controller": true,
		}},
	}})
	require.NoError(s.T, err)
	require.NoError(s.T, s.Client().Patch(s.Ctx, s.Installation(name), client.RawPatch("application/merge-patch+json", patch)))
}

// idle makes an Installation that nothing has asked for a job.
func (s *scene) idle(name string) {
	s.T.Helper()
	s.installWith(name, object{"blueprint": inline(object{})}, nil)
}

func (s *scene) awaitForeign(name string) *v1alpha1.Installation {
	s.T.Helper()
	return s.AwaitState(name, func(inst *v1alpha1.Installation) bool {
		return conditions.IsStalled(inst) && conditions.GetReason(inst, meta.ReadyCondition) == "ForeignOwner"
	})
}

// TestT01InstallationsThatOwnThemselvesStopNobody has as many of them as the controller has workers.
func TestT01InstallationsThatOwnThemselvesStopNobody(t *testing.T) {
	s := newScene(t)
	for i := range 16 {
		name := fmt.Sprintf("self-%d", i)
		s.idle(name)
		s.forge(name, name)
	}
	s.install("healthy", object{"blueprint": inline(object{})})
	s.succeeded("healthy")
	versions := map[string]string{}
	for i := range 16 {
		refused := s.awaitForeign(fmt.Sprintf("self-%d", i))
		assert.Contains(t, refused.Status.LastError.Message, "it is its own owner; remove the owner reference")
		versions[refused.Name] = refused.ResourceVersion
	}
	s.install("later", object{"blueprint": inline(object{})})
	s.succeeded("later")
	for name, version := range versions {
		inst := s.Installation(name)
		require.NoError(t, s.Client().Get(s.Ctx, s.key(name), inst))
		assert.Equal(t, version, inst.ResourceVersion, "nothing is written again")
	}
}

// TestT01AForgedChildRunsNothing has an Installation that names an owner which never made it.
func TestT01AForgedChildRunsNothing(t *testing.T) {
	s := newScene(t)
	s.install("parent", object{"blueprint": inline(object{})})
	s.succeeded("parent")
	s.installWith("forged", object{"blueprint": inline(object{"deployExecutions": goTemplate("deployItems:\n" + mockItem("item", "{}"))})}, nil)
	s.forge("forged", "parent")
	refused := s.awaitForeign("forged")
	assert.Contains(t, refused.Status.LastError.Message, "installation parent does not list it in status.subInstCache")
	assert.Nil(t, refused.Status.ExecutionReference)

	s.Delete(refused)
	s.Gone(refused)
	s.reconcile("parent")
	s.RequireJobs(2, "parent")
}

func TestT01DeletionOfCircles(t *testing.T) {
	s := newScene(t)
	s.circles()
	for name := range circles {
		s.Delete(s.Installation(name))
	}
	for name := range circles {
		s.Gone(s.Installation(name))
	}
}

func TestT01ForceDeleteOfCircles(t *testing.T) {
	s := newScene(t)
	s.circles()
	for _, name := range []string{"self", "a"} {
		s.Annotate(s.Installation(name), v1alpha1.ForceDeleteAnnotation, "true")
		s.Delete(s.Installation(name))
	}
	for name := range circles {
		s.Gone(s.Installation(name))
	}
}

// circles are names of Installations with the names of their owners.
var circles = map[string]string{"self": "self", "a": "c", "b": "a", "c": "b"}

// circles makes Installations that own each other. Each has deployed something.
func (s *scene) circles() {
	s.T.Helper()
	for name := range circles {
		s.install(name, mocked("Succeeded", object{}))
		s.succeeded(name)
	}
	for name, owner := range circles {
		s.forge(name, owner)
	}
	for name := range circles {
		s.awaitForeign(name)
	}
}
