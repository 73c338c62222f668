// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { os.Exit(platform.Main(m, platform.Options{LandscaperCRDs: true})) }

// edit replaces a text in a file of the landscape; without an old text the file is new, without a new one it is gone.
type edit struct{ file, old, new string }

// edited reads the landscape of testdata with edits.
func edited(t *testing.T, edits ...edit) *Files {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "landscape"))))
	for _, e := range edits {
		file := filepath.Join(dir, e.file)
		switch {
		case e.old+e.new == "":
			require.NoError(t, os.Remove(file))
			continue
		case e.old == "":
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, []byte(e.new), 0o600))
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), e.old, e.file)
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), e.old, e.new)), 0o600))
	}
	files, err := Directory(dir, "installations")
	require.NoError(t, err)
	return files
}

func foresee(t *testing.T, edits ...edit) *Forecast {
	t.Helper()
	found, err := Of(t.Context(), Former{Files: edited(t)}, edited(t, edits...))
	require.NoError(t, err)
	return found
}

// TestShownAt80And140Columns has one of everything that a forecast shows, with secrets in each place from which they could be shown.
func TestShownAt80And140Columns(t *testing.T) {
	f := foresee(t,
		edit{"installations/data.yaml", "Kr0nen-Korken", "Zw1ebel-Fisch"}, edit{"installations/data.yaml", "Wolken-Kuckucks", "Luft-Schloss"}, edit{"installations/data.yaml", "data: 2", "data: 3"},
		edit{"installations/database.yaml", "5432", "6432"}, edit{"installations/database.yaml", "128MB", "256MB"}, edit{"installations/database.yaml", "name: backup", "name: snapshots"},
		edit{file: "charts/web/templates/secret.yaml"}, edit{file: "installations/reports.yaml"},
		edit{file: "installations/search.yaml", new: "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Installation\n" +
			"metadata: {name: search, namespace: team, annotations: {landscaper.gardener.cloud/reconcile-if-changed: \"true\"}}\n" +
			"spec: {imports: {data: [{name: index, dataRef: index}]}, blueprint: {inline: {filesystem: {blueprint.yaml: {$type: yaml, value: {apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Blueprint, imports: [{name: index, type: data, schema: {}}], deployExecutions: []}}}}}}\n"},
	)

	for i := range f.Installations { // as --live adds it
		for _, item := range f.Installations[i].Items {
			for j := range item.Objects {
				if object := &item.Objects[j]; object.What == Changed && object.Name == "database" {
					object.Refused = "cannot update ConfigMap data/database: ConfigMap \"database\" is invalid: data: Forbidden: field is immutable when `immutable` is set; restore the fields in the manifest"
					object.Fields = append(object.Fields, FieldChange{Path: "metadata.labels.team"})
				}
			}
		}
	}
	document, err := json.MarshalIndent(f, "", "  ")
	require.NoError(t, err)
	shown := map[string]string{
		"forecast.80.txt": strings.Join(f.Lines(80, false), "\n") + "\n", "forecast.140.txt": strings.Join(f.Lines(140, false), "\n") + "\n",
		"forecast.markdown": f.Markdown(), "forecast.json": string(document) + "\n",
	}
	for name, text := range shown {
		file := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err, "run the test with -update")
		assert.Equal(t, string(want), text, "run the test with -update if that is right")
		for _, secret := range []string{"Kr0nen", "Zw1ebel", "Wolken", "Luft"} {
			assert.NotContains(t, text, secret, name)
		}
	}
	for _, line := range f.Lines(80, false) {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 80, line)
	}
}

func TestNothingChangesWithoutAnEdit(t *testing.T) {
	f := foresee(t)

	assert.False(t, f.Differs(), "%s", strings.Join(f.Lines(0, false), "\n"))
	assert.Equal(t, "no job would start, and nothing would change", f.Summary())
}

