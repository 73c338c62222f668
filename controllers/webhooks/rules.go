// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/blueprints/graph"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/packing"
)

// rule returns what is wrong with an object, given as JSON, and with its change; old is empty when the object is created. It fails when
// the object cannot be read.
type rule func(object, old []byte) (field.ErrorList, error)

// on makes a rule of a check of typed objects. Old is nil when there is none, or none that can be read.
func on[T any](check func(object, old *T) field.ErrorList) rule {
	return func(raw, oldRaw []byte) (field.ErrorList, error) {
		object, old := new(T), new(T)
		if err := errors.Join(json.Unmarshal(raw, object), undecoded(object)); err != nil {
			return nil, fmt.Errorf("the object cannot be read: %w", err)
		}
		if len(oldRaw) == 0 || json.Unmarshal(oldRaw, old) != nil {
			old = nil
		}
		return check(object, old), nil
	}
}

// undecoded returns what of an object was left out when it was read.
func undecoded(object any) error {
	switch object := object.(type) {
	case *v1alpha1.Installation:
		return object.Undecoded.Err()
	case *v1alpha1.DeployItem:
		return object.Undecoded.Err()
	case *v1alpha1.Execution:
		return object.Undecoded.Err()
	case *v1alpha1.Target:
		return object.Undecoded.Err()
	}
	return nil
}

func installation(inst, old *v1alpha1.Installation) field.ErrorList {
	problems := validation.Installation(inst)
	if old == nil || isAdopted(inst.ObjectMeta, old.ObjectMeta) {
		problems = append(problems, owner(inst)...)
	}
	return problems
}

// ignoredByInstallations returns the fields of an Installation that are accepted and have no effect.
func ignoredByInstallations(raw []byte) []string {
	inst := &v1alpha1.Installation{}
	if json.Unmarshal(raw, inst) != nil {
		return nil
	}
	return validation.InstallationWarnings(inst)
}

// isAdopted reports whether an Installation gets another Installation as its owner. One that has it keeps it: Gardener Landscaper gave
// sub-installations other names.
func isAdopted(now, before metav1.ObjectMeta) bool {
	parent, former := parentIn(now), parentIn(before)
	return parent != nil && (former == nil || parent.UID != former.UID || parent.Name != former.Name)
}

func parentIn(metadata metav1.ObjectMeta) *metav1.OwnerReference {
	return (&v1alpha1.Installation{ObjectMeta: metadata}).ParentReference()
}

// adoption is the rule for a change of nothing but owners: the spec, which may be older than its rules, is not judged.
func adoption(raw, _ []byte) (field.ErrorList, error) {
	var now outline
	if err := json.Unmarshal(raw, &now); err != nil {
		return nil, fmt.Errorf("the object cannot be read: %w", err)
	}
	return owner(&v1alpha1.Installation{ObjectMeta: now.Metadata}), nil
}

// owner refuses an Installation that names another as its new owner and cannot be a sub-installation of it: those have a name that
// follows from both. Whether the owner made it is found out by the controller.
func owner(inst *v1alpha1.Installation) field.ErrorList {
	parent := inst.ParentReference()
	if parent == nil {
		return nil
	}
	template := inst.Annotations[v1alpha1.SubinstallationNameAnnotation]
	made := template != "" && inst.Labels[v1alpha1.EncompassedByLabel] == parent.Name &&
		inst.Name == kit.ShortChildName(parent.Name, template, validation.MaxInstallationNameLength)
	if made && parent.Name != inst.Name {
		return nil
	}
	at := field.NewPath("metadata", "ownerReferences")
	return field.ErrorList{field.Forbidden(at, "only the controller makes sub-installations of installation "+parent.Name+"; remove the owner reference")}
}

func target(target, _ *v1alpha1.Target) field.ErrorList { return validation.Target(target) }

func deployItem(item, old *v1alpha1.DeployItem) field.ErrorList {
	problems := validation.DeployItem(item)
	if old != nil {
		problems = append(problems, validation.DeployItemUpdate(item, old)...)
	}
	return problems
}

func execution(execution, _ *v1alpha1.Execution) field.ErrorList {
	spec := field.NewPath("spec")
	templates, err := packing.Unpack(&execution.Spec)
	if err != nil {
		return field.ErrorList{field.Invalid(spec.Child("deployItemsCompressed"), field.OmitValueType{}, err.Error())}
	}
	problems := validation.DeployItemTemplates(templates)
	if cycle := validation.DependencyCycle(templates, graph.Cycle); cycle != "" {
		problems = append(problems, field.Invalid(spec.Child("deployItems"), field.OmitValueType{}, cycle))
	}
	return problems
}
