// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Limits of post renderers.
const (
	// MaxPostRenderers is how many a configuration may have.
	MaxPostRenderers = 10
	// MaxKustomizations is how many patches, and how many images, one of them may have.
	MaxKustomizations = 100
)

// PostRenderer changes the objects of a chart after the chart was rendered.
type PostRenderer struct {
	// kustomize changes them as a kustomization does.
	Kustomize *Kustomize `json:"kustomize,omitempty"`
}

// Kustomize is a kustomization that reads no files and reaches no network.
type Kustomize struct {
	// patches are applied in this order, at most 100.
	Patches []Patch `json:"patches,omitempty"`
	// images replaces names, tags and digests of images, at most 100.
	Images []Image `json:"images,omitempty"`
}

// Patch is a strategic merge patch or a JSON patch (RFC 6902), see https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches.
type Patch struct {
	// patch is its text, in YAML or JSON.
	Patch string `json:"patch"`
	// target selects the objects; for a strategic merge patch empty means the one that the patch names.
	Target *PatchTarget `json:"target,omitempty"`
}

// PatchTarget selects objects. Each field is a regular expression that has to match as a whole, of at most 2048 characters of ASCII; empty ones match
// everything. Those that repeat much are refused.
type PatchTarget struct {
	// group of the API.
	Group string `json:"group,omitempty"`
	// version of the API.
	Version string `json:"version,omitempty"`
	// kind of the objects.
	Kind string `json:"kind,omitempty"`
	// name of the objects.
	Name string `json:"name,omitempty"`
	// namespace of the objects.
	Namespace string `json:"namespace,omitempty"`
	// annotationSelector is a label selector for annotations.
	AnnotationSelector string `json:"annotationSelector,omitempty"`
	// labelSelector is a label selector.
	LabelSelector string `json:"labelSelector,omitempty"`
}

// Image says what becomes of images of a name.
type Image struct {
	// name of the image, without tag.
	Name string `json:"name"`
	// newName replaces the name.
	NewName string `json:"newName,omitempty"`
	// newTag replaces the tag.
	NewTag string `json:"newTag,omitempty"`
	// digest replaces the tag; it wins over newTag.
	Digest string `json:"digest,omitempty"`
}
