// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// refusals are the documents of the corpus that no API server takes, whatever its CRDs say, with the words that show it. They
// explain ideas to readers; nobody ever applied them.
var refusals = map[string]string{
	"examples/31-Example-Execution.yaml#0":                                "name or generateName is required",
	"examples/40-Example-DeployItem.yaml":                                 "could not find expected ':'",
	"examples/deploy-items/21-Helm-cluster-target.yaml#0":                 "cannot unmarshal string into Go struct field ObjectMeta.annotations",
	"examples/components/00-installations/external-dns-management.yaml#1": "metadata.ownerReferences.uid",
	"examples/components/00-installations/nginx-ingress.yaml#1":           "metadata.ownerReferences.uid",
	"examples/components/00-installations/nginx-ingress.yaml#2":           "Object 'apiVersion' is missing",
}

// placeholders are the values that the scripts of the corpus would fill in.
var placeholders = strings.NewReplacer(
	"${namespace}", "default", "${targetNamespace}", "default", "${name}", "my-cluster", "${color}", "blue",
	"${repoBaseUrl}", "example.com/components", "${clusterrolebinding_name}", "corpus",
	"${serviceaccount_name}", "corpus", "${serviceaccount_namespace}", "default", "${kubeconfig}", "      {}",
	`{{ dataObjectName ""  "root.key1" }}`, "root.key1", "{{ .Namespace }}", "default", `\{\{`, "{{", `\}\}`, "}}",
)

var (
	kindLine  = regexp.MustCompile(`(?m)^kind: *"?(\w+)`)
	groupLine = regexp.MustCompile(`(?m)^apiVersion: *"?([\w.-]+)/`)
)

// notForTheServer says why a file is not meant for an API server, nothing when it is.
func notForTheServer(path, text string) string {
	kind, group := firstGroup(kindLine, text), firstGroup(groupLine, text)
	switch {
	case slices.Contains(strings.Split(path, "/"), "chart"):
		return "a file of a Helm chart"
	case kind == "":
		return "not an object: it has no kind"
	case kind == "Blueprint", kind == "InstallationTemplate":
		return "the content of a blueprint"
	case group == "config.landscaper.gardener.cloud", group == "kustomize.config.k8s.io":
		return "the configuration of a program"
	case group == "landscaper.gardener.com":
		return "a sample of a group that no release served"
	}
	return ""
}

func firstGroup(pattern *regexp.Regexp, text string) string {
	if match := pattern.FindStringSubmatch(text); match != nil {
		return match[1]
	}
	return ""
}

// corpusFiles returns the manifests of the corpus, relative to its folder.
func corpusFiles(t *testing.T) []string {
	t.Helper()
	dir := landscape.Corpus(t)
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(strings.TrimSuffix(path, ".tpl"), ".yaml") {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		files = append(files, filepath.ToSlash(relative))
		return err
	}))
	require.NotEmpty(t, files)
	return files
}

// documents decodes the objects of a file.
func documents(text string) ([]*unstructured.Unstructured, error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

func TestEveryManifestOfTheCorpusIsAccepted(t *testing.T) {
	t.Parallel()
	p := platform.Shared(t)
	offered := 0
	for _, path := range corpusFiles(t) {
		text := placeholders.Replace(fill(t, path, nil))
		if reason := notForTheServer(path, text); reason != "" {
			t.Logf("%s: %s", path, reason)
			continue
		}
		objects, err := documents(text)
		if refusal := refusals[path]; refusal != "" {
			require.ErrorContains(t, err, refusal)
			t.Logf("%s: not YAML: %v", path, err)
			continue
		}
		require.NoError(t, err, path)
		for i, object := range objects {
			offered++
			document := fmt.Sprintf("%s#%d", path, i)
			t.Run(document, func(t *testing.T) { requireAnswer(t, p, object, refusals[document]) })
		}
	}
	assert.Greater(t, offered, 90)
}

// requireAnswer offers an object and checks that it is accepted, or refused in the expected words.
func requireAnswer(t *testing.T, p *platform.Platform, object *unstructured.Unstructured, refusal string) {
	t.Helper()
	for way, err := range offer(t.Context(), p, object) {
		if refusal == "" {
			require.NoError(t, err, way)
			continue
		}
		require.Error(t, err, way)
		if way == "create" {
			require.ErrorContains(t, err, refusal)
			t.Logf("refused: %v", err)
		}
	}
}

// offer asks the API server, without storing anything, whether it takes an object in the ways that people use: created, as by
// kubectl with its strict checks, and applied by the server, as Flux does. The namespaces of the corpus do not exist here.
func offer(ctx context.Context, p *platform.Platform, object *unstructured.Unstructured) map[string]error {
	object.SetNamespace("default")
	created, strict := object.DeepCopy(), object.DeepCopy()
	return map[string]error{
		"create": p.Client().Create(ctx, created, client.DryRunAll),
		"strict": p.Client().Create(ctx, strict, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)),
		"apply": p.Client().Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.DryRunAll,
			client.FieldOwner("corpus")),
	}
}

// served is what spec/api.md §1 says about one kind.
type served struct {
	plural, singular string
	shortNames       []string
	scope            apiextensionsv1.ResourceScope
	status           bool
	columns          map[string]string
}

