// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

func TestDriftOfADeadTargetIsPacedAndRecovers(t *testing.T) {
	t.Parallel()
	var door *faults.Door
	s := serveAs(t, func(user *rest.Config) *rest.Config {
		var err error
		door, err = faults.NewDoor(user)
		require.NoError(t, err)
		t.Cleanup(door.Close)
		return door.Through(user)
	})
	item := s.create(drifting("{mode: enabled}"))
	s.finish(item)
	s.standsStill(item, s.namespace)

	door.Close()
	attempts, stop, err := door.CountKnocks()
	require.NoError(t, err)
	require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(item), item))
	version, changed := item.ResourceVersion, s.configMap("a")
	s.meddle(changed, `{"data":{"v":"meddled"}}`)
	require.Never(t, func() bool { return attempts.Load() > 30 }, 5*time.Second, 100*time.Millisecond, "two watches are tried again, ever more rarely")
	require.Positive(t, attempts.Load())
	require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(item), item))
	assert.Equal(t, version, item.ResourceVersion, "nothing is written while nothing is known")
	stop()
	require.NoError(t, door.Open())

	s.await(changed, func() bool { return changed.Data["v"] == "one" })
	s.awaitDrifted(item, metav1.ConditionFalse)
}

// gadget is a CustomResourceDefinition of the namespace of a test.
func (s *served) gadget() *apiextensionsv1.CustomResourceDefinition {
	keep := true
	group := s.namespace + ".example.com"
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep}},
			}},
		},
	}
}

// serveGadgets makes the cluster have the kind.
func (s *served) serveGadgets() *apiextensionsv1.CustomResourceDefinition {
	s.t.Helper()
	crd := s.gadget()
	require.NoError(s.t, s.p.Client().Create(s.t.Context(), crd))
	s.t.Cleanup(func() { _ = s.p.Client().Delete(context.Background(), s.gadget()) })
	s.await(crd, func() bool {
		return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		})
	})
	return crd
}

func TestDriftOfAKindThatVanishesAndComesBack(t *testing.T) {
	t.Parallel()
	s := serve(t)
	crd := s.serveGadgets()
	item := s.create(header + `manifests:
- {manifest: {apiVersion: NS.example.com/v1, kind: Gadget, metadata: {name: g, namespace: NS}, spec: {v: one}}}
- {manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS}, data: {v: one}}}
driftDetection: {mode: enabled}
`)
	s.finish(item)
	require.NoError(t, s.p.Client().Delete(t.Context(), crd))
	require.NoError(t, s.p.AwaitGone(t.Context(), crd))
	s.await(item, func() bool {
		return drifted(item) != nil && strings.Contains(drifted(item).Message, "cannot create Gadget") && !strings.Contains(drifted(item).Message, "terminating")
	})
	s.standsStill(item, s.namespace)

	changed := s.configMap("a")
	s.meddle(changed, `{"data":{"v":"meddled"}}`)
	s.await(changed, func() bool { return changed.Data["v"] == "one" }) // the other kind goes on

	s.serveGadgets()
	gadget := &unstructured.Unstructured{}
	gadget.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: "v1", Kind: "Gadget"})
	require.Eventually(t, func() bool {
		return s.p.Client().Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "g"}, gadget) == nil
	}, time.Minute, 100*time.Millisecond, "what went with its kind is made again")
}

func TestDriftIsCorrectedAsTheServiceAccount(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.allow("strong")
	item := s.create(drifting("{mode: enabled}"))
	s.finish(item)
	s.actAs(item, "strong")
	s.begin(item)
	s.finish(item)
	s.standsStill(item, s.namespace)
	since := time.Now()
	changed := s.configMap("a")
	s.meddle(changed, `{"data":{"v":"meddled"}}`)
	s.await(changed, func() bool { return changed.Data["v"] == "one" })
	assert.Equal(t, map[string]bool{"system:serviceaccount:" + s.namespace + ":strong": true}, s.actors(since))
}
