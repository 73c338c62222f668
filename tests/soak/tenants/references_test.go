// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// judgements say of every field of our namespaced kinds that names a namespace what one of somebody else does.
var judgements = map[string]string{
	"Context .verificationSignatures{}.caCertificateSecretReference.namespace": "refused",
	"Context .verificationSignatures{}.publicKeySecretReference.namespace":     "refused",
	"Installation .spec.blueprint.sourceRef.namespace":                         "refused",
	"Installation .spec.componentDescriptor.sourceRef.namespace":               "refused",
	"Installation .spec.imports.data[].configMapRef.namespace":                 "ignored",
	"Installation .spec.imports.data[].secretRef.namespace":                    "ignored",
	"Execution .spec.deployItems[].target.namespace":                           "ignored",
	"DeployItem .spec.target.namespace":                                        "ignored",
	"Target .spec.secretRef.namespace":                                         "ignored",
	"TargetSync .spec.secretRef.namespace":                                     "ignored",
	"TargetSync .spec.sourceNamespace":                                         "of the source cluster",
	// What controllers have found out. The name is read, in the own namespace.
	"DeployItem .status.exportRef.namespace":      "status",
	"DeployItem .status.sources[].namespace":      "status",
	"Execution .status.exportRef.namespace":       "status",
	"Installation .status.executionRef.namespace": "status",
	"Installation .status.sources[].namespace":    "status",
}

// TestGateEveryFieldWithANamespaceIsJudged walks over the definitions of the kinds that users of a namespace write.
func TestGateEveryFieldWithANamespaceIsJudged(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "config", "crd", "bases", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var found []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		definition := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, yaml.Unmarshal(raw, definition))
		if definition.Spec.Scope != apiextensionsv1.NamespaceScoped {
			continue // administrators and agents write these
		}
		for _, version := range definition.Spec.Versions {
			found = append(found, namespacesIn(version.Schema.OpenAPIV3Schema, definition.Spec.Names.Kind+" ")...)
		}
	}
	for _, field := range found {
		assert.NotEmpty(t, judgements[field], "say in judgements what a foreign namespace does in %s, and add a row to the tests", field)
	}
	for field := range judgements {
		assert.Contains(t, found, field)
	}
}

// namespacesIn are the paths of fields that name namespaces.
func namespacesIn(schema *apiextensionsv1.JSONSchemaProps, path string) (all []string) {
	for name := range schema.Properties {
		property, at := schema.Properties[name], path+"."+name
		if strings.HasSuffix(strings.ToLower(strings.TrimSuffix(name, "s")), "namespace") {
			all = append(all, at)
		}
		all = append(all, namespacesIn(&property, at)...)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		all = append(all, namespacesIn(schema.Items.Schema, path+"[]")...)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		all = append(all, namespacesIn(schema.AdditionalProperties.Schema, path+"{}")...)
	}
	slices.Sort(all)
	return all
}

