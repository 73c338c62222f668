// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	klabels "k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// agentOf returns what Flux applies for one agent: flux/agent with all its components.
func agentOf(t *testing.T, variables map[string]string) []*unstructured.Unstructured {
	t.Helper()
	return substituted(t, "resources: [\"{}/agent\"]\ncomponents: [\"{}/agent/cluster-rights\"]\n", variables)
}

// substituted returns what Flux applies of a kustomization: it substitutes object by object.
func substituted(t *testing.T, kustomization string, variables map[string]string) []*unstructured.Unstructured {
	t.Helper()
	return substitute(t, overlaid(t, kustomization), variables)
}

// substitute puts the values of variables into objects, as Flux does after it has built them.
func substitute(t *testing.T, objects []*unstructured.Unstructured, variables map[string]string) []*unstructured.Unstructured {
	t.Helper()
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		require.NoError(t, err)
		result, err := envsubst.Eval(string(text), func(name string) (string, bool) {
			value, isSet := variables[name]
			return value, isSet
		})
		require.NoError(t, err)
		object.Object = nil
		require.NoError(t, yaml.Unmarshal([]byte(result), &object.Object), result)
	}
	return objects
}

func TestNamesOfEnvironmentsStayTexts(t *testing.T) {
	for folder, kustomization := range map[string]string{
		"flux/agent":           "resources: [\"{}/agent\"]\ncomponents: [\"{}/agent/cluster-rights\"]\n",
		"flux/agent-access":    "resources: [\"{}/agent-access\"]\n",
		"flux/own-environment": "resources: [\"{}/own-environment\"]\n",
	} {
		usual, err := json.Marshal(substituted(t, kustomization, map[string]string{"environment": "north"}))
		require.NoError(t, err)
		require.Contains(t, string(usual), `"north"`)
		for _, name := range []string{"123", "true", "null", "1e3", "0x1f"} {
			t.Run(folder+" "+name, func(t *testing.T) {
				found, err := json.Marshal(substituted(t, kustomization, map[string]string{"environment": name}))
				require.NoError(t, err)
				assert.JSONEq(t, strings.ReplaceAll(string(usual), "north", name), string(found))
			})
		}
	}
}

// secretsOf are the Secrets that the Pods of a Deployment mount.
func secretsOf(deployment *appsv1.Deployment) []string {
	var names []string
	for _, volume := range deployment.Spec.Template.Spec.Volumes {
		if volume.Secret != nil {
			names = append(names, volume.Secret.SecretName)
		}
	}
	return names
}

func TestAgentsBesideEachOtherShareNothing(t *testing.T) {
	north := agentOf(t, map[string]string{"environment": "north"})
	south := agentOf(t, map[string]string{"environment": "south", "kubeconfig_secret": "south-kubeconfig"})

	t.Run("no object but the namespace, which the first one keeps", func(t *testing.T) {
		key := func(object *unstructured.Unstructured) string {
			return object.GroupVersionKind().GroupKind().String() + " " + object.GetNamespace() + "/" + object.GetName()
		}
		applied := map[string]bool{}
		for _, object := range north {
			applied[key(object)] = object.GetAnnotations()["kustomize.toolkit.fluxcd.io/ssa"] != "IfNotPresent"
		}
		for _, object := range south {
			assert.False(t, applied[key(object)], "both have %s", key(object))
		}
	})
	ofNorth, ofSouth := typed[appsv1.Deployment](t, north, "Deployment")[0], typed[appsv1.Deployment](t, south, "Deployment")[0]
	t.Run("no Pod", func(t *testing.T) {
		pods := klabels.Set(ofSouth.Spec.Template.Labels)
		own, err := metav1.LabelSelectorAsSelector(ofSouth.Spec.Selector)
		require.NoError(t, err)
		assert.True(t, own.Matches(pods))
		other, err := metav1.LabelSelectorAsSelector(ofNorth.Spec.Selector)
		require.NoError(t, err)
		assert.False(t, other.Matches(pods))
		policy, err := metav1.LabelSelectorAsSelector(&typed[networkingv1.NetworkPolicy](t, north, "NetworkPolicy")[0].Spec.PodSelector)
		require.NoError(t, err)
		assert.True(t, policy.Matches(klabels.Set(ofNorth.Spec.Template.Labels)))
		assert.False(t, policy.Matches(pods))
	})
	t.Run("no access to the landscaper cluster", func(t *testing.T) {
		assert.Equal(t, []string{"landscaper-agent-kubeconfig"}, secretsOf(ofNorth), "what installations have")
		assert.Equal(t, []string{"south-kubeconfig"}, secretsOf(ofSouth))
	})
	t.Run("each has the account that is given its rights", func(t *testing.T) {
		for name, objects := range map[string][]*unstructured.Unstructured{"landscaper-agent-north": north, "landscaper-agent-south": south} {
			assert.Equal(t, name, typed[appsv1.Deployment](t, objects, "Deployment")[0].Spec.Template.Spec.ServiceAccountName)
			given := 0
			for _, object := range objects {
				subjects, _, err := unstructured.NestedSlice(object.Object, "subjects")
				require.NoError(t, err)
				for _, subject := range subjects {
					assert.Equal(t, name, subject.(map[string]any)["name"], object.GetName())
					given++
				}
			}
			assert.Equal(t, 3, given, "a role of the namespace, one of the cluster, and all rights")
		}
	})
}
