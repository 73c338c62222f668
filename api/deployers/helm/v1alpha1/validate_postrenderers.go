// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

func validatePostRenderers(renderers []PostRenderer) []error {
	if len(renderers) > MaxPostRenderers {
		return []error{fmt.Errorf("postRenderers: has %d entries, more than %d; put several patches into one", len(renderers), MaxPostRenderers)}
	}
	var errs []error
	for i, renderer := range renderers {
		at := fmt.Sprintf("postRenderers[%d].kustomize", i)
		if renderer.Kustomize == nil {
			errs = append(errs, fmt.Errorf("%s: is missing; set patches or images there", at))
			continue
		}
		errs = append(errs, validateKustomize(at, renderer.Kustomize)...)
	}
	return errs
}

func validateKustomize(at string, kustomize *Kustomize) []error {
	if most := max(len(kustomize.Patches), len(kustomize.Images)); most > MaxKustomizations {
		return []error{fmt.Errorf("%s: has %d patches or images, more than %d; put some into another post renderer", at, most, MaxKustomizations)}
	}
	var errs []error
	for i, patch := range kustomize.Patches {
		errs = append(errs, validatePatch(fmt.Sprintf("%s.patches[%d]", at, i), patch)...)
	}
	for i, image := range kustomize.Images {
		errs = append(errs, require(fmt.Sprintf("%s.images[%d].name", at, i), image.Name))
	}
	return errs
}

func validatePatch(at string, patch Patch) []error {
	if strings.TrimSpace(patch.Patch) == "" {
		return []error{fmt.Errorf("%s.patch: is empty, set it", at)}
	}
	var content any
	text := []byte(patch.Patch)
	if err := foreign.Unmarshal(text, &content); err != nil {
		return []error{fmt.Errorf("%s.patch: %s; correct it", at, foreign.Problem(err))}
	}
	_, isList := content.([]any)
	if patch.Target == nil {
		if isList {
			return []error{fmt.Errorf("%s.target: is missing; a JSON patch needs one", at)}
		}
		return nil
	}
	return validateTarget(at+".target", patch.Target)
}

func validateTarget(at string, target *PatchTarget) []error {
	var errs []error
	for _, field := range []struct{ name, pattern string }{
		{"group", target.Group},
		{"version", target.Version},
		{"kind", target.Kind},
		{"name", target.Name},
		{"namespace", target.Namespace},
	} {
		if _, err := syntax.Parse(field.pattern, syntax.Perl); err != nil {
			errs = append(errs, fmt.Errorf("%s.%s: %q is not a regular expression (RE2); correct it", at, field.name, document.Brief(field.pattern)))
		}
	}
	for _, field := range []struct{ name, selector string }{
		{"labelSelector", target.LabelSelector},
		{"annotationSelector", target.AnnotationSelector},
	} {
		if _, err := labels.Parse(field.selector); err != nil {
			errs = append(errs, fmt.Errorf("%s.%s: %q is not a selector; write one like app=web", at, field.name, document.Brief(field.selector)))
		}
	}
	return errs
}
