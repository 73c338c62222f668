// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
)

// reference is what an Installation imports or exports.
type reference struct {
	from *object
	// name of the import or export in the Installation.
	as         string
	kind, name string
	// entry of a ConfigMap or Secret; empty means all of it.
	entry string
	// field that names it.
	field string
}

func (r reference) key() string { return r.kind + "/" + r.name }

// imports lists what an Installation imports. Targets that only a parent has are left out.
func imports(o *object, inst *v1alpha1.Installation) []reference {
	var found []reference
	for i := range inst.Spec.Imports.Data {
		d := &inst.Spec.Imports.Data[i]
		at := fmt.Sprintf("spec.imports.data[%d]", i)
		switch {
		case d.SecretRef != nil:
			found = append(found, reference{o, d.Name, "Secret", d.SecretRef.Name, d.SecretRef.Key, at + ".secretRef.name"})
		case d.ConfigMapRef != nil:
			found = append(found, reference{o, d.Name, "ConfigMap", d.ConfigMapRef.Name, d.ConfigMapRef.Key, at + ".configMapRef.name"})
		default:
			found = append(found, reference{o, d.Name, "DataObject", strings.TrimPrefix(d.DataRef, "#"), "", at + ".dataRef"})
		}
	}
	for i := range inst.Spec.Imports.Targets {
		t := &inst.Spec.Imports.Targets[i]
		at := fmt.Sprintf("spec.imports.targets[%d]", i)
		if t.Target != "" {
			found = append(found, reference{o, t.Name, "Target", strings.TrimPrefix(t.Target, "#"), "", at + ".target"})
		}
		for j, name := range t.Targets {
			found = append(found, reference{o, t.Name, "Target", strings.TrimPrefix(name, "#"), "", fmt.Sprintf("%s.targets[%d]", at, j)})
		}
		for _, key := range slices.Sorted(maps.Keys(t.TargetMap)) {
			found = append(found, reference{o, t.Name, "Target", strings.TrimPrefix(t.TargetMap[key], "#"), "", fmt.Sprintf("%s.targetMap[%s]", at, key)})
		}
	}
	return slices.DeleteFunc(found, func(r reference) bool { return r.name == "" || isFilledIn(r.name) })
}

func exportsOf(o *object, inst *v1alpha1.Installation) []reference {
	var found []reference
	for i, e := range inst.Spec.Exports.Data {
		found = append(found, reference{o, e.Name, "DataObject", strings.TrimPrefix(e.DataRef, "#"), "", fmt.Sprintf("spec.exports.data[%d].dataRef", i)})
	}
	for i, e := range inst.Spec.Exports.Targets {
		found = append(found, reference{o, e.Name, "Target", strings.TrimPrefix(e.Target, "#"), "", fmt.Sprintf("spec.exports.targets[%d].target", i)})
	}
	return slices.DeleteFunc(found, func(r reference) bool { return r.name == "" || isFilledIn(r.name) })
}

// connect checks what flows between objects.
func (l *landscape) connect() {
	var imported []reference
	for _, o := range l.objects {
		if inst, ok := o.typed.(*v1alpha1.Installation); ok {
			imported = append(imported, imports(o, inst)...)
			for _, e := range exportsOf(o, inst) {
				l.exported[e.key()] = append(l.exported[e.key()], e)
			}
			l.ofParent(o, inst)
			l.context(o, inst)
		}
	}
	waits := map[string][]string{}
	first := map[string]reference{}
	for _, r := range imported {
		l.imported(r)
		for _, producer := range l.producers(r) {
			waits[r.from.String()] = append(waits[r.from.String()], producer.from.String())
			if _, known := first[r.from.String()+producer.from.String()]; !known {
				first[r.from.String()+producer.from.String()] = r
			}
		}
	}
	l.rule = ruleCycle
	for cycle := validation.Cycle(waits); cycle != nil; cycle = validation.Cycle(waits) {
		r := first[cycle[0]+cycle[1]]
		l.in(r.from.document, Error, r.field, "the Installations wait for each other: %s; take one of these imports out", strings.Join(cycle, " → "))
		delete(waits, cycle[0])
	}
	for _, key := range slices.Sorted(maps.Keys(l.exported)) {
		l.exports(l.exported[key], imported)
	}
}

