// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
)

// kustomizations returns the post renderers of the configuration.
func (j *job) kustomizations() []engine.Kustomization {
	var all []engine.Kustomization
	for _, renderer := range j.config.PostRenderers {
		if renderer.Kustomize != nil {
			all = append(all, kustomizationOf(renderer.Kustomize))
		}
	}
	return all
}

func kustomizationOf(kustomize *helmv1alpha1.Kustomize) engine.Kustomization {
	var of engine.Kustomization
	for _, patch := range kustomize.Patches {
		of.Patches = append(of.Patches, engine.Patch{Text: patch.Patch, Target: (*engine.PatchTarget)(patch.Target)})
	}
	for _, image := range kustomize.Images {
		of.Images = append(of.Images, engine.Image(image))
	}
	return of
}
