// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// collectedImports are the imports of an Installation by name, with the Target objects that they come from by object name.
type collectedImports struct {
	values  render.Imports
	targets map[string]*v1alpha1.Target
	// hashes tell by key of the import index whether an imported object changed.
	hashes map[string]string
}

// collectImports reads everything that the Installation imports. There is nothing to do once the Execution has its spec.
func (r *Reconciler) collectImports(ctx context.Context, s *scope) error {
	if s.applied() {
		return nil
	}
	if problems := validation.Installation(s.inst); len(problems) > 0 {
		return kit.Stall(operation, "InvalidInstallation", "%w", problems.ToAggregate())
	}
	imports := &collectedImports{hashes: map[string]string{}, targets: map[string]*v1alpha1.Target{}, values: render.Imports{
		Data: map[string]any{}, Targets: map[string]render.Target{},
		TargetLists: map[string][]render.Target{}, TargetMaps: map[string]map[string]render.Target{},
	}}
	for i := range s.inst.Spec.Imports.Data {
		definition := &s.inst.Spec.Imports.Data[i]
		value, err := r.readData(ctx, s.inst, definition)
		if err != nil {
			return r.importFailure(s, fmt.Sprintf("spec.imports.data[%d]", i), definition.Name, err)
		}
		imports.values.Data[definition.Name] = value
		if imports.hashes[definition.Name], err = valueHash(value); err != nil {
			return err
		}
	}
	for i := range s.inst.Spec.Imports.Targets {
		definition := &s.inst.Spec.Imports.Targets[i]
		if err := r.readTargets(ctx, s.inst, definition, imports); err != nil {
			return r.importFailure(s, fmt.Sprintf("spec.imports.targets[%d]", i), definition.Name, err)
		}
	}
	r.graces.Delete(s.inst.Status.JobID)
	s.imports = imports
	s.inst.Status.ImportsHash = hashOf(imports.hashes)
	return nil
}

// importGrace is how long a job waits for an import that is not there: a sync that creates both creates the Installation
// first.
const importGrace = 700 * time.Millisecond

// importFailure makes what is missing a problem that a person has to solve, after a moment of grace.
func (r *Reconciler) importFailure(s *scope, field, name string, err error) error {
	if kit.IsTransient(err) {
		return err
	}
	job := s.inst.Status.JobID
	if first, waited := r.graces.LoadOrStore(job, s.now); waited && s.now.Sub(first.(time.Time)) >= importGrace {
		r.graces.Delete(job)
		return kit.Stall(importOperation, reasonImportNotFound, "%s (import %q): %w", field, name, err)
	}
	s.wake(importGrace)
	return kit.Wait(importOperation, reasonImportNotFound, "%s (import %q): %w", field, name, err)
}

const (
	importOperation      = "Imports"
	reasonImportNotFound = "ImportNotFound"
)

// scopeOf returns the scope in which an Installation looks its imports up: that of its parent.
func scopeOf(inst *v1alpha1.Installation) string {
	parent := inst.Labels[v1alpha1.EncompassedByLabel]
	if inst.IsRoot() || parent == "" {
		return ""
	}
	return kit.InstallationScope(parent)
}

func (r *Reconciler) readData(ctx context.Context, inst *v1alpha1.Installation, definition *v1alpha1.DataImport) (any, error) {
	switch {
	case definition.SecretRef != nil:
		return r.readSecret(ctx, inst.Namespace, definition.SecretRef)
	case definition.ConfigMapRef != nil:
		return r.readConfigMap(ctx, inst.Namespace, definition.ConfigMapRef)
	}
	object := &v1alpha1.DataObject{}
	key := client.ObjectKey{Namespace: inst.Namespace, Name: kit.DataName(scopeOf(inst), definition.DataRef)}
	if err := r.Get(ctx, key, object); err != nil {
		return nil, missing(err, "DataObject", key, "dataRef")
	}
	var value any
	if len(object.Data.RawMessage) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(object.Data.RawMessage, &value); err != nil {
		return nil, fmt.Errorf("DataObject %s: data is not JSON", key)
	}
	return value, nil
}

