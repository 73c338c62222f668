// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhooks refuses malformed objects when they are written. It serves the admission webhooks, registers them with the API
// server, and keeps their certificates.
//
// A webhook refuses only what can never work: whatever may become right (a missing source, a blueprint with a mistake) is accepted, and
// the status says what is wrong. A refusal is Forbidden, never Invalid: told to force, Flux deletes and recreates what is Invalid.
package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// Kind is a kind of object that a webhook validates.
type Kind struct {
	plural, singular string
	rule             rule
	// owned says that only the controller may give an object of the kind an Installation as its owner.
	owned bool
	// ignored returns what a person gives that has no effect; nil for nothing.
	ignored func(object []byte) []string
}

// kinds are those that are validated.
var kinds = []Kind{
	{"installations", "installation", on(installation), true, ignoredByInstallations},
	{"deployitems", "deployitem", on(deployItem), false, nil},
	{"executions", "execution", on(execution), false, nil},
	{"targets", "target", on(target), false, nil},
}

// AllKinds disables every webhook.
const AllKinds = "all"

// Enabled returns the kinds that are left when the named ones are disabled. A name is the plural or singular of a kind, or AllKinds.
func Enabled(disabled []string) ([]Kind, error) {
	enabled := slices.Clone(kinds)
	for _, name := range disabled {
		name = strings.ToLower(strings.TrimSpace(name))
		if name != AllKinds && !slices.ContainsFunc(kinds, func(k Kind) bool { return k.named(name) }) {
			return nil, fmt.Errorf("there is no webhook %q: name installations, deployitems, executions, targets or %s", name, AllKinds)
		}
		enabled = slices.DeleteFunc(enabled, func(k Kind) bool { return name == AllKinds || k.named(name) })
	}
	return enabled, nil
}

func (k *Kind) named(name string) bool { return name == k.plural || name == k.singular }

// webhook is the name of the kind's webhook, which the API server shows with a refusal.
func (k *Kind) webhook() string { return k.plural + ".validation.landscaper.gardener.cloud" }

// path is where the webhook is served.
func (k *Kind) path() string { return "/validate/" + k.plural }

// judge answers the requests about one kind. It looks at nothing but the request, so a dry run gets the same answer.
type judge struct{ kind Kind }

// Handle admits or refuses. It refuses with code 403, and warns of fields that have no effect in what it admits.
func (j judge) Handle(_ context.Context, request admission.Request) admission.Response {
	object, old := request.Object.Raw, request.OldObject.Raw
	judged := j.kind.ruleFor(object, old)
	if judged == nil {
		return admission.Allowed("")
	}
	problems, err := judged(object, old)
	if err != nil {
		return admission.Denied(err.Error())
	}
	if len(problems) > 0 {
		return admission.Denied(problems.ToAggregate().Error())
	}
	if j.kind.ignored == nil {
		return admission.Allowed("")
	}
	return admission.Allowed("").WithWarnings(j.kind.ignored(object)...)
}

// outline is what decides whether a change has to be judged.
type outline struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     json.RawMessage   `json:"spec"`
}

// ruleFor returns the rule for a change; nil if it has to be let through whatever the object says: finalizers of objects that were accepted
// before there was a rule have to come and go. conditions() says the same to API servers that know match conditions.
func (k *Kind) ruleFor(object, old []byte) rule {
	var now, before outline
	if len(old) == 0 || json.Unmarshal(object, &now) != nil || json.Unmarshal(old, &before) != nil {
		return k.rule
	}
	switch {
	case now.Metadata.DeletionTimestamp != nil:
		return nil
	case !bytes.Equal(now.Spec, before.Spec):
		return k.rule
	case k.owned && isAdopted(now.Metadata, before.Metadata):
		return adoption
	}
	return nil
}

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
		inst.Name == storage.ShortChildName(parent.Name, template, validation.MaxInstallationNameLength)
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
	templates, err := storage.Unpack(&execution.Spec)
	if err != nil {
		return field.ErrorList{field.Invalid(spec.Child("deployItemsCompressed"), field.OmitValueType{}, err.Error())}
	}
	problems := validation.DeployItemTemplates(templates)
	if cycle := validation.DependencyCycle(templates); cycle != "" {
		problems = append(problems, field.Invalid(spec.Child("deployItems"), field.OmitValueType{}, cycle))
	}
	return problems
}
