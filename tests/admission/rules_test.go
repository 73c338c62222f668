// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

var (
	commonOnce sync.Once
	common     *site
)

// shared is the main cluster with one replica, for tests that replace nothing.
func shared(t *testing.T) *site {
	t.Helper()
	t.Parallel()
	p := platform.Shared(t)
	commonOnce.Do(func() {
		s := prepare(t, p.Cluster)
		s.lasting = true
		s.start()
		s.awaitEnforced()
		common = s
	})
	require.NotNil(t, common, "the first test has started the webhooks")
	s := *common
	s.t = t
	return &s
}

func TestB101ConfigurationExists(t *testing.T) {
	s := shared(t)
	found := s.registered()
	var names []string
	for _, webhook := range found.Webhooks {
		names = append(names, webhook.Name)
		plural, _, _ := strings.Cut(webhook.Name, ".")
		require.Len(t, webhook.Rules, 1)
		assert.Equal(t, []admissionregistrationv1.OperationType{"CREATE", "UPDATE"}, webhook.Rules[0].Operations)
		assert.Equal(t, []string{plural}, webhook.Rules[0].Resources)
		assert.Equal(t, []string{"v1alpha1"}, webhook.Rules[0].APIVersions)
		assert.Equal(t, admissionregistrationv1.SideEffectClassNone, *webhook.SideEffects)
		assert.Equal(t, admissionregistrationv1.Fail, *webhook.FailurePolicy)
		assert.Equal(t, int32(15), *webhook.TimeoutSeconds)
		assert.Equal(t, []string{"v1"}, webhook.AdmissionReviewVersions)
	}
	assert.ElementsMatch(t, []string{
		"installations.validation.landscaper.gardener.cloud", "deployitems.validation.landscaper.gardener.cloud",
		"executions.validation.landscaper.gardener.cloud", "targets.validation.landscaper.gardener.cloud",
	}, names)
}

func TestB102InvalidExecutionRejected(t *testing.T) {
	s := shared(t)
	for name, bad := range map[string]client.Object{
		"readable":   execution(metav1.NamespaceDefault, "cycle", item("a", "b"), item("b", "a")),
		"compressed": compressed(t, metav1.NamespaceDefault, "cycle", item("a", "b"), item("b", "a")),
	} {
		err := s.Client().Create(t.Context(), bad)
		require.ErrorContains(t, err, `admission webhook "executions.validation.landscaper.gardener.cloud" denied the request`, name)
		assert.ErrorContains(t, err, "cycle found in dependencies: a -{depends_on}-> b -{depends_on}-> a", name)
	}
}

func TestB103InvalidDeployItemRejected(t *testing.T) {
	s := shared(t)
	bad := deployItem(metav1.NamespaceDefault, "unnamed", "example.com/type")
	require.NoError(t, unstructured.SetNestedField(bad.Object, "", "spec", "target", "name"))
	err := s.Client().Create(t.Context(), bad)
	require.True(t, deniedBy(err, "deployitems"), "%v", err)
	assert.ErrorContains(t, err, "spec.target.name")
}

func TestB104DeployItemTypeChangeRejected(t *testing.T) {
	s := shared(t)
	created := deployItem(s.Namespace(t), "typed", "some-type")
	require.NoError(t, s.Client().Create(t.Context(), created))
	require.NoError(t, unstructured.SetNestedField(created.Object, "other-type", "spec", "type"))
	err := s.Client().Update(t.Context(), created)
	require.True(t, deniedBy(err, "deployitems"), "%v", err)
	assert.ErrorContains(t, err, "spec.type")
}

func TestB105InvalidTargetRejected(t *testing.T) {
	s := shared(t)
	err := s.Client().Create(t.Context(), badTarget(metav1.NamespaceDefault, "both"))
	require.True(t, deniedBy(err, "targets"), "%v", err)
	assert.ErrorContains(t, err, "config or secretRef")
	assert.NotContains(t, err.Error(), "hidden", "the content of a Target is nowhere")
}

