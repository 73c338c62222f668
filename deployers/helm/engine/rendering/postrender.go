// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	renderedFile = "objects.yaml"
	// maxCopied bounds by how much the copy operations of a JSON patch may make an object larger; each could double it.
	maxCopied = 4 << 20
)

// ErrPostRender says that a Kustomization cannot be applied; errors.Is finds it in the errors of Render, Install and Upgrade.
var ErrPostRender = errors.New("a post renderer cannot be applied")

// maxTold is how much an error shows of what kustomize says.
const maxTold = 500

// limitPatches sets the limit of the library of kustomize for JSON patches, which holds for the whole process.
func limitPatches() { jsonpatch.AccumulatedCopySizeLimit = maxCopied }

// Kustomization changes objects by patches and by new names of images. It names no files and reaches no network.
type Kustomization struct {
	Patches []Patch
	Images  []Image
}

// Patch is a strategic merge patch or a JSON patch for the objects that Target selects.
type Patch struct {
	Text   string
	Target *PatchTarget
}

// PatchTarget selects objects by regular expressions and selectors; empty ones match everything.
type PatchTarget struct {
	Group, Version, Kind, Name, Namespace string
	AnnotationSelector, LabelSelector     string
}

// Image says what becomes of images of a name.
type Image struct{ Name, NewName, NewTag, Digest string }

// postRender returns objects as kustomizations and metadata make them. The objects may be changed. The errors do not show objects.
func postRender(objects []map[string]any, kustomizations []Kustomization, metadata Metadata) ([]map[string]any, error) {
	for i, kustomization := range kustomizations {
		var err error
		if objects, err = kustomization.apply(objects); err != nil {
			return nil, fmt.Errorf("%w: postRenderers[%d].kustomize: %s; correct it, or the chart", ErrPostRender, i, told(err))
		}
	}
	metadata.SetOn(objects)
	return objects, nil
}

// told is the text of an error of kustomize, which may quote whole objects.
func told(err error) string {
	return beginning.Of(target.ShownError(err), maxTold)
}

func (k Kustomization) apply(objects []map[string]any) ([]map[string]any, error) {
	if len(objects) == 0 {
		return objects, nil
	}
	manifest, err := WriteManifest(objects)
	if err != nil {
		return nil, err
	}
	built, err := k.build(manifest.Bytes())
	if err != nil {
		return nil, err
	}
	return ParseManifest(string(built))
}

// build runs kustomize on files in memory.
func (k Kustomization) build(manifest []byte) (built []byte, err error) {
	kustomization, err := json.Marshal(k.file())
	if err != nil {
		return nil, err
	}
	files := filesys.MakeFsInMemory()
	for name, content := range map[string][]byte{renderedFile: manifest, "kustomization.yaml": kustomization} {
		if err := files.WriteFile(name, content); err != nil {
			return nil, err
		}
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
	return result.AsYaml()
}

func (k Kustomization) file() types.Kustomization {
	file := types.Kustomization{
		TypeMeta:  types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Resources: []string{renderedFile},
	}
	for _, patch := range k.Patches {
		file.Patches = append(file.Patches, types.Patch{Patch: patch.Text, Target: patch.Target.selector()})
	}
	for _, image := range k.Images {
		file.Images = append(file.Images, types.Image{Name: image.Name, NewName: image.NewName, NewTag: image.NewTag, Digest: image.Digest})
	}
	return file
}

func (t *PatchTarget) selector() *types.Selector {
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
