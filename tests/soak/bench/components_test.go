// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	componentName      = "example.com/unit"
	blueprintMediaType = "application/vnd.gardener.landscaper.blueprint.v1+tar+gzip"
)

// componentBlueprint deploys the ConfigMap of a unit, with a text that lies in the component. The first verb is its namespace.
const componentBlueprint = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
- {name: name, type: data, schema: {type: string}}
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
        updateStrategy: update
        manifests:
        - policy: manage
          manifest:
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: "{{ .imports.name }}", namespace: %s}
            data:
              version: {{ getResourceContent "cd://resources/text" }}
`

// BenchmarkComponent lets numbers of Installations of one component version in a registry be created, moved to another version and
// deleted. It fails when a blob is downloaded more than once.
func BenchmarkComponent(b *testing.B) {
	for _, size := range sizes(b) {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for range b.N {
				componentsOnce(b, fmt.Sprintf("component/%d", size), size)
			}
		})
	}
}

func componentsOnce(b *testing.B, name string, size int) {
	r := newRun(b, name, rig.Units{})
	from := registry.Start(b, registry.Options{})
	for _, version := range []string{"1.0.0", "2.0.0"} {
		r.must("publish component "+version, r.publishComponent(from, version))
	}
	r.must("make the Context", r.Apply(b.Context(), &v1alpha1.Context{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Context"},
		ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: r.units.Namespace},
		ContextConfiguration: v1alpha1.ContextConfiguration{
			RepositoryContext: jsonOf(map[string]string{"type": "OCIRegistry", "baseUrl": from.URL()}),
		},
	}))
	result := &runResult{Name: name, Units: size}
	b.ResetTimer()
	create := r.measure("create", size, rig.Succeeded(1), func(ctx context.Context, i int) error {
		return r.writer.Create(ctx, r.ofComponent(i, "1.0.0"))
	})
	pattern, err := r.readPattern(b.Context())
	r.must("read a unit for the floor", err)
	update := r.measure("update", size, rig.Succeeded(2), func(ctx context.Context, i int) error {
		raw := []byte(`{"spec": {"componentDescriptor": {"ref": {"version": "2.0.0"}}}}`)
		return r.writer.Patch(ctx, r.units.Installation(i, ""), client.RawPatch(types.MergePatchType, raw))
	})
	remove := r.measure("delete", size, rig.Gone(), func(ctx context.Context, i int) error {
		return r.units.Delete(ctx, r.writer, i)
	})
	b.StopTimer()
	most, err := mostDownloads(from)
	r.must("count downloads", err)
	b.ReportMetric(float64(most), "downloads/blob")
	b.ReportMetric(float64(from.Count(http.MethodGet, "manifests")+from.Count(http.MethodHead, "manifests")), "manifest-requests")
	r.stopPrograms()
	r.must("stop the garbage collector before the floor", r.Process(binaries.ControllerManager).Stop(stopGrace))
	result.Phases = []*phase{create, update, remove}
	result.Floor = r.floor(pattern, size, options.workers)
	for _, p := range result.Phases {
		p.compare(result.Floor)
	}
	results.Runs = append(results.Runs, result)
	report(b, result)
}

// ofComponent is unit i with the blueprint of the component.
func (r *run) ofComponent(i int, version string) *v1alpha1.Installation {
	inst := r.units.Installation(i, "")
	inst.Spec.ImportDataMappings = map[string]v1alpha1.AnyJSON{"name": *jsonOf(r.units.Name(i))}
	inst.Spec.ComponentDescriptor = &v1alpha1.ComponentDescriptorDefinition{
		Reference: &v1alpha1.ComponentDescriptorReference{ComponentName: componentName, Version: version},
	}
	inst.Spec.Blueprint = v1alpha1.BlueprintDefinition{Reference: &v1alpha1.BlueprintReference{ResourceName: "blueprint"}}
	return inst
}

// publishComponent stores a version of the component in the registry. Each version has blobs of its own.
func (r *run) publishComponent(to *registry.Registry, version string) error {
	packed, err := packBlueprint(fmt.Sprintf(componentBlueprint, r.units.Deployed), version)
	if err != nil {
		return err
	}
	blueprint := component.NewContent(blueprintMediaType, packed)
	text := component.NewContent("text/plain", []byte("version "+version))
	raw, err := json.Marshal(describeComponent(version, blueprint, text))
	if err != nil {
		return err
	}
	descriptor, err := component.Decode(raw)
	if err != nil {
		return err
	}
	image, err := component.Version{Descriptor: descriptor, Blobs: []component.Content{blueprint, text}}.Image(component.SchemaV2)
	if err != nil {
		return err
	}
	const repository = "component-descriptors/" + componentName
	for _, content := range append(image.Layers, image.Config) {
		raw, err := readContent(content)
		if err != nil {
			return err
		}
		to.PushBlob(r.b, repository, content.MediaType, raw)
	}
	if raw, err = readContent(image.Manifest); err == nil {
		to.PushManifest(r.b, repository, version, image.Manifest.MediaType, raw)
	}
	return err
}

func describeComponent(version string, blueprint, text component.Content) map[string]any {
	resource := func(name, kind string, content component.Content) map[string]any {
		return map[string]any{
			"name": name, "type": kind, "version": version, "relation": "local",
			"access": map[string]any{"type": "localBlob", "localReference": content.Digest, "mediaType": content.MediaType},
		}
	}
	return map[string]any{"meta": map[string]any{"schemaVersion": "v2"}, "component": map[string]any{
		"name": componentName, "version": version, "provider": "example.com",
		"repositoryContexts": []any{}, "componentReferences": []any{}, "sources": []any{},
		"resources": []any{resource("blueprint", "landscaper.gardener.cloud/blueprint", blueprint), resource("text", "plainText", text)},
	}}
}

// packBlueprint packs a blueprint and a file with the version, so that no two versions have the same bytes.
func packBlueprint(blueprint, version string) ([]byte, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for _, file := range [][2]string{{"blueprint.yaml", blueprint}, {"version", version}} {
		header := &tar.Header{Name: file[0], Mode: 0o644, Size: int64(len(file[1])), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(archive, file[1]); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), zipped.Close())
	return packed.Bytes(), err
}

func readContent(content component.Content) ([]byte, error) { return io.ReadAll(content.Reader()) }

func jsonOf(value any) *v1alpha1.AnyJSON {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	content := v1alpha1.NewAnyJSON(raw)
	return &content
}

// mostDownloads returns how often the blob was downloaded that was downloaded most often. Once is right.
func mostDownloads(from *registry.Registry) (int, error) {
	counts := map[string]int{}
	for _, request := range from.Requests() {
		if request.Method == http.MethodGet && request.Kind == "blobs" {
			counts[request.Reference]++
		}
	}
	const blobs = 2 * 3 // descriptor, blueprint and text of two versions
	if len(counts) < blobs {
		return 0, fmt.Errorf("only %d blobs were downloaded, expected %d", len(counts), blobs)
	}
	var all []int
	for _, count := range counts {
		all = append(all, count)
	}
	if most := slices.Max(all); most > 1 {
		return most, fmt.Errorf("a blob was downloaded %d times", most)
	}
	return 1, nil
}