func TestNamespacesAreThoseOfTheObjects(t *testing.T) {
	one, err := edited(t).Namespaces()
	require.NoError(t, err)
	assert.Equal(t, []string{"team"}, one)

	two, err := edited(t, edit{file: "installations/other.yaml", new: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: other}\n"}).Namespaces()
	require.NoError(t, err)
	assert.Equal(t, []string{"other", "team"}, two)
}

// TestKustomizeMakesTheObjectsOfFolders has a file of it in a folder below that of the landscape.
func TestKustomizeMakesTheObjectsOfFolders(t *testing.T) {
	files := edited(t,
		edit{file: "installations/blue/kustomization.yaml", new: "resources: [settings.yaml]\nnameSuffix: -blue\n"},
		edit{file: "installations/blue/settings.yaml", new: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: team}\n"},
	)

	objects, err := files.manifests()

	require.NoError(t, err)
	var names []string
	for _, object := range objects {
		names = append(names, object.Name)
	}
	assert.Contains(t, names, "settings-blue")
	assert.NotContains(t, names, "settings")
	assert.Contains(t, names, "web")
}

// TestKustomizeMakesTheObjects has a file of it that leaves all but two files out.
func TestKustomizeMakesTheObjects(t *testing.T) {
	files := edited(t, edit{file: "installations/kustomization.yaml", new: `
resources: [database.yaml, web.yaml]
nameSuffix: -blue
patches: [{target: {kind: Installation, name: web}, patch: '[{"op": "add", "path": "/spec/suspend", "value": true}]'}]
`})

	objects, err := files.manifests()

	require.NoError(t, err)
	require.Len(t, objects, 2)
	assert.Equal(t, []string{"database-blue", "web-blue"}, []string{objects[0].Name, objects[1].Name})
	assert.True(t, objects[1].Object.(*v1alpha1.Installation).Spec.Suspend)
	_, err = edited(t, edit{file: "installations/kustomization.yaml", new: "resources: [none.yaml]\n"}).manifests()
	assert.ErrorContains(t, err, "installations/kustomization.yaml: ")
}

// clusterWith applies the landscape of testdata to a namespace of the shared cluster, as the Kustomization "apps" does, but for what is in Git only.
func clusterWith(t *testing.T) (*platform.Cluster, client.Client, string) {
	t.Helper()
	cluster := platform.Shared(t).Cluster
	namespace := cluster.Namespace(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, landscape.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	c, err := client.New(cluster.RestConfig, client.Options{Scheme: scheme})
	require.NoError(t, err)
	for _, name := range []string{"data", "database", "reports", "web"} {
		text, err := os.ReadFile(filepath.Join("testdata", "landscape", "installations", name+".yaml"))
		require.NoError(t, err)
		require.NoError(t, cluster.ApplyYAML(t.Context(), strings.ReplaceAll(string(text), "namespace: team", "namespace: "+namespace)))
	}
	return cluster, c, namespace
}

// TestARunningJobIsNamed has an Installation with a job that the deployers have not ended.
func TestARunningJobIsNamed(t *testing.T) {
	_, c, namespace := clusterWith(t)
	database := &v1alpha1.Installation{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "database"}, database))
	database.Status.JobID, database.Status.Phase = "running", v1alpha1.PhaseInit
	require.NoError(t, c.Status().Update(t.Context(), database))

	found, err := Of(t.Context(), Former{Cluster: c, Namespace: namespace}, edited(t))

	require.NoError(t, err)
	assert.Contains(t, found.Notes, "Installation "+namespace+"/database runs a job already: what that job changes is counted here")
}

// TestWhatIsGoneFromGitIsDeleted has a Kustomization that prunes.
func TestWhatIsGoneFromGitIsDeleted(t *testing.T) {
	_, c, namespace := clusterWith(t)
	for _, object := range []client.Object{&v1alpha1.Installation{}, &v1alpha1.DataObject{}} {
		object.SetNamespace(namespace)
		object.SetName(map[bool]string{true: "reports", false: "replicas"}[landscape.IDOf(object).Kind == "Installation"])
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(object), object))
		object.SetLabels(map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": namespace})
		require.NoError(t, c.Update(t.Context(), object))
	}
	for name, test := range map[string]struct {
		prunes bool
		gone   []string
	}{
		"it prunes":      {true, []string{"Installation reports", "DataObject replicas"}},
		"it prunes none": {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newSimulation(c, false)
			require.NoError(t, err)
			defer s.close()
			files := edited(t, edit{file: "installations/reports.yaml"}, edit{"installations/data.yaml", "name: replicas", "name: copies"})
			require.NoError(t, s.copyCluster(t.Context(), c, namespace, files))
			s.kustomizations = kustomizationsOf(&landscape.Snapshot{
				Kustomizations: kustomizev1.KustomizationList{Items: []kustomizev1.Kustomization{{
					ObjectMeta: metav1.ObjectMeta{Name: "apps", Namespace: namespace},
					Spec: kustomizev1.KustomizationSpec{
						Path: "./installations", Prune: test.prunes, NamePrefix: "my-", TargetNamespace: namespace, SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "landscape"},
					},
				}}},
				GitRepositories: sourcev1.GitRepositoryList{Items: []sourcev1.GitRepository{{ObjectMeta: metav1.ObjectMeta{Name: "landscape", Namespace: namespace}}}},
			}, files)

			found, err := s.change(t.Context(), files, namespace)

			require.NoError(t, err)
			assert.Contains(t, strings.Join(found.Notes, "\n"), "/apps changes what it applies by patches, images, components, a prefix or a suffix: that is left out")
			var gone []string
			for _, change := range found.Installations {
				if change.What == Deleted {
					gone = append(gone, "Installation "+change.Name)
				}
			}
			for _, change := range found.Objects {
				if change.What == Deleted {
					gone = append(gone, change.ID.String())
				}
			}
			assert.Equal(t, test.gone, gone)
		})
	}
}