// ofParent reports imports that only a sub-installation can have.
func (l *landscape) ofParent(o *object, inst *v1alpha1.Installation) {
	l.rule = ruleReferences
	for i := range inst.Spec.Imports.Targets {
		if t := &inst.Spec.Imports.Targets[i]; t.TargetListReference+t.TargetMapReference != "" {
			l.in(o.document, Error, fmt.Sprintf("spec.imports.targets[%d]", i),
				"targetListRef and targetMapRef name imports of a parent, and this Installation has none; use targets or targetMap")
		}
	}
}

// context reports a Context that no file has, where files have others.
func (l *landscape) context(o *object, inst *v1alpha1.Installation) {
	name := inst.Spec.Context
	known := l.namesOf("Context", o.namespace)
	if name != "" && name != "default" && !isFilledIn(name) && len(known) > 0 && !slices.Contains(known, name) {
		l.in(o.document, Warning, "spec.context", "no file has the Context %q; %s", name, cure(name, known))
	}
}

// objectsOf are the objects that a reference may mean.
func (l *landscape) objectsOf(r reference) []*object {
	return slices.DeleteFunc(slices.Clone(l.named[r.key()]), func(o *object) bool { return !near(o.namespace, r.from.namespace) })
}

// producers are the exports that a reference may mean.
func (l *landscape) producers(r reference) []reference {
	return slices.DeleteFunc(slices.Clone(l.exported[r.key()]), func(e reference) bool { return !near(e.from.namespace, r.from.namespace) })
}