const (
	age          = ".metadata.creationTimestamp"
	contextLabel = `.metadata.labels['data\.landscaper\.gardener\.cloud\/context']`
	keyLabel     = `.metadata.labels['data\.landscaper\.gardener\.cloud\/key']`
	indexLabel   = `.metadata.labels['data\.landscaper\.gardener\.cloud\/index']`
	mapKeyLabel  = `.metadata.labels['data\.landscaper\.gardener\.cloud\/targetmapkey']`
)

var servedKinds = map[string]served{
	"Installation": {"installations", "installation", []string{"inst"}, "Namespaced", true, map[string]string{
		"Phase": ".status.phase", "Execution": ".status.executionRef.name", "Age": age}},
	"Execution": {"executions", "execution", []string{"exec"}, "Namespaced", true, map[string]string{
		"Phase": ".status.phase", "ExportRef": ".status.exportRef.name", "Age": age}},
	"DeployItem": {"deployitems", "deployitem", []string{"di"}, "Namespaced", true, map[string]string{
		"Type": ".spec.type", "Phase": ".status.phase", "ExportRef": ".status.exportRef.name", "Age": age}},
	"Target": {"targets", "target", []string{"tgt", "tg"}, "Namespaced", true, map[string]string{
		"Type": ".spec.type", "Context": contextLabel, "Key": keyLabel, "Idx": indexLabel, "TMKey": mapKeyLabel, "Age": age}},
	"DataObject": {"dataobjects", "dataobject", []string{"dobj", "do"}, "Namespaced", false, map[string]string{
		"Context": contextLabel, "Key": keyLabel, "Age": age}},
	"Context": {"contexts", "context", []string{"ctx"}, "Namespaced", false, map[string]string{"Age": age}},
	"ComponentVersionOverwrites": {"componentversionoverwrites", "componentversionoverwrite",
		[]string{"compveroverwrite", "cvo"}, "Namespaced", false, nil},
	"TargetSync": {"targetsyncs", "targetsync", []string{"tgs"}, "Namespaced", true, nil},
	"SyncObject": {"syncobjects", "syncobject", []string{"so"}, "Namespaced", true, map[string]string{
		"PodName": ".spec.podName", "Kind": ".spec.kind", "Name": ".spec.name"}},
	"LsHealthCheck": {"lshealthchecks", "lshealthcheck", []string{"lshc"}, "Namespaced", false, map[string]string{
		"Status": ".status", "LastUpdateTime": ".lastUpdateTime"}},
	"CriticalProblems": {"criticalproblems", "criticalproblems", []string{"cps"}, "Namespaced", true, nil},
	"Environment":      {"environments", "environment", []string{"env"}, "Cluster", true, nil},
	"DeployerRegistration": {"deployerregistrations", "deployerregistration",
		[]string{"deployreg", "deployerreg", "dreg"}, "Cluster", true, nil},
}

func TestKindsAreServedUnderTheirNames(t *testing.T) {
	t.Parallel()
	p := platform.Shared(t)
	for kind, want := range servedKinds {
		t.Run(kind, func(t *testing.T) {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			name := want.plural + "." + v1alpha1.GroupName
			require.NoError(t, p.Client().Get(t.Context(), client.ObjectKey{Name: name}, crd))
			require.Len(t, crd.Spec.Versions, 1)
			version := crd.Spec.Versions[0]
			accepted := crd.Status.AcceptedNames
			columns := map[string]string{}
			for _, column := range version.AdditionalPrinterColumns {
				columns[column.Name] = column.JSONPath
			}
			assert.Equal(t, []string{kind, kind + "List", want.plural, want.singular},
				[]string{accepted.Kind, accepted.ListKind, accepted.Plural, accepted.Singular})
			assert.ElementsMatch(t, want.shortNames, accepted.ShortNames)
			assert.Equal(t, want.scope, crd.Spec.Scope)
			assert.Equal(t, want.status, version.Subresources != nil && version.Subresources.Status != nil)
			for column, path := range want.columns {
				assert.Equal(t, path, columns[column], column)
			}
			assert.Equal(t, "disabled", crd.Annotations["kustomize.toolkit.fluxcd.io/substitute"])
		})
	}
}

func TestHistoricFieldsAreAccepted(t *testing.T) {
	t.Parallel()
	p := platform.Shared(t)
	for name, spec := range map[string]string{
		"component descriptor imports": "imports: {componentDescriptors: [{name: cd, ref: {componentName: a.b/c, version: v1}}]}",
		"namespace of a Secret":        "imports: {data: [{name: a, secretRef: {name: s, key: k, namespace: other}}]}",
		"namespace of a ConfigMap":     "imports: {data: [{name: a, configMapRef: {name: s, key: k, namespace: other}}]}",
		"version of a data import":     "imports: {data: [{name: a, dataRef: b, version: v1}]}",
		"hints about siblings":         "optimization: {hasNoSiblingImports: true, hasNoSiblingExports: true}",
		"the duration none":            "automaticReconcile: {succeededReconcile: {interval: none}}",
		"an empty target list":         "imports: {targets: [{name: a, targets: []}]}",
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := documents("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Installation\nmetadata: {name: old}\n" +
				"spec:\n  blueprint: {ref: {resourceName: blueprint}}\n  " + spec)
			require.NoError(t, err)
			requireAnswer(t, p, objects[0], "")
		})
	}
}