// TestRefusalsAreForbidden keeps Flux from replacing objects: told to force, it deletes and recreates on Invalid, on Conflict, and when a
// message calls something immutable.
func TestRefusalsAreForbidden(t *testing.T) {
	s := shared(t)
	created := deployItem(s.Namespace(t), "typed", "some-type")
	require.NoError(t, s.Client().Create(t.Context(), created))
	require.NoError(t, unstructured.SetNestedField(created.Object, "other-type", "spec", "type"))
	for name, err := range map[string]error{
		"create": s.Client().Create(t.Context(), badTarget(metav1.NamespaceDefault, "both")),
		"update": s.Client().Update(t.Context(), created),
		"apply": s.Client().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(badTarget(metav1.NamespaceDefault, "both")),
			client.FieldOwner("kustomize-controller"), client.ForceOwnership),
	} {
		require.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
		assert.False(t, apierrors.IsInvalid(err) || apierrors.IsConflict(err), name)
		assert.NotContains(t, err.Error(), "immutable", name)
	}
}

// TestMalformedInstallationsAreRefused by the webhooks or already by the schema when they are new, and by the webhooks alone when they are
// updated.
func TestMalformedInstallationsAreRefused(t *testing.T) {
	s := shared(t)
	good := installation(s.Namespace(t), "good", nil)
	require.NoError(t, s.Client().Create(t.Context(), good))
	data := func(entries ...any) fields { return fields{"imports": fields{"data": append(list{}, entries...)}} }
	targets := func(entries ...any) fields { return fields{"imports": fields{"targets": append(list{}, entries...)}} }
	for name, c := range map[string]struct {
		parts fields
		says  string
	}{
		"two sources of an import":   {data(fields{"name": "a", "dataRef": "b", "secretRef": fields{"name": "s"}}), "spec.imports.data[0]"},
		"an import from nowhere":     {data(fields{"name": "a"}), "spec.imports.data[0]"},
		"an import twice":            {data(fields{"name": "a", "dataRef": "b"}, fields{"name": "a", "dataRef": "c"}), "Duplicate"},
		"an unnamed Target":          {targets(fields{"name": "a", "targets": list{""}}), "spec.imports.targets[0].targets[0]"},
		"a bad key in a map":         {targets(fields{"name": "a", "targetMap": fields{"A_b": "t"}}), "targetMap"},
		"an export to nowhere":       {fields{"exports": fields{"targets": list{fields{"name": "a"}}}}, "spec.exports.targets[0].target"},
		"two blueprints":             {fields{"blueprint": fields{"ref": fields{"resourceName": "a"}, "inline": fields{"filesystem": fields{}}}}, "spec.blueprint"},
		"no blueprint":               {fields{"blueprint": fields{}}, "spec.blueprint"},
		"a clock that does not tick": {fields{"automaticReconcile": fields{"succeededReconcile": fields{"cronSpec": "every day"}}}, "cronSpec"},
		"a clock of a zone alone":    {fields{"automaticReconcile": fields{"succeededReconcile": fields{"cronSpec": "CRON_TZ=UTC"}}}, "cronSpec"},
		"a day that never comes":     {fields{"automaticReconcile": fields{"succeededReconcile": fields{"cronSpec": "0 0 30 2 *"}}}, "cronSpec"},
	} {
		assert.Error(t, s.try(installation(metav1.NamespaceDefault, "bad", c.parts)), name)
		updated := installation(good.GetNamespace(), good.GetName(), c.parts)
		updated.SetResourceVersion(good.GetResourceVersion())
		err := s.Client().Update(t.Context(), updated, client.DryRunAll)
		assert.True(t, deniedBy(err, "installations"), "%s: %v", name, err)
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
		assert.ErrorContains(t, err, c.says, name)
	}
}

func TestNamesOfInstallationsFitIntoLabels(t *testing.T) {
	s := shared(t)
	assert.NoError(t, s.try(installation(metav1.NamespaceDefault, strings.Repeat("a", 58), nil)))
	for field, name := range map[string]string{"metadata.name": strings.Repeat("a", 59), "DNS": "with.dot"} {
		err := s.try(installation(metav1.NamespaceDefault, name, nil))
		assert.True(t, deniedBy(err, "installations"), "%v", err)
		if field != "DNS" {
			assert.ErrorContains(t, err, field)
		}
	}
	for length, good := range map[int]bool{53: true, 54: false, 70: false} {
		generated := installation(metav1.NamespaceDefault, "", nil)
		generated.SetGenerateName(strings.Repeat("a", length))
		err := s.try(generated)
		assert.Equal(t, good, err == nil, "%d: %v", length, err)
		if !good {
			assert.ErrorContains(t, err, "metadata.generateName")
		}
	}
}

