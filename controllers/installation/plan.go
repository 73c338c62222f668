// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// warnOfDeletion says which deploy items the job uninstalls, and warns where it deletes all of them, or all sub-installations, because the blueprint makes
// none any more. That may be a mistake in a condition or an empty list, and nobody has deleted the Installation.
func (r *Reconciler) warnOfDeletion(_ context.Context, s *scope) error {
	if jobs.IsUnfinished(s.inst.Status.LastError) {
		return nil // an earlier reconciliation of the job has begun with it
	}
	warn := func(names []string, of, by string, executions int) {
		why := "the " + by + " of the blueprint render none with these imports"
		if executions == 0 {
			why = "the blueprint has none any more"
		}
		if len(names) > 0 {
			r.Recorder.AnnotatedEventf(s.inst, notify.Once(s.inst.Status.JobID), corev1.EventTypeWarning, protocol.ReasonDeletesAll,
				"the job deletes all %s with what they have deployed, because %s: %s", of, why, foreign.Beginning(strings.Join(names, ", "), 512))
		}
	}
	blueprint := s.Blueprint.Document
	gone := s.formerItems()
	if len(s.deployItems) == 0 {
		warn(gone, "deploy items", "deployExecutions", len(blueprint.DeployExecutions))
	} else if len(gone) > 0 {
		r.Recorder.AnnotatedEventf(s.inst, notify.Once(s.inst.Status.JobID), corev1.EventTypeNormal, "ItemsRemoved",
			"the job uninstalls deploy items that the blueprint does not make any more: %s", foreign.Beginning(strings.Join(gone, ", "), 512))
	}
	if len(s.subinstallations) == 0 {
		warn(slices.Sorted(maps.Keys(s.children)), "sub-installations", "subinstallationExecutions", len(blueprint.SubinstallationExecutions))
	}
	return nil
}

// formerItems are the deploy items of the job before this one that this one has no more.
func (s *scope) formerItems() (names []string) {
	if s.execution == nil || s.hasJob(s.execution) {
		return nil
	}
	items, _ := storage.Unpack(&s.execution.Spec) // what cannot be read has made no items
	for i := range items {
		if !slices.ContainsFunc(s.deployItems, func(kept v1alpha1.DeployItemTemplate) bool { return kept.Name == items[i].Name }) {
			names = append(names, items[i].Name)
		}
	}
	return names
}

// noteKeys sets the condition about keys of the blueprint that have no effect, and posts an event when it says something new. Where the operator
// refuses such keys, the job fails before anything is made.
func (r *Reconciler) noteKeys(_ context.Context, s *scope) error {
	if unknown := s.unknown; r.RefuseUnknownKeys && len(unknown) > 0 {
		return protocol.Stall(jobs.RenderOperation, protocol.UnknownKey, "blueprint: %s", document.List(unknown))
	}
	if protocol.NoteUnknownKeys(s.inst, "blueprint: ", s.unknown) {
		r.Recorder.Event(s.inst, corev1.EventTypeWarning, protocol.UnknownKey, conditions.GetMessage(s.inst, v1alpha1.UnknownKeysCondition))
	}
	return nil
}

// readInputs reads what the running job works with.
func (r *Reconciler) readInputs(ctx context.Context, s *scope) error {
	return r.readFor(ctx, s, s.inst)
}

// readFor enters what it finds into the status of inst. The scope gives back what was borrowed.
func (r *Reconciler) readFor(ctx context.Context, s *scope, inst *v1alpha1.Installation) error {
	in, err := r.Inputs.Read(ctx, inst, s.took(), s.clusters)
	in.Borrowed = append(in.Borrowed, s.Borrowed...)
	s.Inputs, s.env, s.shown = in.Inputs, in.Env, in.Shown
	if in.Values != nil {
		s.content = &content{values: in.Values}
	}
	s.wake(in.Requeue)
	return err
}

// forget drops everything that is kept of the job of an Installation: it is over, or the Installation is gone.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.kept.Drop(key)
	r.Inputs.Forget(key)
}

// render computes from its values what the job is going to make. What the templates store is kept also when they fail, and the plan where it
// will be needed for exports.
func (r *Reconciler) render(ctx context.Context, s *scope) error {
	previous, err := r.readState(ctx, s.inst, deployState, s.env.Blueprint.DeployExecutions, s.env.Blueprint.SubinstallationExecutions)
	if err != nil {
		return err
	}
	rendered, problem := r.Inputs.Rendering().Plan(ctx, s.env, s.values, previous)
	if err := r.writeState(ctx, s.inst, deployState, previous, rendered.Stored); err != nil {
		return err
	}
	s.deployItems, s.subinstallations = rendered.DeployItems, rendered.Subinstallations
	s.unknown = slices.Concat(s.Blueprint.Document.Unknown, rendered.Unknown)
	if problem != nil {
		return inputs.RenderingFailed(ctx, s.shown, jobs.RenderOperation, s.withoutSecrets(problem))
	}
	if err := s.Reach.CheckItems(ctx, r.Live, s.deployItems); err != nil {
		return err
	}
	if err := s.Reach.CheckTemplates(s.subinstallations); err != nil {
		return err
	}
	if s.exportsSomething() {
		r.kept.Keep(s.inst, remembered{blueprint: s.Blueprint, component: s.Component, content: s.content, reach: s.Reach}, s.Component,
			memory.Size(s.content)+memory.Size(s.Reach.Targets)+s.Blueprint.Weight())
	}
	return nil
}

