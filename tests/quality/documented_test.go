// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kustomize "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/agent"
	container "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	helm "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	manifest "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	mock "github.com/flux-landscaper/flux-landscaper/api/deployers/mock/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/pages"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// example is a code block of a page, without the indentation of its fence.
type example struct {
	// place is the page and the line of the fence.
	place          string
	language, text string
}

// examples returns the code blocks of a page, in order.
func examples(t *testing.T, page string) []example {
	t.Helper()
	blocks, err := pages.Read(loaded(t).Path(page))
	require.NoError(t, err)
	var found []example
	for _, block := range blocks {
		found = append(found, example{fmt.Sprintf("%s:%d", page, block.Line), block.Language, block.Text})
	}
	return found
}

// exampleAfter returns the first code block of a language after a text on a page.
func exampleAfter(t *testing.T, page, text, language string) string {
	t.Helper()
	before, _, found := strings.Cut(string(content(t, page)), text)
	require.True(t, found, "%s says %q", page, text)
	line := 1 + strings.Count(before, "\n")
	for _, one := range examples(t, page) {
		var at int
		_, err := fmt.Sscanf(strings.TrimPrefix(one.place, page), ":%d", &at)
		require.NoError(t, err)
		if at > line && one.language == language {
			return one.text
		}
	}
	require.Fail(t, "no example", "%s has no %s after %q", page, language, text)
	return ""
}

// documents are those of a YAML stream.
func documents(text string) []string {
	return strings.Split("\n"+text, "\n---\n")
}

// otherFormats are pages whose YAML other tests read with the programs that it is for.
var otherFormats = []string{
	"docs/writing-blueprints.md", // TestDocumentedBlueprints
	"docs/tutorial.md",           // TestTheTutorial
	"docs/deployers.md",          // the configuration of the conformance check
}

// notOurs are beginnings of examples in formats of the command line, which are for no cluster; tests/e2e/pages validates blueprints in folders.
var notOurs = []string{"deployItems:", "# component-constructor.yaml", "# blueprints/"}

// fragments are what examples without apiVersion are parts of.
func fragments() []any {
	return []any{
		&kustomizev1.Kustomization{}, &kustomizev1.KustomizationSpec{}, &kustomize.Kustomization{}, &v1alpha1.DeployerRegistration{}, &v1alpha1.DeployItem{},
		&helm.ProviderConfiguration{},
	}
}

// configurations are the files of processes, by their apiVersion and kind.
func configurations() map[string]any {
	return map[string]any{
		"helm.deployer.landscaper.gardener.cloud/v1alpha1 Configuration":      &helm.Configuration{},
		"manifest.deployer.landscaper.gardener.cloud/v1alpha2 Configuration":  &manifest.Configuration{},
		"container.deployer.landscaper.gardener.cloud/v1alpha1 Configuration": &container.Configuration{},
		"mock.deployer.landscaper.gardener.cloud/v1alpha1 Configuration":      &mock.Configuration{},
		"notification.toolkit.fluxcd.io/v1beta3 Alert":                        &notificationv1beta3.Alert{},
		"notification.toolkit.fluxcd.io/v1 Receiver":                          &notificationv1.Receiver{},
	}
}

// documentedOn is an API server that knows the kinds that pages show.
func documentedOn(ctx context.Context, t *testing.T) client.Client {
	t.Helper()
	p := platform.Shared(t)
	for _, component := range []binaries.Component{binaries.SourceController, binaries.KustomizeController, binaries.HelmController} {
		folder, err := binaries.CRDs(ctx, os.Stderr, component)
		require.NoError(t, err)
		require.NoError(t, p.InstallCRDs(ctx, folder))
	}
	return client.WithFieldValidation(p.Client(), metav1.FieldValidationStrict)
}

// An API server takes each manifest that a page shows, with no field that it does not know; parts of one are read as strictly.
func TestDocumentedManifestsAreTaken(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	cluster := documentedOn(ctx, t)
	var shownOn []string
	for _, pattern := range []string{"docs/*.md", "docs/operate/*.md", "docs/how-to/*.md"} {
		found, err := filepath.Glob(loaded(t).Path(pattern))
		require.NoError(t, err)
		shownOn = append(shownOn, found...)
	}
	taken := 0
	for _, path := range shownOn {
		page := strings.TrimPrefix(path, loaded(t).Path("")+"/")
		if slices.Contains(otherFormats, page) {
			continue
		}
		for _, shown := range examples(t, page) {
			if shown.language != "yaml" || slices.ContainsFunc(notOurs, func(beginning string) bool { return strings.HasPrefix(shown.text, beginning) }) {
				continue
			}
			for _, document := range documents(shown.text) {
				taken++
				assert.NoError(t, take(ctx, cluster, document), "%s\n%s", shown.place, document)
			}
		}
	}
	assert.Greater(t, taken, 30)
}