// TestWhoeverMayOnlyViewIsToldWhatIsMissing has the rights that the project adds to the role view.
func TestWhoeverMayOnlyViewIsToldWhatIsMissing(t *testing.T) {
	cluster, c, namespace := clusterWith(t)
	people, err := os.ReadFile("../../config/rbac/people.yaml")
	require.NoError(t, err)
	require.NoError(t, cluster.ApplyYAML(t.Context(), string(people)))
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "landscaper:aggregate-to-view"}
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: namespace}}
	require.NoError(t, c.Create(t.Context(), binding))
	config, err := cluster.NewUser(namespace)
	require.NoError(t, err)
	viewer, err := client.New(config, client.Options{Scheme: c.Scheme()})
	require.NoError(t, err)
	files := edited(t, edit{"installations/database.yaml", "5432", "6432"}, edit{"installations/database.yaml", "namespace: team", "namespace: " + namespace})
	var f *Forecast
	require.Eventually(t, func() bool { // the API server learns of bindings by and by
		f, err = Of(t.Context(), Former{Cluster: viewer, Namespace: namespace}, files)
		return err == nil
	}, time.Minute, 100*time.Millisecond)

	require.Len(t, f.Installations, 1, "%v", f)
	assert.Equal(t, Changed, f.Installations[0].What)
	assert.Equal(t, []string{"you may not list DataObjects, DeployItems, Executions, Targets, so what its job does is not known"}, f.Installations[0].Unknown)
	assert.Subset(t, f.Withheld, []string{"DataObjects", "DeployItems", "Executions", "Targets"})
}

// guarded is a policy of an API server, and what it guards.
const guarded = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAMESPACE}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]}
  validations: [{expression: "object.metadata.namespace != 'NAMESPACE' || object.metadata.name != 'denied'", message: no such name here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAMESPACE}
spec: {policyName: NAMESPACE, validationActions: [Deny]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fixed, namespace: NAMESPACE}
immutable: true
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: drifted, namespace: NAMESPACE}
data: {a: by hand}
`

// asking deploys VALUE to what is guarded.
const asking = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: asking, namespace: NAMESPACE, annotations: {landscaper.gardener.cloud/reconcile-if-changed: "true"}}
spec:
  imports: {targets: [{name: cluster, target: here}]}
  blueprint:
    inline:
      filesystem:
        blueprint.yaml:
          $type: yaml
          value:
            apiVersion: landscaper.gardener.cloud/v1alpha1
            kind: Blueprint
            imports: [{name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}]
            deployExecutions:
            - name: default
              type: GoTemplate
              template: |
                deployItems:
                - name: config
                  type: landscaper.gardener.cloud/kubernetes-manifest
                  target: {import: cluster}
                  config:
                    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
                    kind: ProviderConfiguration
                    manifests:
                    - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: fixed, namespace: NAMESPACE}, data: {a: "VALUE"}}
                    - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: drifted, namespace: NAMESPACE}, data: {a: "1"}}
                    - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: denied, namespace: NAMESPACE}, data: {a: "VALUE"}}
                    - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: plain, namespace: NAMESPACE}, data: {a: "VALUE"}}
                    - manifest: {apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-made}}
                    - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: later, namespace: NAMESPACE-made}, data: {a: "VALUE"}}
`

