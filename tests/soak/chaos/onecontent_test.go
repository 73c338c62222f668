// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	oneContentTimeout = 10 * time.Minute
	// colour is the import of the roots, shape is written in their spec.
	colour = "colour"
)

// TestOneJobGivesEachChildOneContent lets the controller die when a job has written some of the children of a root, and changes what they
// are made from before it lives again. What has the job must not get another content with it, and in the end all have the new one.
func TestOneJobGivesEachChildOneContent(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), oneContentTimeout)
	defer cancel()
	s := newStage(t, nil)
	pit := s.dig()
	s.start(ctx, []string{rig.Controller, rig.MockDeployer}, map[string][]byte{rig.Controller: pit.kubeconfig})
	contents := s.keepContents(ctx)

	changes := map[string]struct {
		change        func(f *family)
		shape, colour string
		jobs          int
	}{
		"nothing": {change: func(*family) {}, shape: "square", colour: "red", jobs: 2},
		"spec":    {change: func(f *family) { f.spec(ctx, "circle") }, shape: "circle", colour: "red", jobs: 3},
		"import":  {change: func(f *family) { f.data(ctx, "blue") }, shape: "square", colour: "blue", jobs: 3},
	}
	for _, last := range []string{"first", "second", "execution"} {
		for what, tc := range changes {
			t.Run(fmt.Sprintf("%s changes after the %s", what, last), func(t *testing.T) {
				s := s.within(t)
				f := s.found(ctx, fmt.Sprintf("%s-%s", what, last))
				sprung := pit.set(s.programs[rig.Controller], f.path(ctx, last))
				f.spec(ctx, "square")
				select {
				case <-sprung:
				case <-ctx.Done():
					require.NoError(t, ctx.Err(), "the %s was not written", last)
				}
				tc.change(f)
				goal := s.observer.Expect(1, settled(f.name))
				require.NoError(t, s.programs[rig.Controller].Restart())
				_, err := goal.Wait(ctx)
				require.NoError(t, err)

				assert.Len(t, s.observer.Jobs(f.name), tc.jobs, "jobs")
				assert.Equal(t, []string{tc.shape + " " + tc.colour, tc.shape + " " + tc.colour, tc.shape + " " + tc.colour}, f.deployed(ctx))
				contents.requireOneEach(ctx, t)
			})
		}
	}
}

// within is the stage for a part of the test.
func (s *stage) within(t *testing.T) *stage {
	part := *s
	part.t = t
	return &part
}

// settled waits until nothing more is to be done for an Installation that has succeeded.
func settled(name string) rig.Condition {
	succeeded := rig.Succeeded(1)
	return func(change watch.EventType, inst *v1alpha1.Installation) (bool, error) {
		if inst.Name != name {
			return false, nil
		}
		return succeeded(change, inst)
	}
}

// family is a root with an Execution and the sub-installations "first", which has the colour in its spec, and "second", which imports it
// from its parent. They are written in this order. Each of the three has one deploy item with shape and colour.
type family struct {
	stage *stage
	name  string
}

// found makes a family that is triangular and red, and waits until it is deployed.
func (s *stage) found(ctx context.Context, name string) *family {
	s.t.Helper()
	f := &family{stage: s, name: name}
	f.data(ctx, "red")
	goal := s.observer.Expect(1, settled(name))
	f.spec(ctx, "triangle")
	_, err := goal.Wait(ctx)
	require.NoError(s.t, err)
	return f
}

// data applies the import of the root.
func (f *family) data(ctx context.Context, value string) {
	f.stage.t.Helper()
	data := &v1alpha1.DataObject{Data: v1alpha1.NewAnyJSON([]byte(encoded(value)))}
	data.Name, data.Namespace = f.name, f.stage.units.Namespace
	require.NoError(f.stage.t, f.stage.Apply(ctx, data))
}

// spec applies the root with a shape.
func (f *family) spec(ctx context.Context, shape string) {
	f.stage.t.Helper()
	root := &v1alpha1.Installation{Spec: v1alpha1.InstallationSpec{
		Imports:   v1alpha1.InstallationImports{Data: []v1alpha1.DataImport{{Name: colour, DataRef: f.name}}},
		Blueprint: v1alpha1.BlueprintDefinition{Inline: &v1alpha1.InlineBlueprint{Filesystem: v1alpha1.NewAnyJSON([]byte(encoded(familyFiles(shape))))}},
	}}
	root.Name, root.Namespace = f.name, f.stage.units.Namespace
	root.Annotations = map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"}
	require.NoError(f.stage.t, f.stage.Apply(ctx, root))
}

// object and list are JSON.
type (
	object = map[string]any
	list   = []any
)

