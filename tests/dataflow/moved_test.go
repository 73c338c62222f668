// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// faraway is a second cluster that is started once for all tests that deploy to it.
var faraway struct {
	sync.Once
	cluster *platform.Cluster
	err     error
}

// twoSites is a scene with a second cluster to deploy to, where its namespace exists as well.
type twoSites struct {
	*scene
	far *platform.Cluster
	// access to the second cluster.
	access *rest.Config
}

func newTwoSites(t *testing.T) *twoSites {
	t.Helper()
	s := newScene(t)
	faraway.Do(func() {
		faraway.cluster, faraway.err = s.SecondCluster(context.Background(), "faraway", platform.Options{Audit: true})
	})
	require.NoError(t, faraway.err)
	access, err := faraway.cluster.NewUser(s.Deployer(), landscape.AllRights...)
	require.NoError(t, err)
	require.NoError(t, faraway.cluster.Client().Create(s.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}))
	return &twoSites{scene: s, far: faraway.cluster, access: access}
}

// near and distant report whether a ConfigMap is on the first and on the second cluster.
func (s *twoSites) near(name string) bool    { return s.exists(s.config(name)) }
func (s *twoSites) distant(name string) bool { return s.has(s.far.Client(), name) }

func (s *twoSites) has(c client.Client, name string) bool {
	s.T.Helper()
	config := s.config(name)
	err := c.Get(s.Ctx, client.ObjectKeyFromObject(config), config)
	require.NoError(s.T, client.IgnoreNotFound(err))
	return err == nil
}

// fluxTarget makes a Target of the second cluster as Flux does, with its Secret.
func (s *twoSites) fluxTarget(name string) (*v1alpha1.Target, *corev1.Secret) {
	s.T.Helper()
	kubeconfig, err := platform.KubeconfigFor(s.access)
	require.NoError(s.T, err)
	secret := &corev1.Secret{ObjectMeta: s.applied(name), Data: map[string][]byte{"kubeconfig": kubeconfig}}
	target := &v1alpha1.Target{ObjectMeta: s.applied(name), Spec: v1alpha1.TargetSpec{
		Type: clusterType, SecretRef: &v1alpha1.LocalSecretReference{Name: name, Key: "kubeconfig"},
	}}
	require.NoError(s.T, s.Client().Create(s.Ctx, secret))
	require.NoError(s.T, s.Client().Create(s.Ctx, target))
	return target, secret
}

// nestedSpec is a root that deploys nothing itself, with one sub-installation that deploys a ConfigMap to the imported Target.
func nestedSpec(target, sub, config string) object {
	child := object{
		"name": sub,
		"blueprint": inTemplate(object{
			"imports":          list{object{"name": "cluster", "targetType": clusterType}},
			"deployExecutions": goTemplate("deployItems:\n" + configItem("it", "{import: cluster}", config, "x")),
		}),
		"imports": object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
	}
	return object{
		"blueprint": inline(object{
			"imports":          list{object{"name": "cluster", "targetType": clusterType}},
			"subinstallations": list{child},
		}),
		"imports": object{"targets": list{object{"name": "cluster", "target": target}}},
	}
}

func TestASwitchedTargetImportLeavesNothingBehindInSubinstallations(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ sub, config string }{
		"same sub-installation": {sub: "first", config: "deployed"},
		"replaced in one edit":  {sub: "second", config: "successor"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newTwoSites(t)
			s.Target("near")
			s.TargetOf("far", s.access)
			s.install("root", nestedSpec("near", "first", "deployed"))
			s.succeeded("root")
			require.True(t, s.near("deployed"))

			s.install("root", nestedSpec("far", test.sub, test.config))
			s.succeeded("root")
			assert.False(t, s.near("deployed"))
			assert.True(t, s.distant(test.config))

			root := s.Installation("root")
			s.Delete(root)
			s.Gone(root)
			assert.False(t, s.distant(test.config))
		})
	}
}

func TestANamespaceWithSubinstallationsIsDeletedByTargetsOfFlux(t *testing.T) {
	s := newTwoSites(t)
	target, secret := s.fluxTarget("far")
	s.install("root", nestedSpec("far", "sub", "deployed"))
	s.succeeded("root")
	require.True(t, s.distant("deployed"))
	s.held(target, secret)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}

	s.Delete(namespace)

	s.Gone(s.Installation("root"), target, secret, namespace)
	assert.False(t, s.distant("deployed"))
}

func TestForceDeleteEndsTheDeletionOfANamespace(t *testing.T) {
	s := newTwoSites(t)
	s.TargetOf("far", s.access)
	s.install("root", nestedSpec("far", "sub", "deployed"))
	s.succeeded("root")
	held := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`))
	require.NoError(t, s.far.Client().Patch(s.Ctx, s.config("deployed"), held))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
	s.Delete(namespace)
	s.Gone(&v1alpha1.Target{ObjectMeta: s.Named("far")})
	root := s.Installation("root")

	s.Annotate(root, v1alpha1.ForceDeleteAnnotation, "true")

	s.Gone(root, namespace)
	assert.True(t, s.distant("deployed"))
	told := s.told(namespace)
	assert.Contains(t, told, "without uninstalling 1 deploy items")
	assert.Contains(t, told, "deployed", "what is left is named, because no ConfigMap can hold it")
}

// told returns what the event about a namespace says.
func (s *twoSites) told(namespace *corev1.Namespace) string {
	s.T.Helper()
	events := &corev1.EventList{}
	about := client.MatchingFields{"involvedObject.kind": "Namespace", "involvedObject.name": namespace.Name, "reason": "ForceDeleted"}
	var messages []string
	require.Eventually(s.T, func() bool {
		if s.Client().List(s.Ctx, events, client.InNamespace(metav1.NamespaceDefault), about) != nil {
			return false
		}
		for _, event := range events.Items {
			messages = append(messages, event.Message)
		}
		return len(messages) > 0
	}, landscape.Patience, landscape.Tick, "nobody is told")
	return strings.Join(messages, "\n")
}

func TestUpdateOnChangeOnlySeesWhereTheTargetLeads(t *testing.T) {
	s := newTwoSites(t)
	s.Target("same")
	s.Target("cluster")
	item := configItem("it", "{import: cluster}", "deployed", "x") + "  updateOnChangeOnly: true\n"
	s.install("root", onCluster("deployItems:\n"+item))
	first := s.succeeded("root")
	require.True(t, s.itemsOf("root")[0].Spec.UpdateOnChangeOnly)
	require.True(t, s.near("deployed"))
	s.reconcile("root")
	second := s.Ran("root", first.Status.JobID, v1alpha1.PhaseSucceeded)
	assert.Contains(t, itemMessage(s.itemsOf("root")[0]), "Nothing changed")

	s.TargetOf("cluster", s.access)
	s.reconcile("root")
	s.Ran("root", second.Status.JobID, v1alpha1.PhaseSucceeded)

	assert.True(t, s.distant("deployed"))
	assert.False(t, s.near("deployed"))
}

func itemMessage(item *v1alpha1.DeployItem) string {
	for _, condition := range item.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Message
		}
	}
	return ""
}