// namesOf lists what there is of a kind in a namespace, exports included.
func (l *landscape) namesOf(kind, namespace string) []string {
	found := map[string]bool{}
	for _, o := range l.objects {
		if o.kind == kind && near(o.namespace, namespace) {
			found[o.name] = true
		}
	}
	for _, exports := range l.exported {
		if e := exports[0]; e.kind == kind && near(e.from.namespace, namespace) {
			found[e.name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// imported checks one import: that something has it, and that its value fits.
func (l *landscape) imported(r reference) {
	l.rule = ruleReferences
	objects, isMade := l.objectsOf(r), len(l.producers(r)) > 0
	if len(objects) == 0 && !isMade {
		l.missing(r)
		return
	}
	d := importOf(r)
	for _, o := range objects {
		if o.document == nil {
			continue
		}
		if target, ok := o.typed.(*v1alpha1.Target); ok && d != nil && d.TargetType != "" && target.Spec.Type != d.TargetType && !isFilledIn(target.Spec.Type) {
			l.in(r.from.document, Error, r.field, "%s (%s) is of type %q, and import %q of the blueprint needs one of type %q; name another Target", o, o.where(),
				target.Spec.Type, r.as, d.TargetType)
		}
		if !isMade {
			l.value(r, o, d)
		}
	}
}

// missing reports an import that nothing here has. Secrets are seldom in Git, and a TargetSync makes Targets whose names only the cluster knows.
func (l *landscape) missing(r reference) {
	known := l.namesOf(r.kind, r.from.namespace)
	hint := cure(r.name, known)
	isSynced := r.kind == "Target" && len(l.namesOf("TargetSync", r.from.namespace)) > 0
	if !strings.HasPrefix(hint, "did you mean") {
		if r.kind == "Secret" || isSynced {
			return
		}
		hint = "add it, unless it is in the cluster"
	}
	if others := l.named[r.key()]; len(others) > 0 {
		hint = fmt.Sprintf("%s is in another namespace, which imports do not reach", others[0])
	}
	who := "no file has it"
	if r.kind == "DataObject" || r.kind == "Target" {
		who += ", and no Installation here exports it"
	}
	l.in(r.from.document, Warning, r.field, "there is no %s %q: %s; %s", r.kind, r.name, who, hint)
}

// importOf is the import of the blueprint that a reference gives; nil where it is not known, or where a mapping comes between.
func importOf(r reference) *model.ImportDefinition {
	inst, _ := r.from.typed.(*v1alpha1.Installation)
	if _, isMapped := inst.Spec.ImportDataMappings[r.as]; isMapped || r.from.blueprint == nil {
		return nil
	}
	all := render.Flatten(r.from.blueprint.Imports)
	if i := slices.IndexFunc(all, func(d model.ImportDefinition) bool { return d.Name == r.as }); i >= 0 {
		return &all[i]
	}
	return nil
}

// value checks the value of a data import against the schema of the blueprint.
func (l *landscape) value(r reference, o *object, d *model.ImportDefinition) {
	raw, field, isThere := contentOf(o, r.entry)
	if !isThere {
		l.in(r.from.document, Error, strings.TrimSuffix(r.field, "name")+"key", "%s (%s) has no key %q; add it there, or name another one", o, o.where(), r.entry)
		return
	}
	if d == nil || d.Schema == nil || raw == nil || o.isSealed || isFilledIn(string(raw)) {
		return
	}
	var value any
	if err := foreign.Unmarshal(raw, &value); err != nil {
		l.in(o.document, Error, field, "its content %s", foreign.Problem(err))
		return
	}
	v := validator{ctx: l.ctx, options: schema.Options{LocalTypes: r.from.blueprint.LocalTypes, Blueprint: r.from.files, Resource: noComponent}}
	mismatch, ok := errors.AsType[*schema.Error](v.Validate(d.Schema.RawMessage, value))
	if !ok {
		return
	}
	own := reporter{l.report, ruleSchema}
	for _, problem := range mismatch.Problems {
		inner, _, _ := strings.Cut(problem, ": ")
		own.add(Error, o.file, o.at(field+"."+inner), field, "the value does not match the schema of import %q of %s: %s", r.as, r.from, problem)
	}
}

// contentOf is the value that an object has for an import, as YAML, with its field: nil where it is not known. It reports whether the key is there.
func contentOf(o *object, key string) (raw []byte, field string, isThere bool) {
	switch typed := o.typed.(type) {
	case *v1alpha1.DataObject:
		return typed.Data.RawMessage, "data", true
	case *corev1.ConfigMap:
		text, ok := typed.Data[key]
		if ok && key != "" {
			return []byte(text), "data[" + key + "]", true
		}
		_, isBinary := typed.BinaryData[key]
		return nil, "", isBinary || key == ""
	case *corev1.Secret:
		text, ok := typed.StringData[key]
		if ok {
			return []byte(text), "stringData[" + key + "]", true
		}
		_, hasData := typed.Data[key]
		return nil, "", ok || hasData || key == ""
	}
	return nil, "", true
}

// exports checks those of one name: one Installation has it, no file does, and somebody imports it.
func (l *landscape) exports(all, imported []reference) {
	for i, e := range all {
		for _, other := range all[:i] {
			if other.from.String() != e.from.String() && other.from.namespace == e.from.namespace {
				severity := Warning // they may be for different clusters
				if path.Dir(other.from.file) == path.Dir(e.from.file) {
					severity = Error
				}
				l.rule = ruleDuplicate
				l.in(e.from.document, severity, e.field, "%s %q is already exported by %s (%s); change one of the two exports", e.kind, e.name, other.from, other.from.where())
				break
			}
		}
		for _, o := range l.objectsOf(e) {
			if o.document == nil {
				continue
			}
			l.rule = ruleDuplicate
			l.in(e.from.document, Warning, e.field, "%s is also in %s, and the two would overwrite each other; rename one", o, o.where())
		}
		l.rule = ruleReferences
		if !slices.ContainsFunc(imported, func(r reference) bool { return r.key() == e.key() && near(r.from.namespace, e.from.namespace) }) {
			l.in(e.from.document, Warning, e.field, "no Installation here imports %s %q; remove the export, unless somebody else reads it", e.kind, e.name)
		}
	}
}