func (r *Reconciler) readSecret(ctx context.Context, namespace string, ref *v1alpha1.LocalSecretReference) (any, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
	if err := r.Live.Get(ctx, key, secret); err != nil {
		return nil, missing(err, "Secret", key, "secretRef")
	}
	return readEntries(secret.Data, ref.Key, "Secret", key)
}

func (r *Reconciler) readConfigMap(ctx context.Context, namespace string, ref *v1alpha1.LocalConfigMapReference) (any, error) {
	config := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
	if err := r.Live.Get(ctx, key, config); err != nil {
		return nil, missing(err, "ConfigMap", key, "configMapRef")
	}
	entries := map[string][]byte{}
	for name, text := range config.Data {
		entries[name] = []byte(text)
	}
	for name, content := range config.BinaryData {
		entries[name] = content
	}
	return readEntries(entries, ref.Key, "ConfigMap", key)
}

// readEntries reads one entry, or all as one object, as YAML. Errors never show the content.
func readEntries(entries map[string][]byte, entry, kind string, key client.ObjectKey) (any, error) {
	if entry != "" {
		content, ok := entries[entry]
		if !ok {
			return nil, fmt.Errorf("%s %s has no key %q; add it or change the reference", kind, key, entry)
		}
		return readYAML(content, kind, key, entry)
	}
	all := map[string]any{}
	for name, content := range entries {
		value, err := readYAML(content, kind, key, name)
		if err != nil {
			return nil, err
		}
		all[name] = value
	}
	return all, nil
}

func readYAML(content []byte, kind string, key client.ObjectKey, entry string) (any, error) {
	var value any
	if err := yaml.Unmarshal(content, &value); err != nil {
		return nil, fmt.Errorf("%s %s: key %q is not YAML; correct its content", kind, key, entry)
	}
	return value, nil
}

// readTargets reads the Targets of one import.
func (r *Reconciler) readTargets(
	ctx context.Context, inst *v1alpha1.Installation, definition *v1alpha1.TargetImport, imports *collectedImports,
) error {
	switch {
	case definition.Target != "":
		target, err := r.readTarget(ctx, inst, definition.Target, imports)
		imports.values.Targets[definition.Name] = target
		return err
	case definition.Targets != nil:
		list := make([]render.Target, 0, len(definition.Targets))
		for _, name := range definition.Targets {
			target, err := r.readTarget(ctx, inst, name, imports)
			if err != nil {
				return err
			}
			list = append(list, target)
		}
		imports.values.TargetLists[definition.Name] = list
		return nil
	case definition.TargetMap != nil:
		targets := map[string]render.Target{}
		for key, name := range definition.TargetMap {
			target, err := r.readTarget(ctx, inst, name, imports)
			if err != nil {
				return err
			}
			targets[key] = target
		}
		imports.values.TargetMaps[definition.Name] = targets
		return nil
	}
	return fmt.Errorf("targetListRef and targetMapRef name imports of a parent, and this installation has none; use targets or targetMap")
}

func (r *Reconciler) readTarget(
	ctx context.Context, inst *v1alpha1.Installation, name string, imports *collectedImports,
) (render.Target, error) {
	object := &v1alpha1.Target{}
	key := client.ObjectKey{Namespace: inst.Namespace, Name: kit.DataName(scopeOf(inst), name)}
	if err := r.Get(ctx, key, object); err != nil {
		return render.Target{}, missing(err, "Target", key, "target")
	}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Target"))
	imports.targets[object.Name] = object
	imports.hashes["Target/"+object.Name] = string(object.UID) + "/" + strconv.FormatInt(object.Generation, 10)
	shown, err := jsonLike(object)
	return render.Target{Name: object.Name, Object: shown}, err
}

// missing says what is not there and how to cure it.
func missing(err error, kind string, key client.ObjectKey, field string) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %s not found; create it or change %s", kind, key, field)
	}
	return fmt.Errorf("read %s %s: %w", kind, key, err)
}