// TestA07UnreadableBlueprintIsAccepted leaves blueprints to the engine, which says in the status what is wrong.
func TestA07UnreadableBlueprintIsAccepted(t *testing.T) {
	s := shared(t)
	inline := fields{"inline": fields{"filesystem": fields{"blueprint.yaml": "imports\n- name: a\n"}}}
	assert.NoError(t, s.try(installation(metav1.NamespaceDefault, "unreadable", fields{"blueprint": inline})))
}

func TestWhatMayBecomeRightIsAccepted(t *testing.T) {
	s := shared(t)
	named := deployItem(metav1.NamespaceDefault, "named", "example.com/type")
	require.NoError(t, unstructured.SetNestedField(named.Object, "not-there-yet", "spec", "target", "name"))
	for name, good := range map[string]client.Object{
		"a Target that is not there":   named,
		"a Target with content":        goodTarget(metav1.NamespaceDefault, "good"),
		"a Target without content":     object("Target", metav1.NamespaceDefault, "marker", fields{"type": "example.com/type"}),
		"an Execution without items":   object("Execution", metav1.NamespaceDefault, "empty", fields{}),
		"compressed templates":         compressed(t, metav1.NamespaceDefault, "good", item("a", "b"), item("b")),
		"an empty list of Targets":     installation(metav1.NamespaceDefault, "good", fields{"imports": fields{"targets": list{fields{"name": "a", "targets": list{}}}}}),
		"a source that is not there":   installation(metav1.NamespaceDefault, "good", fields{"blueprint": fields{"sourceRef": fields{"kind": "Bucket", "name": "b"}}}),
		"a component as in old clocks": installation(metav1.NamespaceDefault, "good", fields{"automaticReconcile": fields{"failedReconcile": fields{"cronSpec": "@daily"}}}),
	} {
		assert.NoError(t, s.try(good), name)
	}
}

func TestSkipLabelSkips(t *testing.T) {
	s := shared(t)
	for value, skips := range map[string]bool{"true": true, "false": false} {
		labelled := badTarget(metav1.NamespaceDefault, "skip")
		labelled.SetLabels(map[string]string{v1alpha1.SkipValidationLabel: value})
		assert.Equal(t, !skips, deniedBy(s.try(labelled), "targets"), value)
	}
}

func TestDryRunTellsTheTruth(t *testing.T) {
	s := shared(t)
	namespace := s.Namespace(t)
	good, bad := goodTarget(namespace, "good"), badTarget(namespace, "bad")
	assert.NoError(t, s.try(good.DeepCopy()))
	assert.True(t, deniedBy(s.try(bad.DeepCopy()), "targets"))
	assert.NoError(t, s.Client().Create(t.Context(), good))
	assert.True(t, deniedBy(s.Client().Create(t.Context(), bad), "targets"))
}

// unchecked creates an object that the webhooks would refuse, as if it were older than they.
func (s *site) unchecked(object *unstructured.Unstructured) {
	s.t.Helper()
	object.SetLabels(map[string]string{v1alpha1.SkipValidationLabel: "true"})
	require.NoError(s.t, s.Client().Create(s.t.Context(), object))
	s.merge(object, `{"metadata":{"labels":null}}`)
}

