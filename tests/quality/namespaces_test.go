// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"encoding/json"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	klabels "k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/agent"
)

// shownParts are the parts of Flux Kustomizations in the example after a text on a page.
func shownParts(t *testing.T, page, text string) []kustomizev1.KustomizationSpec {
	t.Helper()
	var parts []kustomizev1.KustomizationSpec
	for _, document := range documents(exampleAfter(t, page, text, "yaml")) {
		whole, part := kustomizev1.Kustomization{}, kustomizev1.KustomizationSpec{}
		if err := yaml.UnmarshalStrict([]byte(document), &whole); err == nil {
			part = whole.Spec
		} else {
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), &part), document)
		}
		parts = append(parts, part)
	}
	return parts
}

// agentWith returns what Flux applies for an agent whose Kustomization has a part of docs/agent.md.
func agentWith(t *testing.T, part kustomizev1.KustomizationSpec) []*unstructured.Unstructured {
	t.Helper()
	part.Path = "./flux/agent"
	if part.PostBuild == nil {
		part.PostBuild = &kustomizev1.PostBuild{Substitute: map[string]string{"environment": "my-env"}}
	}
	return applied(t, part)
}

// configurationOf is the configuration file of the agent among objects.
func configurationOf(t *testing.T, objects []*unstructured.Unstructured) *agent.Configuration {
	t.Helper()
	maps := typed[corev1.ConfigMap](t, objects, "ConfigMap")
	require.Len(t, maps, 1)
	config, unknown, err := agent.ReadConfiguration([]byte(maps[0].Data["config.yaml"]))
	require.NoError(t, err)
	require.Empty(t, unknown)
	return config
}

// requireMoved checks that nothing of objects names ls-system, and that bindings give rights to accounts among the objects or to those named.
func requireMoved(t *testing.T, objects []*unstructured.Unstructured, others ...string) {
	t.Helper()
	accounts := map[string]bool{}
	for _, other := range others {
		accounts[other] = true
	}
	for _, account := range typed[corev1.ServiceAccount](t, objects, "ServiceAccount") {
		accounts[account.Namespace+"/"+account.Name] = true
	}
	for _, object := range objects {
		raw, err := json.Marshal(object)
		require.NoError(t, err)
		assert.NotContains(t, string(raw), "ls-system", "%s %s", object.GetKind(), object.GetName())
	}
	subjects := map[string][]rbacv1.Subject{}
	for _, binding := range typed[rbacv1.RoleBinding](t, objects, "RoleBinding") {
		subjects[binding.Name] = binding.Subjects
	}
	for _, binding := range typed[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding") {
		subjects[binding.Name] = binding.Subjects
	}
	for name, all := range subjects {
		for _, subject := range all {
			assert.True(t, accounts[subject.Namespace+"/"+subject.Name], "%s gives rights to %s/%s, which is not there", name, subject.Namespace, subject.Name)
		}
	}
}