// estate puts into a namespace what references name: a Secret and a ConfigMap with a value, the content of a Target in a Secret, and a Target.
func estate(s *landscape.Scene, value, server string) {
	s.T.Helper()
	require.NoError(s.T, s.Client().Create(s.Ctx, &corev1.Secret{ObjectMeta: s.Named("prey"), StringData: map[string]string{"key": value}}))
	require.NoError(s.T, s.Client().Create(s.Ctx, &corev1.ConfigMap{ObjectMeta: s.Named("prey"), Data: map[string]string{"key": value}}))
	access := s.DeployerAccess()
	s.Target("prey")
	if server != "" {
		s.TargetOf("prey", &rest.Config{Host: server, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
		access = strings.ReplaceAll(access, s.RestConfig.Host, server)
	}
	require.NoError(s.T, s.Client().Create(s.Ctx, &corev1.Secret{ObjectMeta: s.Named("access"), StringData: map[string]string{"kubeconfig": access}}))
}

// twoTenants returns a tenant, and one whose objects have the same names and other contents. Nothing answers at the clusters of the latter.
func twoTenants(t *testing.T) (tenant, prey *landscape.Scene) {
	t.Helper()
	tenant, prey = landscape.NewScene(t), landscape.NewScene(t)
	estate(tenant, "own", "")
	estate(prey, "theirs", "https://127.0.0.1:1")
	return tenant, prey
}

func TestGateForeignNamespacesInReferencesAreIgnored(t *testing.T) {
	s, prey := twoTenants(t)
	h := &hostile{Scene: s}
	s.Put("Target", "by-secret", object{"spec": object{
		"type": v1alpha1.KubernetesClusterTargetType, "secretRef": object{"name": "access", "namespace": prey.Namespace, "key": "kubeconfig"},
	}})
	data := []any{
		object{"name": "secret", "secretRef": object{"name": "prey", "namespace": prey.Namespace, "key": "key"}},
		object{"name": "map", "configMapRef": object{"name": "prey", "namespace": prey.Namespace, "key": "key"}},
	}
	s.Target("cluster")
	item := func(name, target string) string {
		return landscape.ConfigItem(name, target, s.Namespace, name, "value: {{ .imports.secret }} {{ .imports.map }}")
	}
	template := "deployItems:\n" + item("of-item", "{name: prey, namespace: "+prey.Namespace+"}") + item("of-target", "{name: by-secret}")
	require.NoError(t, h.create("references", object{"deployExecutions": landscape.GoTemplate(template)}, object{"imports": object{
		"data": data, "targets": []any{object{"name": "cluster", "target": "cluster"}},
	}}))
	s.Succeeded("references")
	for _, name := range []string{"of-item", "of-target"} {
		assert.Equal(t, map[string]string{"value": "own own"}, s.Config(name))
	}
	s.Put("TargetSync", "sync", object{"spec": object{
		"secretRef": object{"name": "access", "namespace": prey.Namespace, "key": "kubeconfig"}, "sourceNamespace": s.Namespace, "secretNameExpression": "none",
	}})
	sync := &v1alpha1.TargetSync{ObjectMeta: s.Named("sync")}
	require.NoError(t, s.Await(s.Ctx, sync, func() bool { return conditions.IsReady(sync) }))
	s.Delete(sync)
	s.Gone(sync)
}

func TestGateForeignNamespacesInReferencesAreRefused(t *testing.T) {
	s, prey := twoTenants(t)
	h := &hostile{Scene: s}
	s.Target("cluster")
	source := object{"kind": "GitRepository", "name": "prey", "namespace": prey.Namespace}
	repository := object{"type": "fluxSource", "sourceRef": source}
	key := object{"name": "prey", "namespace": prey.Namespace, "key": "key"}
	s.Put("Context", "repository", object{"repositoryContext": repository})
	for _, field := range []string{"publicKeySecretReference", "caCertificateSecretReference"} {
		s.Put("Context", strings.ToLower(field), object{"verificationSignatures": object{"release": object{field: key}}})
	}
	component := func(more object) object {
		ref := object{"componentName": "example.com/prey", "version": "1.0.0"}
		for name, value := range more {
			ref[name] = value
		}
		return object{"ref": ref}
	}
	inPlace := object{"inline": object{"meta": object{"schemaVersion": "v2"}, "component": object{
		"name": "example.com/own", "version": "1.0.0", "provider": "own",
		"repositoryContexts": []any{}, "sources": []any{}, "componentReferences": []any{}, "resources": []any{},
	}}}
	signature := object{"signatureName": "release"}
	fromComponent := object{"ref": object{"resourceName": "blueprint"}}
	chart := "deployItems:\n" + chartItem("chart", s.Namespace, nil)
	before, _, _ := strings.Cut(chart, "    chart: ")
	text, err := json.Marshal(source)
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		field string
		parts object
	}{
		"blueprint":  {"spec.blueprint.sourceRef", object{"blueprint": object{"sourceRef": source}}},
		"component":  {"spec.componentDescriptor.sourceRef", object{"blueprint": fromComponent, "componentDescriptor": object{"sourceRef": source}}},
		"repository": {"GitRepository", object{"blueprint": fromComponent, "componentDescriptor": component(object{"repositoryContext": repository})}},
		"of-context": {"GitRepository", object{"blueprint": fromComponent, "componentDescriptor": component(nil), "context": "repository"}},
		"public-key": {"verificationSignatures[release].publicKeySecretReference", object{
			"componentDescriptor": inPlace, "context": "publickeysecretreference", "verification": signature,
		}},
		"authority": {"verificationSignatures[release].caCertificateSecretReference", object{
			"componentDescriptor": inPlace, "context": "cacertificatesecretreference", "verification": signature,
		}},
		"source-of-chart": {"GitRepository", nil},
	} {
		t.Run(name, func(t *testing.T) {
			blueprint := object{}
			if tc.parts == nil {
				blueprint["deployExecutions"] = landscape.GoTemplate(before + "    chart: {sourceRef: " + string(text) + "}\n")
			}
			require.NoError(t, h.create(name, blueprint, tc.parts))
			failed := s.Failed(name)
			assert.Contains(t, failed.Message, tc.field)
			assert.Contains(t, failed.Message, prey.Namespace+"/prey")
			assert.Contains(t, failed.Message, "--no-cross-namespace-refs=false", "it is refused by the rule, whether it exists or not")
			inst := s.Installation(name)
			require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(inst), inst))
			assert.NotContains(t, fmt.Sprint(inst.Status), "theirs")
		})
	}
}