func (s *site) merge(object client.Object, patch string) {
	s.t.Helper()
	require.NoError(s.t, s.Client().Patch(s.t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// TestT01NobodyIsAdoptedByForgery also by a change that leaves the spec, for which the API server asks only when an owner comes.
func TestT01NobodyIsAdoptedByForgery(t *testing.T) {
	s := shared(t)
	namespace := s.Namespace(t)
	created := installation(namespace, "old", fields{"componentDescriptor": fields{"inline": fields{}}})
	require.NoError(t, s.Client().Create(t.Context(), created))
	owner := execution(namespace, "other", item("a"))
	require.NoError(t, s.Client().Create(t.Context(), owner)) // the garbage collector deletes what has an owner that does not exist
	owners := func(kind string) client.Patch {
		return client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"ownerReferences":[{"apiVersion":"landscaper.gardener.cloud/v1alpha1",`+
			`"kind":"`+kind+`","name":"other","uid":"`+string(owner.GetUID())+`","controller":true}]}}`))
	}
	err := s.Client().Patch(t.Context(), created, owners("Installation"))
	require.True(t, deniedBy(err, "installations"), "%v", err)
	assert.ErrorContains(t, err, "only the controller makes sub-installations")
	require.NoError(t, s.Client().Patch(t.Context(), created, owners("Execution")), "another kind of owner")
	s.merge(created, `{"metadata":{"ownerReferences":null,"annotations":{"a":"b"}}}`)
}

// TestInvalidObjectsCanGo is about objects that were accepted before there was a rule: controllers add and take their finalizers, people
// annotate them, and deletion ends.
func TestInvalidObjectsCanGo(t *testing.T) {
	s := shared(t)
	namespace := s.Namespace(t)
	for name, invalid := range map[string]*unstructured.Unstructured{
		"Installation": installation(namespace, "old", fields{"blueprint": fields{}}),
		"Target":       badTarget(namespace, "old"),
		"Execution":    execution(namespace, "old", item("a", "b"), item("b", "a")),
	} {
		s.unchecked(invalid)
		s.merge(invalid, `{"metadata":{"finalizers":["example.com/finalizer"],"annotations":{"a":"b"}}}`)
		require.NoError(t, s.Client().Delete(t.Context(), invalid), name)
		s.merge(invalid, `{"spec":{"context":"changed-in-deletion","type":"example.com/other"}}`)
		s.merge(invalid, `{"metadata":{"finalizers":null}}`)
		require.NoError(t, s.AwaitGone(t.Context(), invalid), name)
	}
}

func TestInvalidObjectsHaveToBeMended(t *testing.T) {
	s := shared(t)
	invalid := badTarget(s.Namespace(t), "old")
	s.unchecked(invalid)
	half := invalid.DeepCopy()
	require.NoError(t, unstructured.SetNestedField(half.Object, "example.com/other", "spec", "type"))
	assert.True(t, deniedBy(s.Client().Update(t.Context(), half), "targets"))
	unstructured.RemoveNestedField(invalid.Object, "spec", "config")
	assert.NoError(t, s.Client().Update(t.Context(), invalid))
}

func TestStatusIsNotJudged(t *testing.T) {
	s := shared(t)
	invalid := execution(s.Namespace(t), "old", item("a", "b"), item("b", "a"))
	s.unchecked(invalid)
	require.NoError(t, unstructured.SetNestedField(invalid.Object, "Failed", "status", "phase"))
	assert.NoError(t, s.Client().Status().Update(t.Context(), invalid))
}

// alternatives are the documents of the corpus that show two blueprints side by side, to explain both. No webhook has ever let them in.
var alternatives = []string{"30-Example-Installation.yaml", "external-dns-management.yaml", "nginx-ingress.yaml"}

// TestCorpusIsAccepted offers the manifests of existing users. What else an API server has against them is left to tests/behaviour.
func TestCorpusIsAccepted(t *testing.T) {
	s := shared(t)
	dir := os.Getenv("FLUX_LANDSCAPER_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("THE CORPUS IS NOT HERE: %v; set FLUX_LANDSCAPER_CORPUS to its folder", err)
	}
	offered := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(strings.TrimSuffix(path, ".tpl"), ".yaml") {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, found := range judged(fill(raw)) {
			offered++
			said := message(s.try(found))
			if slices.Contains(alternatives, filepath.Base(path)) && found.GetKind() == "Installation" {
				assert.Contains(t, said, "give exactly one of inline, ref and sourceRef", path)
			} else {
				assert.NotContains(t, said, "admission webhook", "%s: %s %s", path, found.GetKind(), found.GetName())
			}
		}
		return err
	}))
	t.Logf("%d objects", offered)
	assert.Greater(t, offered, 50)
}

var placeholder = regexp.MustCompile(`\$\{\w+\}`)

// fill replaces the placeholders of the corpus.
func fill(raw []byte) []byte {
	raw = bytes.ReplaceAll(raw, []byte("${kubeconfig}"), []byte("      {}"))
	return placeholder.ReplaceAll(raw, []byte("corpus"))
}

// judged returns the objects in a file that webhooks look at.
func judged(raw []byte) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(&u.Object); err != nil {
			if errors.Is(err, io.EOF) {
				return found
			}
			return nil
		}
		if u.GetAPIVersion() == v1alpha1.GroupVersion.String() && slices.Contains([]string{"Installation", "DeployItem", "Execution", "Target"}, u.GetKind()) {
			u.SetNamespace(metav1.NamespaceDefault)
			found = append(found, u)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