// TestTargetsSayWhatTheyRefuse asks an API server with an object that must not change, one that somebody has changed, and a policy.
func TestTargetsSayWhatTheyRefuse(t *testing.T) {
	cluster, c, namespace := clusterWith(t)
	require.NoError(t, cluster.ApplyYAML(t.Context(), strings.ReplaceAll(guarded, "NAMESPACE", namespace)))
	require.Eventually(t, func() bool { // the API server learns of policies by and by
		denied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "denied"}}
		return c.Create(t.Context(), denied, client.DryRunAll) != nil
	}, time.Minute, 100*time.Millisecond)
	here := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "here"}}
	access, err := json.Marshal(map[string]string{"kubeconfig": string(cluster.Kubeconfig)})
	require.NoError(t, err)
	config := v1alpha1.NewAnyJSON(access)
	here.Spec.Type, here.Spec.Configuration = v1alpha1.KubernetesClusterTargetType, &config
	require.NoError(t, c.Create(t.Context(), here))
	files := func(value string) *Files {
		dir := t.TempDir()
		text := strings.NewReplacer("NAMESPACE", namespace, "VALUE", value).Replace(asking)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "asking.yaml"), []byte(text), 0o600))
		read, err := Directory(dir, ".")
		require.NoError(t, err)
		return read
	}
	before := &corev1.ConfigMapList{}
	require.NoError(t, c.List(t.Context(), before, client.InNamespace(namespace)))
	clusters, err := target.New(target.Options{Landscaper: cluster.RestConfig})
	require.NoError(t, err)
	refusals := func(targets *target.Clients) (found map[string]string) {
		s, err := newSimulation(c, false)
		require.NoError(t, err)
		defer s.close()
		require.NoError(t, s.copyCluster(t.Context(), c, namespace, files("1")))
		_, err = s.change(t.Context(), files("1"), namespace)
		require.NoError(t, err)
		s.targets = targets
		changed, err := s.change(t.Context(), files("2"), namespace)
		require.NoError(t, err)
		found = map[string]string{}
		for _, inst := range changed.Installations {
			for _, item := range inst.Items {
				assert.Empty(t, item.Unknown)
				for _, object := range item.Objects {
					found[object.Name] = strings.TrimSpace(object.What + " " + object.Refused)
				}
			}
		}
		return found
	}

	assert.Equal(t, map[string]string{"fixed": "changed", "denied": "changed", "plain": "changed", "later": "changed"}, refusals(nil))
	asked := refusals(clusters)

	assert.Contains(t, asked["fixed"], "immutable")
	assert.Contains(t, asked["denied"], "no such name here")
	assert.Equal(t, "changed", asked["plain"])
	assert.Equal(t, "changed", asked["drifted"])
	assert.Equal(t, "changed", asked["later"], "its namespace is made by the same job")
	after := &corev1.ConfigMapList{}
	require.NoError(t, c.List(t.Context(), after, client.InNamespace(namespace)))
	assert.Equal(t, before.Items, after.Items, "nothing is written")
}

// counting counts what is asked of a cluster.
type counting struct {
	client.Reader
	gets, lists int
}

func (c *counting) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	c.gets++
	return c.Reader.Get(ctx, key, into, options...)
}

func (c *counting) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	c.lists++
	return c.Reader.List(ctx, list, options...)
}

func TestManySecretsAreReadByOneList(t *testing.T) {
	_, c, namespace := clusterWith(t)
	secret := func(i int) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("secret-", i)}}
	}
	for i := range 3 * manyReads {
		require.NoError(t, c.Create(t.Context(), secret(i)))
	}
	below := &counting{Reader: c}
	s, err := newStore(c.Scheme(), c.RESTMapper(), below)
	require.NoError(t, err)
	for i := range 2 * manyReads {
		require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(secret(i)), secret(i)))
	}
	absent := secret(1000)
	require.True(t, apierrors.IsNotFound(s.Get(t.Context(), client.ObjectKeyFromObject(absent), absent)))

	known, err := s.all(absent)

	require.NoError(t, err)
	assert.Len(t, known, 2*manyReads, "what nobody has read hides no words")
	assert.Equal(t, []int{manyReads - 1, 1}, []int{below.gets, below.lists})
}
