// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// IsKept reports whether an object with these annotations says that Helm never deletes it.
func IsKept(annotations map[string]string) bool {
	return strings.ToLower(strings.TrimSpace(annotations[kube.ResourcePolicyAnno])) == kube.KeepPolicy
}

// ParseManifest returns the objects of a manifest of several YAML documents.
func ParseManifest(manifest string) ([]map[string]any, error) {
	return appendObjects(nil, "manifest", manifest)
}

// Flat returns objects with those of Lists in the place of these.
func Flat(objects []map[string]any) []*unstructured.Unstructured {
	var flat []*unstructured.Unstructured
	for _, fields := range objects {
		flat = appendFlat(flat, fields)
	}
	return flat
}

func appendFlat(flat []*unstructured.Unstructured, fields map[string]any) []*unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: fields}
	if !object.IsList() {
		return append(flat, object)
	}
	items, _ := fields["items"].([]any)
	for _, item := range items {
		if inner, ok := item.(map[string]any); ok {
			flat = appendFlat(flat, inner)
		}
	}
	return flat
}

func appendObjects(objects []map[string]any, file, content string) ([]map[string]any, error) {
	documents := releaseutil.SplitManifests(content)
	inOrder := func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) } // manifest-2 before manifest-10
	for _, key := range slices.SortedFunc(maps.Keys(documents), inOrder) {
		var object map[string]any
		raw, err := foreign.ToJSON([]byte(documents[key] + "\n")) // the split takes that off, and with it the end of a text in a block
		if err == nil && kjson.UnmarshalCaseSensitivePreserveInts(raw, &object) != nil {
			err = errors.New("it is neither empty nor a map")
		}
		if err != nil {
			return nil, fmt.Errorf("file %s of the chart renders to something that is not an object: %w", file, err)
		}
		if len(object) > 0 {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

// writeManifest returns objects as YAML documents.
func writeManifest(objects []map[string]any) ([]byte, error) {
	var manifest bytes.Buffer
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("an object of the chart cannot be written as YAML: %w", err)
		}
		fmt.Fprintf(&manifest, "---\n%s", document)
	}
	return manifest.Bytes(), nil
}

const (
	renderedFile = "objects.yaml"
	// maxCopied bounds by how much the copy operations of a JSON patch may make an object larger; each could double it.
	maxCopied = 4 << 20
	// maxTold is how much an error shows of what kustomize says.
	maxTold = 500
)

// ErrPostRender says that a post renderer cannot be applied; errors.Is finds it in the errors of Render, Install and Upgrade.
var ErrPostRender = errors.New("a post renderer cannot be applied")

// postRender returns objects as post renderers and metadata make them. The objects may be changed. The errors do not show objects.
func postRender(objects []map[string]any, renderers []helmv1alpha1.PostRenderer, metadata *helmv1alpha1.CommonMetadata) ([]map[string]any, error) {
	for i, renderer := range renderers {
		if renderer.Kustomize == nil || len(objects) == 0 {
			continue
		}
		built, err := kustomize(objects, renderer.Kustomize)
		if err == nil {
			objects, err = ParseManifest(string(built))
		}
		if err != nil { // it may quote whole objects
			shown := foreign.Beginning(target.ShownError(err), maxTold)
			return nil, fmt.Errorf("%w: postRenderers[%d].kustomize: %s; correct it, or the chart", ErrPostRender, i, shown)
		}
	}
	if metadata != nil {
		setMetadata(objects, metadata)
	}
	return objects, nil
}

// kustomize runs kustomize on files in memory. It names no files and reaches no network.
func kustomize(objects []map[string]any, by *helmv1alpha1.Kustomize) (built []byte, err error) {
	file := types.Kustomization{
		TypeMeta:  types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Resources: []string{renderedFile},
	}
	for _, patch := range by.Patches {
		file.Patches = append(file.Patches, types.Patch{Patch: patch.Patch, Target: selectorOf(patch.Target)})
	}
	for _, image := range by.Images {
		file.Images = append(file.Images, types.Image{Name: image.Name, NewName: image.NewName, NewTag: image.NewTag, Digest: image.Digest})
	}
	kustomization, err := json.Marshal(file)
	if err != nil {
		return nil, err
	}
	manifest, err := writeManifest(objects)
	if err != nil {
		return nil, err
	}
	files := filesys.MakeFsInMemory()
	if err := errors.Join(files.WriteFile(renderedFile, manifest), files.WriteFile("kustomization.yaml", kustomization)); err != nil {
		return nil, err
	}
	defer func() {
		if recover() != nil { // with patches that it does not expect
			err = errors.New("kustomize broke off")
		}
	}()
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions, options.PluginConfig = types.LoadRestrictionsRootOnly, types.DisabledPluginConfig()
	result, err := krusty.MakeKustomizer(options).Run(files, ".")
	if err != nil {
		return nil, err
	}
	if built, err = result.AsYaml(); err == nil && !keepsNumbers(built, manifest, kustomization) {
		err = errors.New("a JSON patch cannot keep a number of so many digits; use a strategic merge patch")
	}
	return built, err
}

var manyDigits = regexp.MustCompile(`[0-9]{16,}`)

// keepsNumbers reports whether all long numbers come from the sources: JSON patches of kustomize round them.
func keepsNumbers(built []byte, sources ...[]byte) bool {
	known := map[string]bool{}
	for _, source := range sources {
		for _, number := range manyDigits.FindAll(source, -1) {
			known[string(number)] = true
		}
	}
	return !slices.ContainsFunc(manyDigits.FindAll(built, -1), func(number []byte) bool { return !known[string(number)] })
}

func selectorOf(t *helmv1alpha1.PatchTarget) *types.Selector {
	if t == nil {
		return nil
	}
	return &types.Selector{
		ResId: resid.ResId{
			Gvk: resid.Gvk{Group: t.Group, Version: t.Version, Kind: t.Kind}, Name: t.Name, Namespace: t.Namespace,
		},
		AnnotationSelector: t.AnnotationSelector, LabelSelector: t.LabelSelector,
	}
}

// setMetadata sets metadata on objects and on those inside Lists. Objects whose metadata is not a map stay as they are: the API server refuses them.
func setMetadata(objects []map[string]any, metadata *helmv1alpha1.CommonMetadata) {
	for _, object := range objects {
		if items, isList := object["items"].([]any); isList && object["metadata"] == nil {
			for _, item := range items {
				if inner, ok := item.(map[string]any); ok {
					setMetadata([]map[string]any{inner}, metadata)
				}
			}
			continue
		}
		setAll(object, "labels", metadata.Labels)
		setAll(object, "annotations", metadata.Annotations)
	}
}

func setAll(object map[string]any, field string, entries map[string]string) {
	at := object
	for _, name := range []string{"metadata", field} {
		if len(entries) == 0 {
			return
		}
		if at[name] == nil {
			at[name] = map[string]any{}
		}
		inner, isMap := at[name].(map[string]any)
		if !isMap {
			return
		}
		at = inner
	}
	for key, value := range entries {
		at[key] = value
	}
}