// take reads a document as what it is for would do, with no field that is not known.
func take(ctx context.Context, cluster client.Client, text string) error {
	raw, err := yaml.YAMLToJSONStrict([]byte(strings.ReplaceAll(text, " …", " Li4u"))) // also where base64 stands
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &object.Object); err != nil {
		return err
	}
	kind := object.GetAPIVersion() + " " + object.GetKind()
	switch form := configurations()[kind]; {
	case object.GetKind() == "":
		return fragment(raw)
	case form != nil:
		return strictly(raw, form)
	case strings.HasPrefix(kind, "kustomize.config.k8s.io/"):
		return strictly(raw, &kustomize.Kustomization{})
	case object.GetKind() == "AgentConfiguration":
		_, unknown, err := agent.ReadConfiguration(raw)
		if len(unknown) > 0 {
			return fmt.Errorf("not known: %v", unknown)
		}
		return err
	}
	return create(ctx, cluster, object)
}

func strictly(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// fragment is read as a part of something.
func fragment(raw []byte) error {
	var problems []string
	for _, whole := range fragments() {
		err := strictly(raw, whole)
		if err == nil {
			return nil
		}
		problems = append(problems, fmt.Sprintf("of %T: %v", whole, err))
	}
	return fmt.Errorf("a part of nothing that is known:\n%s", strings.Join(problems, "\n"))
}

// create asks the API server whether it would take an object; that of its namespace is not there.
func create(ctx context.Context, cluster client.Client, object *unstructured.Unstructured) error {
	if namespaced, err := cluster.IsObjectNamespaced(object); err != nil || namespaced && object.GetNamespace() == "" {
		return fmt.Errorf("namespace missing, or the kind unknown: %w", err)
	} else if namespaced {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	return client.IgnoreAlreadyExists(cluster.Create(ctx, object, client.DryRunAll))
}

// shownSync is a Flux Kustomization that a page shows.
type shownSync struct {
	place string
	kustomizev1.Kustomization
}

// syncsOf returns the Flux Kustomizations on a page that apply a folder of this repository.
func syncsOf(t *testing.T, page string) []shownSync {
	t.Helper()
	var found []shownSync
	for _, shown := range examples(t, page) {
		if shown.language != "yaml" {
			continue
		}
		for _, document := range documents(shown.text) {
			one := shownSync{place: shown.place}
			if err := yaml.Unmarshal([]byte(document), &one.Kustomization); err != nil || one.Kind != kustomizev1.KustomizationKind {
				continue
			}
			if strings.HasPrefix(one.Spec.Path, "./flux/") && one.Spec.SourceRef.Kind == sourcev1.OCIRepositoryKind {
				found = append(found, one)
			}
		}
	}
	return found
}

// appendTo adds to a list of a kustomization, as Flux does.
func appendTo[T any](kustomization map[string]any, field string, more []T) {
	list, _ := kustomization[field].([]any)
	for _, one := range more {
		list = append(list, one)
	}
	if len(list) > 0 {
		kustomization[field] = list
	}
}

// applied returns what Flux applies for a Kustomization.
func applied(t *testing.T, spec kustomizev1.KustomizationSpec) []*unstructured.Unstructured {
	t.Helper()
	objects := fluxBuildsWith(t, strings.TrimPrefix(spec.Path, "./flux/"), func(kustomization map[string]any) {
		if spec.TargetNamespace != "" {
			kustomization["namespace"] = spec.TargetNamespace
		}
		if spec.NamePrefix != "" {
			kustomization["namePrefix"] = spec.NamePrefix
		}
		if len(spec.Components) > 0 {
			kustomization["components"] = spec.Components
		}
		appendTo(kustomization, "patches", spec.Patches)
		appendTo(kustomization, "images", spec.Images)
	})
	if spec.PostBuild == nil {
		return objects
	}
	return substitute(t, objects, spec.PostBuild.Substitute)
}

// What Flux applies for each Kustomization on a page is taken, too, with the parts that the page shows for it.
func TestDocumentedKustomizationsBuild(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	cluster := documentedOn(ctx, t)
	built := map[string]int{}
	for _, page := range []string{"docs/quick-start.md", "docs/agent.md", "docs/environments.md", "docs/operate/install.md", "docs/releases.md", "docs/how-to/tenants.md"} {
		for _, one := range syncsOf(t, page) {
			objects := applied(t, one.Spec)
			built[one.Spec.Path] += len(objects)
			for _, object := range objects {
				raw, err := yaml.Marshal(object)
				require.NoError(t, err)
				require.NotContains(t, string(raw), "missing: substitute", one.place)
				require.NotContains(t, string(raw), "${", one.place)
				assert.NoError(t, create(ctx, cluster, object), "%s: %s %s", one.place, object.GetKind(), object.GetName())
			}
		}
	}
	for _, folder := range []string{"crds", "install", "agent", "agent-access", "own-environment"} {
		assert.Positive(t, built["./flux/"+folder], folder)
	}
}

// What pages show as a part of a Kustomization does to the folder what they say.
func TestDocumentedPartsBuild(t *testing.T) {
	for after, c := range map[string]struct{ page, folder, makes string }{
		"## A default Context":                              {"docs/operate/install.md", "install", `--default-repository-context={\"type\": \"OCIRegistry\", `},
		"Further ones come by a patch in its Kustomization": {"docs/agent.md", "agent", "hostRights: Cluster"},
		"leave the tenant alone":                            {"docs/how-to/tenants.md", "install", `"--watch-label-selector=!sharding.fluxcd.io/key"`},
		"name it in the Kustomization":                      {"docs/releases.md", "install", `"registry.factory.example.com/flux-landscaper/landscaper:`},
	} {
		t.Run(after, func(t *testing.T) {
			part := shownParts(t, c.page, after)[0]
			part.Path = "./flux/" + c.folder
			objects := applied(t, part)
			raw, err := json.Marshal(objects)
			require.NoError(t, err)
			assert.Contains(t, string(raw), c.makes)
			requireFlags(t, typed[appsv1.Deployment](t, objects, "Deployment"))
		})
	}
}

// A shard for a tenant shares no object with the processes of the others: Flux would change it back and forth.
func TestTheDocumentedShardIsApart(t *testing.T) {
	syncs := syncsOf(t, "docs/how-to/tenants.md")
	require.Len(t, syncs, 1)
	objects, common := applied(t, syncs[0].Spec), map[string]bool{}
	for _, object := range builtFrom(t, "flux/install") {
		common[object.GetKind()+" "+object.GetName()] = true
	}
	for _, object := range objects {
		name := object.GetKind() + " " + object.GetName()
		assert.False(t, common[name], name)
		assert.Contains(t, []string{"", "ls-team-a"}, object.GetNamespace(), name)
	}
	processes := deployments(t, objects)
	requireFlags(t, processes)
	for _, process := range processes {
		container := process.Spec.Template.Spec.Containers[0]
		assert.Contains(t, container.Args, "--watch-label-selector=sharding.fluxcd.io/key=team-a", process.Name)
		assert.Equal(t, container.Args[0] == "deployer", slices.Contains(container.Args, "--watch-namespaces=team-a"), process.Name)
		assert.False(t, container.Resources.Limits.Memory().IsZero(), process.Name)
	}
	bindings := typed[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding")
	require.NotEmpty(t, bindings)
	for _, binding := range bindings {
		assert.True(t, strings.HasPrefix(binding.RoleRef.Name, "team-a-"), binding.Name)
		assert.Equal(t, "ls-team-a", binding.Subjects[0].Namespace, binding.Name)
		assert.True(t, strings.HasPrefix(binding.Subjects[0].Name, "team-a-"), binding.Name)
	}
}

// followsChanges is the flag that the component of the quick start sets.
const followsChanges = "--reconcile-if-changed=true"

// The quick start installs a controller for which changes start jobs, and flux/install alone one for which they do not: operators sync it.
func TestTheQuickStartLetsChangesStartJobs(t *testing.T) {
	argumentsOf := func(objects []*unstructured.Unstructured) (arguments []string) {
		for _, deployment := range deployments(t, objects) {
			arguments = append(arguments, deployment.Spec.Template.Spec.Containers[0].Args...)
		}
		return arguments
	}
	shown := 0
	for _, one := range syncsOf(t, "docs/quick-start.md") {
		if one.Spec.Path == "./flux/install" {
			shown++
			assert.Contains(t, argumentsOf(applied(t, one.Spec)), followsChanges)
		}
	}
	assert.Equal(t, 1, shown)
	assert.NotContains(t, argumentsOf(fluxBuilds(t, "install")), followsChanges)
}

// The landscape of the demo is synced as docs/flux.md recommends, with times that are no longer, by a Flux that is set up as the quick start says.
func TestTheDemoFollowsThePages(t *testing.T) {
	var page, demo kustomizev1.Kustomization
	require.NoError(t, yaml.Unmarshal([]byte(exampleAfter(t, "docs/flux.md", "# Living with Flux", "yaml")), &page))
	parts := documents(string(content(t, "config/samples/landscape/sync.yaml")))
	require.NoError(t, yaml.Unmarshal([]byte(parts[len(parts)-1]), &demo))
	for _, one := range []*kustomizev1.Kustomization{&page, &demo} {
		require.Equal(t, kustomizev1.KustomizationKind, one.Kind)
	}
	assert.Equal(t, page.Spec.Interval, demo.Spec.Interval)
	assert.LessOrEqual(t, demo.Spec.RetryInterval.Duration, page.Spec.RetryInterval.Duration)
	assert.LessOrEqual(t, demo.Spec.Timeout.Duration, page.Spec.Timeout.Duration)
	assert.Equal(t, page.Spec.Wait, demo.Spec.Wait)
	const gate = "--feature-gates=CancelHealthCheckOnNewRevision=true"
	assert.Contains(t, exampleAfter(t, "docs/quick-start.md", "In the same commit", "yaml"), gate)
	assert.Contains(t, string(content(t, "tests/platform/flux.go")), gate)
}