func TestDocumentedNamespaces(t *testing.T) {
	t.Run("of an agent", func(t *testing.T) {
		part := shownParts(t, "docs/agent.md", "Agents that must not do so need namespaces of their own")[0]
		part.Components = []string{"cluster-rights"}
		objects := agentWith(t, part)
		requireMoved(t, objects)
		namespace := part.PostBuild.Substitute["namespace"]
		assert.Equal(t, namespace, configurationOf(t, objects).Namespace)
		assert.Equal(t, namespace, typed[corev1.Namespace](t, objects, "Namespace")[0].Name)
		assert.Equal(t, namespace, typed[appsv1.Deployment](t, objects, "Deployment")[0].Namespace)
	})
	for _, folder := range []string{"install", "webhooks", "ui"} {
		t.Run("of "+folder, func(t *testing.T) {
			objects := applied(t, kustomizev1.KustomizationSpec{Path: "./flux/" + folder, TargetNamespace: "landscaper"})
			requireMoved(t, objects, "landscaper/landscaper-controller")
		})
	}
	for _, folder := range []string{"agent-access", "own-environment"} {
		t.Run("where the landscaper runs, for "+folder, func(t *testing.T) {
			objects := applied(t, kustomizev1.KustomizationSpec{
				Path:      "./flux/" + folder,
				PostBuild: &kustomizev1.PostBuild{Substitute: map[string]string{"environment": "my-env", "landscaper_namespace": "landscaper"}},
			})
			requireMoved(t, objects, "landscaper/landscaper-controller")
		})
	}
	parts := shownParts(t, "docs/operate/install.md", "\n## Another namespace\n")
	require.Len(t, parts, 2)
	for i, inside := range []string{"ls-containers", "flux-system"} {
		t.Run("by patches of "+parts[i].Path, func(t *testing.T) {
			objects := applied(t, parts[i])
			requireMoved(t, objects)
			found := map[string]bool{}
			for _, object := range objects {
				found[object.GetNamespace()] = true
			}
			assert.True(t, found["landscaper"])
			assert.True(t, found[inside], "the other namespace stays")
		})
	}
}

func TestDocumentedRightsOfAgents(t *testing.T) {
	objects := agentWith(t, shownParts(t, "docs/agent.md", "Further ones come by a patch in its Kustomization")[0])

	config := configurationOf(t, objects)
	assert.Equal(t, agent.ClusterRights, config.HostRights)
	usual := configurationOf(t, agentWith(t, kustomizev1.KustomizationSpec{}))
	config.HostRights, config.TargetNamespaces = usual.HostRights, usual.TargetNamespaces
	assert.Equal(t, usual, config, "the patch repeats what flux/agent sets")
	admin := false
	for _, binding := range typed[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding") {
		admin = admin || binding.RoleRef.Name == "cluster-admin"
	}
	assert.True(t, admin)
}

// way is where a Pod connects to: an address, or a Pod.
type way struct {
	address  string
	pod      peer
	port     int32
	protocol corev1.Protocol
}

// leads reports whether an egress rule of a policy allows a way.
func leads(t *testing.T, rule networkingv1.NetworkPolicyEgressRule, to way) bool {
	t.Helper()
	isPort, isPeer := len(rule.Ports) == 0, len(rule.To) == 0
	for _, p := range rule.Ports {
		isPort = isPort || p.Port.IntVal == to.port && (p.Protocol == nil && to.protocol == corev1.ProtocolTCP || p.Protocol != nil && *p.Protocol == to.protocol)
	}
	for _, p := range rule.To {
		if p.IPBlock != nil {
			isPeer = isPeer || to.address != "" && inBlock(p.IPBlock, netip.MustParseAddr(to.address))
			continue
		}
		namespaces, err := metav1.LabelSelectorAsSelector(p.NamespaceSelector)
		require.NoError(t, err)
		pods, err := metav1.LabelSelectorAsSelector(p.PodSelector)
		require.NoError(t, err)
		isPeer = isPeer || namespaces.Matches(klabels.Set{corev1.LabelMetadataName: to.pod.namespace}) && pods.Matches(klabels.Set(to.pod.labels))
	}
	return isPort && isPeer
}

func inBlock(block *networkingv1.IPBlock, address netip.Addr) bool {
	for _, except := range block.Except {
		if netip.MustParsePrefix(except).Contains(address) {
			return false
		}
	}
	return netip.MustParsePrefix(block.CIDR).Contains(address)
}