func encoded(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// template is a list with one executor.
func template(result object) list {
	return list{object{"name": "default", "type": "GoTemplate", "template": encoded(result)}}
}

// files are those of a blueprint that imports a colour and makes one deploy item, which ends up with a content. More are further fields.
func files(content string, more object) object {
	blueprint := object{
		"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint",
		"imports": list{object{"name": colour, "type": "data", "schema": object{"type": "string"}}},
		"deployExecutions": template(object{"deployItems": list{object{"name": "item", "type": v1alpha1.MockDeployItemType, "config": object{
			"apiVersion": "mock.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
			"providerStatus": object{"content": content},
		}}}}),
	}
	maps.Copy(blueprint, more)
	return object{"blueprint.yaml": encoded(blueprint)}
}

// child is the template of a sub-installation that imports the colour of its parent.
func child(name string, files object) object {
	return object{
		"name": name, "blueprint": object{"filesystem": files},
		"imports": object{"data": list{object{"name": colour, "dataRef": colour}}},
	}
}

// familyFiles are those of the blueprint of a root. The template of the root fills in the colour of the first child, that of the second
// itself does.
func familyFiles(shape string) object {
	content := shape + " {{ .imports.colour }}"
	return files(content, object{
		"subinstallationExecutions": template(object{"subinstallations": list{child("first", files(content, nil))}}),
		"subinstallations":          list{child("second", files(content, nil))},
	})
}

// path is where the controller writes a child.
func (f *family) path(ctx context.Context, name string) string {
	f.stage.t.Helper()
	if name == "execution" {
		return "/executions/" + f.name
	}
	for _, inst := range f.children(ctx) {
		if inst.Annotations[v1alpha1.SubinstallationNameAnnotation] == name {
			return "/installations/" + inst.Name
		}
	}
	require.Fail(f.stage.t, "no such sub-installation", name)
	return ""
}

func (f *family) children(ctx context.Context) []v1alpha1.Installation {
	f.stage.t.Helper()
	found := &v1alpha1.InstallationList{}
	labels := client.MatchingLabels{v1alpha1.EncompassedByLabel: f.name}
	require.NoError(f.stage.t, f.stage.harness.List(ctx, found, client.InNamespace(f.stage.units.Namespace), labels))
	return found.Items
}

// deployed returns the contents of the deploy items of the family.
func (f *family) deployed(ctx context.Context) []string {
	f.stage.t.Helper()
	executions := []string{f.name}
	for _, inst := range f.children(ctx) {
		executions = append(executions, inst.Name)
	}
	items := &v1alpha1.DeployItemList{}
	require.NoError(f.stage.t, f.stage.harness.List(ctx, items, client.InNamespace(f.stage.units.Namespace)))
	var contents []string
	for _, item := range items.Items {
		if !slices.Contains(executions, item.Labels[v1alpha1.ExecutionManagedByLabel]) {
			continue
		}
		var status struct{ Content string }
		require.NotNil(f.stage.t, item.Status.ProviderStatus)
		require.NoError(f.stage.t, json.Unmarshal(item.Status.ProviderStatus.Raw, &status))
		contents = append(contents, status.Content)
	}
	return contents
}

// contents knows with which specs each child was ever seen to have a job.
type contents struct {
	stage *stage
	mu    sync.Mutex
	specs map[string]map[string]bool
	last  map[types.UID]string
}

// keepContents begins to note the specs of sub-installations, Executions and DeployItems.
func (s *stage) keepContents(ctx context.Context) *contents {
	s.t.Helper()
	c := &contents{stage: s, specs: map[string]map[string]bool{}, last: map[types.UID]string{}}
	for _, kind := range []client.ObjectList{&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}} {
		watcher, err := s.harness.Watch(ctx, kind, client.InNamespace(s.units.Namespace))
		require.NoError(s.t, err)
		s.t.Cleanup(watcher.Stop)
		go func() {
			for event := range watcher.ResultChan() {
				if object, ok := event.Object.(client.Object); ok {
					c.note(object)
				}
			}
		}()
	}
	return c
}

func (c *contents) note(object client.Object) {
	job, spec := content(object)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[object.GetUID()] = object.GetResourceVersion()
	if job == "" {
		return
	}
	key := fmt.Sprintf("%T %s in job %s", object, object.GetName(), job)
	if c.specs[key] == nil {
		c.specs[key] = map[string]bool{}
	}
	c.specs[key][spec] = true
}

// content returns the job that a child has and its spec; no job for what is no child, or a DeployItem that may get its next spec.
func content(object client.Object) (job, spec string) {
	job = object.GetAnnotations()[v1alpha1.JobAnnotation]
	var raw []byte
	switch child := object.(type) {
	case *v1alpha1.Installation:
		raw, _ = json.Marshal(child.Spec)
	case *v1alpha1.Execution:
		raw, _ = json.Marshal(child.Spec)
	case *v1alpha1.DeployItem:
		if !child.Status.IsIdle() {
			job = child.Status.JobID
		}
		raw, _ = json.Marshal(child.Spec)
	}
	return job, string(raw)
}

// requireOneEach fails if a child has had two specs in one job since it was asked last.
func (c *contents) requireOneEach(ctx context.Context, t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return c.sawAll(ctx, t) }, time.Minute, 20*time.Millisecond, "the watches lag behind")
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, specs := range c.specs {
		assert.Len(t, specs, 1, key)
	}
	c.specs = map[string]map[string]bool{}
}

// sawAll reports whether the watches have shown the present state.
func (c *contents) sawAll(ctx context.Context, t *testing.T) bool {
	t.Helper()
	present := map[types.UID]string{}
	for _, kind := range []string{installationKind, executionKind, deployItemKind} {
		for _, object := range c.stage.metadata(ctx, kind) {
			present[object.UID] = object.ResourceVersion
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Equal(c.last, present)
}