// withoutSecrets takes the values of sensitive imports from an error whose text templates may have written themselves.
func (s *scope) withoutSecrets(problem error) error {
	failure, isRendering := errors.AsType[*render.Failure](problem)
	if !isRendering {
		return problem
	}
	secrets := map[string]any{}
	for name, value := range s.values.Data {
		if s.importIsSensitive(name) {
			secrets[name] = value
		}
	}
	shown := *failure
	shown.Message = templating.Masked(failure.Message, map[string]any{"imports": secrets})
	return &shown
}

func (s *scope) exportsSomething() bool {
	return len(s.inst.Spec.Exports.Data)+len(s.inst.Spec.Exports.Targets) > 0
}

// remembered is the content of a job with what it comes from, so that exports are computed with the values that the children were made from.
type remembered struct {
	blueprint *inputs.Blueprint
	component *inputs.Component
	content   *content
	reach     inputs.Reach
}

// What the names of Secrets with template state are made of. Deploy and sub-installation executions share a prefix.
const (
	deployState = "deploy"
	exportState = "export"
	// stateKey is the key of the Secret.
	stateKey = "config"
)

func stateName(inst *v1alpha1.Installation, prefix, executor string) client.ObjectKey {
	return client.ObjectKey{Namespace: inst.Namespace, Name: storage.DataName(inst.Name, prefix+executor)}
}

// readState reads what the executors stored in former runs. Only Secrets that the cache of metadata shows are read.
func (r *Reconciler) readState(ctx context.Context, inst *v1alpha1.Installation, prefix string, lists ...[]model.TemplateExecutor) (render.State, error) {
	state := render.State{}
	for _, executors := range lists {
		for i := range executors {
			name := executors[i].Name
			secret, err := r.stateSecret(ctx, stateName(inst, prefix, name))
			if err != nil {
				return nil, fmt.Errorf("read the state of template %q: %w", name, err)
			}
			if secret != nil && metav1.IsControlledBy(secret, inst) {
				state[name] = secret.Data[stateKey]
			}
		}
	}
	return state, nil
}

// stateSecret reads a Secret with state, nil when there is none.
func (r *Reconciler) stateSecret(ctx context.Context, key client.ObjectKey) (*corev1.Secret, error) {
	cached := &metav1.PartialObjectMetadata{}
	cached.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := r.metadata.Get(ctx, key, cached)
	if apierrors.IsNotFound(err) && r.states.Unseen(key) == 0 {
		return nil, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	secret := &corev1.Secret{}
	err = r.Live.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return secret, err
}

// writeState stores what the executors left, where it is another than before.
func (r *Reconciler) writeState(ctx context.Context, inst *v1alpha1.Installation, prefix string, previous, stored render.State) error {
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		if bytes.Equal(previous[name], stored[name]) {
			continue
		}
		if err := r.storeState(ctx, inst, stateName(inst, prefix, name), stored[name]); err != nil {
			return fmt.Errorf("store the state of template %q: %w", name, err)
		}
	}
	return nil
}

func (r *Reconciler) storeState(ctx context.Context, inst *v1alpha1.Installation, key client.ObjectKey, state json.RawMessage) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: key.Name, Namespace: key.Namespace,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(inst, v1alpha1.GroupVersion.WithKind("Installation"))},
	}, Data: map[string][]byte{stateKey: state}}
	existing, err := r.stateSecret(ctx, key)
	if err != nil {
		return err
	}
	if existing == nil {
		err := r.Create(ctx, secret)
		if err == nil {
			r.states.Created(secret)
		}
		return err
	}
	if owner := metav1.GetControllerOf(existing); owner == nil || owner.Kind != "Installation" || owner.Name != inst.Name {
		return protocol.Stall(jobs.RenderOperation, "StateSecretTaken", "Secret %s exists and does not belong to this installation; delete it", key)
	}
	secret.ResourceVersion = existing.ResourceVersion
	return r.Update(ctx, secret)
}

// importIsSensitive reports whether sub-installations see an import of the blueprint in a Secret only: blueprint or Installation say so, or its value
// comes from a sensitive export. What a mapping makes is sensitive where anything is that it may be made from.
func (s *scope) importIsSensitive(name string) bool {
	for _, definition := range render.Flatten(s.Blueprint.Document.Imports) {
		if definition.Name == name && definition.Sensitive {
			return true
		}
	}
	if _, mapped := s.inst.Spec.ImportDataMappings[name]; !mapped {
		return s.Imports.Sensitive[name]
	}
	for _, sensitive := range s.Imports.Sensitive {
		if sensitive {
			return true
		}
	}
	return false
}

// exportIsSensitive reports whether an export of the Installation is kept in a Secret: blueprint or Installation say so, or a mapping makes it where the
// blueprint has a sensitive export.
func (s *scope) exportIsSensitive(export v1alpha1.DataExport) bool {
	_, mapped := s.inst.Spec.ExportDataMappings[export.Name]
	return export.Sensitive || slices.ContainsFunc(s.Blueprint.Document.Exports, func(definition model.ExportDefinition) bool {
		return definition.Sensitive && (mapped || definition.Name == export.Name)
	})
}

// hasSensitiveExports reports whether what the deploy items export is kept in a Secret, because an export may be made from it that is.
func (s *scope) hasSensitiveExports() bool {
	return slices.ContainsFunc(s.inst.Spec.Exports.Data, s.exportIsSensitive) ||
		slices.ContainsFunc(s.Blueprint.Document.Exports, func(definition model.ExportDefinition) bool { return definition.Sensitive })
}