func TestEgressOfAFence(t *testing.T) {
	shown := &networkingv1.NetworkPolicy{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(exampleAfter(t, "docs/agent.md", "One for all Pods of the namespace", "yaml")), shown))
	left := agentWith(t, shownParts(t, "docs/agent.md", "Policies add up")[0])
	assert.Empty(t, typed[networkingv1.NetworkPolicy](t, left, "NetworkPolicy"), "no other policy opens what the one of the page closes")
	policies := map[string]*networkingv1.NetworkPolicy{
		"of the page":   shown,
		"of an agent":   typed[networkingv1.NetworkPolicy](t, agentWith(t, kustomizev1.KustomizationSpec{}), "NetworkPolicy")[0],
		"of containers": typed[networkingv1.NetworkPolicy](t, builtFrom(t, "flux/container-deployer"), "NetworkPolicy")[0],
	}
	notification := peer{"flux-system", map[string]string{"app": "notification-controller"}}
	for name, c := range map[string]struct {
		to       way
		page, by bool
	}{
		"the landscaper cluster":    {way{address: "203.0.113.10", port: 443, protocol: corev1.ProtocolTCP}, true, true},
		"the own API server":        {way{address: "10.0.0.10", port: 6443, protocol: corev1.ProtocolTCP}, true, true},
		"somewhere else":            {way{address: "203.0.113.99", port: 443, protocol: corev1.ProtocolTCP}, false, true},
		"events":                    {way{pod: notification, port: 9090, protocol: corev1.ProtocolTCP}, true, false}, // an address to the others
		"DNS":                       {way{address: "10.0.0.53", port: 53, protocol: corev1.ProtocolUDP}, true, true},
		"the DNS cache of a node":   {way{address: "169.254.20.10", port: 53, protocol: corev1.ProtocolUDP}, true, true},
		"the cache by TCP":          {way{address: "169.254.20.10", port: 53, protocol: corev1.ProtocolTCP}, true, true},
		"another port of the cache": {way{address: "169.254.20.10", port: 80, protocol: corev1.ProtocolTCP}, false, false},
		"the metadata of a cloud":   {way{address: "169.254.169.254", port: 80, protocol: corev1.ProtocolTCP}, false, false},
		"that of another, by IPv6":  {way{address: "fd00:ec2::254", port: 80, protocol: corev1.ProtocolTCP}, false, false},
		"an address by IPv6":        {way{address: "2001:db8::1", port: 443, protocol: corev1.ProtocolTCP}, false, true},
	} {
		for of, policy := range policies {
			open := false
			for _, rule := range policy.Spec.Egress {
				open = open || leads(t, rule, c.to)
			}
			assert.Equal(t, of == "of the page" && c.page || of != "of the page" && c.by, open, "%s, by the policy %s", name, of)
		}
	}
}

// oldestKubernetes finds what pages say about it.
var oldestKubernetes = regexp.MustCompile(`from 1\.[0-9]{2} on|1\.[0-9]{2} (and|or) (newer|later)|Kubernetes 1\.[0-9]{2}\+|at least (Kubernetes )?1\.[0-9]{2}\b`)

func TestPagesNameOneOldestKubernetes(t *testing.T) {
	pages, err := filepath.Glob(loaded(t).Path("docs/*.md"))
	require.NoError(t, err)
	for _, path := range append(pages, loaded(t).Path("README.md")) {
		page, err := filepath.Rel(loaded(t).Path("."), path)
		require.NoError(t, err)
		said := oldestKubernetes.FindAllString(string(content(t, page)), -1)
		if page == "docs/releases.md" {
			assert.Equal(t, []string{"1.31 and newer"}, said)
			continue
		}
		assert.Empty(t, said, "%s: docs/releases.md says it", page)
	}
	selectable := 0
	for _, definition := range typed[apiextensionsv1.CustomResourceDefinition](t, builtFrom(t, "flux/crds"), "CustomResourceDefinition") {
		for _, version := range definition.Spec.Versions {
			selectable += len(version.SelectableFields)
		}
	}
	assert.Positive(t, selectable, "Kubernetes 1.31 is the first that selects by fields of a CRD; without them an older one does")
	assert.Contains(t, strings.ToLower(string(content(t, "docs/releases.md"))), "select deployitems by their type")
}
