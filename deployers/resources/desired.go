// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

// maxListDepth bounds Lists inside Lists.
const maxListDepth = 8

// Desired is one object to deploy.
type Desired struct {
	// Policy says what may be done with the object; empty means manage.
	Policy managedresource.ManifestPolicy
	// Object as it shall be, without labels and annotations of this package.
	Object *unstructured.Unstructured
	// AnnotateBeforeCreate, AnnotateBeforeDelete as in managedresource.Manifest.
	AnnotateBeforeCreate, AnnotateBeforeDelete map[string]string
	// PatchAfterDeployment, PatchBeforeDelete as in managedresource.Manifest.
	PatchAfterDeployment, PatchBeforeDelete *runtime.RawExtension
}

// Expand reads manifests as single objects; Lists stand for their items. The errors carry the code ERR_CONFIGURATION_PROBLEM
// and name the manifest by its index.
func Expand(manifests []managedresource.Manifest) ([]Desired, error) {
	var desired []Desired
	for i, manifest := range manifests {
		var fields map[string]any
		if manifest.Manifest == nil {
			return nil, Misconfigured("manifests[%d].manifest: is empty, write the object to deploy there", i)
		}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(manifest.Manifest.Raw, &fields); err != nil || fields == nil {
			return nil, Misconfigured("manifests[%d].manifest: is not an object, write the object to deploy there", i)
		}
		more, err := expand(fmt.Sprintf("manifests[%d].manifest", i), template(manifest), fields, 0)
		if err != nil {
			return nil, err
		}
		desired = append(desired, more...)
	}
	return desired, nil
}

func template(manifest managedresource.Manifest) Desired {
	policy := cmp.Or(manifest.Policy, managedresource.ManagePolicy)
	return Desired{
		Policy: policy, AnnotateBeforeCreate: manifest.AnnotateBeforeCreate, AnnotateBeforeDelete: manifest.AnnotateBeforeDelete,
		PatchAfterDeployment: manifest.PatchAfterDeployment, PatchBeforeDelete: manifest.PatchBeforeDelete,
	}
}

func expand(path string, like Desired, content map[string]any, depth int) ([]Desired, error) {
	object := &unstructured.Unstructured{Object: content}
	dropNulls(object)
	if object.IsList() {
		return expandList(path, like, content["items"].([]any), depth)
	}
	if err := complain(path, object); err != nil {
		return nil, err
	}
	if isAggregated(object) {
		delete(object.Object, "rules")
	}
	like.Object = object
	return []Desired{like}, nil
}

func expandList(path string, like Desired, items []any, depth int) ([]Desired, error) {
	if depth >= maxListDepth {
		return nil, Misconfigured("%s: Lists are nested more than %d deep, flatten them", path, maxListDepth)
	}
	var desired []Desired
	for i, item := range items {
		at := fmt.Sprintf("%s.items[%d]", path, i)
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, Misconfigured("%s: is not an object, write the object to deploy there", at)
		}
		more, err := expand(at, like, fields, depth+1)
		if err != nil {
			return nil, err
		}
		desired = append(desired, more...)
	}
	return desired, nil
}

// dropNulls removes the nulls that templates leave in metadata; for the API server they mean absent.
func dropNulls(object *unstructured.Unstructured) {
	metadata, _ := object.Object["metadata"].(map[string]any)
	for key, value := range metadata {
		if value == nil {
			delete(metadata, key)
		}
	}
}

// complain says what an object lacks to be deployed.
func complain(path string, object *unstructured.Unstructured) error {
	for _, field := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}} {
		value, _, err := unstructured.NestedString(object.Object, field...)
		if err != nil || value == "" {
			return Misconfigured("%s.%s: is empty or no string, set it", path, join(field))
		}
	}
	if problems := content.IsPathSegmentName(object.GetName()); len(problems) > 0 {
		return Misconfigured("%s.metadata.name: %q %s, correct it", path, object.GetName(), strings.Join(problems, "; "))
	}
	for _, field := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(object.Object, "metadata", field); err != nil {
			return Misconfigured("%s.metadata.%s: holds something that is not a string, quote the values", path, field)
		}
	}
	if _, _, err := unstructured.NestedString(object.Object, "metadata", "namespace"); err != nil {
		return Misconfigured("%s.metadata.namespace: is not a string, quote it", path)
	}
	if _, err := schema.ParseGroupVersion(object.GetAPIVersion()); err != nil {
		return Misconfigured("%s.apiVersion: %q is malformed, write group/version", path, object.GetAPIVersion())
	}
	return nil
}

func join(field []string) string {
	if len(field) == 1 {
		return field[0]
	}
	return field[0] + "." + field[1]
}
