// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/sensitive"
)

const (
	// reasonExportNotFound says that what deploy items exported is gone.
	reasonExportNotFound = "ExportNotFound"
	// reasonInvalidExport says that what deploy items or sub-installations exported is not what it has to be.
	reasonInvalidExport = "InvalidExport"
)

// Exports runs the export executions with the imports as they are now, and what the Execution has exported. It returns nil where the Installation
// exports nothing.
func (m *Maker) Exports(ctx context.Context, p *Plan, execution *v1alpha1.Execution) (*render.ExportValues, error) {
	if len(p.Inst.Spec.Exports.Data)+len(p.Inst.Spec.Exports.Targets) == 0 {
		return nil, nil
	}
	if err := m.recollect(ctx, p); err != nil {
		return nil, err
	}
	seen, err := m.exportInputs(ctx, p, execution)
	if err != nil {
		return nil, err
	}
	env, shown, err := inputs.Environment(p.Inst, &p.Inputs, p.Clusters)
	if err != nil {
		return nil, err
	}
	previous, err := m.readState(ctx, p.Inst, exportState, env.Blueprint.ExportExecutions)
	if err != nil {
		return nil, err
	}
	exports, stored, renderErr := m.Inputs.Rendering().Exports(ctx, env, p.Values, *seen, previous)
	if err := m.writeState(ctx, p.Inst, exportState, previous, stored); err != nil {
		return nil, err
	}
	if renderErr != nil {
		return nil, inputs.RenderingFailed(ctx, shown, jobs.ExportOperation, renderErr)
	}
	if err := exports.Check(p.Inst.Spec.Exports); err != nil {
		return nil, inputs.RenderFailure(jobs.ExportOperation, err)
	}
	return exports, p.Reach.CheckExports(ctx, exports)
}

// recollect finds inputs and values again when this reconciliation has not needed them so far: in memory, or after a restart by reading them.
// That leaves no trace in the status, which keeps what the children were made from.
func (m *Maker) recollect(ctx context.Context, p *Plan) error {
	if p.Content != nil || m.recall(p) {
		return nil
	}
	return m.read(ctx, p, p.Inst.DeepCopy())
}

// exportInputs reads what export executions see: exports of deploy items, and the data and targets in the own scope.
func (m *Maker) exportInputs(ctx context.Context, p *Plan, execution *v1alpha1.Execution) (*render.ExportInputs, error) {
	inputs := &render.ExportInputs{
		DeployItems: map[string]any{}, DataObjects: map[string]any{}, Targets: map[string]any{}, Mappings: p.Inst.Spec.ExportDataMappings,
	}
	if err := m.readDeployItemExports(ctx, execution, inputs); err != nil {
		return nil, err
	}
	var held data.Allowance
	if err := m.readDataOfScope(ctx, p, inputs, &held); err != nil {
		return nil, err
	}
	return inputs, m.readTargetsOfScope(ctx, p, inputs, &held)
}

func (m *Maker) readDataOfScope(ctx context.Context, p *Plan, inputs *render.ExportInputs, held *data.Allowance) error {
	own := client.MatchingFields{data.ScopeIndex: kit.InstallationScope(p.Inst.Name)}
	data := &v1alpha1.DataObjectList{}
	if err := m.List(ctx, data, client.InNamespace(p.Inst.Namespace), own, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range data.Items {
		if exportedByOrphan(p.Inst, data.Items[i].Labels) {
			continue
		}
		value, err := sensitive.Value(ctx, m.Live, &data.Items[i])
		if err != nil {
			return notExported(err)
		}
		if err := held.Hold(value); err != nil {
			return tooMuch("DataObject", &data.Items[i], err)
		}
		inputs.DataObjects[data.Items[i].Labels[v1alpha1.DataObjectKeyLabel]] = value
	}
	return nil
}

// tooMuch says that export executions would have to see more than a reconciliation may hold.
func tooMuch(kind string, object client.Object, err error) error {
	return kit.Stall(jobs.ExportOperation, reasonInvalidExport, "%s %s: %w", kind, client.ObjectKeyFromObject(object), err)
}

func (m *Maker) readTargetsOfScope(ctx context.Context, p *Plan, inputs *render.ExportInputs, held *data.Allowance) error {
	own := client.MatchingFields{data.ScopeIndex: kit.InstallationScope(p.Inst.Name)}
	targets := &v1alpha1.TargetList{}
	if err := m.List(ctx, targets, client.InNamespace(p.Inst.Namespace), own, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range targets.Items {
		if data.Retired(&targets.Items[i]) || exportedByOrphan(p.Inst, targets.Items[i].Labels) {
			continue
		}
		target := &v1alpha1.Target{ObjectMeta: targets.Items[i].ObjectMeta, Spec: targets.Items[i].Spec}
		target.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Target"))
		shown, err := data.JSONLike(target)
		if err != nil {
			return err
		}
		if err := held.Hold(shown); err != nil {
			return tooMuch("Target", &targets.Items[i], err)
		}
		inputs.Targets[targets.Items[i].Labels[v1alpha1.DataObjectKeyLabel]] = shown
	}
	return nil
}

// readDeployItemExports reads what the Execution collected. It writes that before it ends its job, so what is missing or broken now comes with the next
// job only.
func (m *Maker) readDeployItemExports(ctx context.Context, execution *v1alpha1.Execution, inputs *render.ExportInputs) error {
	if execution == nil || execution.Status.ExportReference == nil {
		return nil
	}
	object := &v1alpha1.DataObject{}
	key := client.ObjectKey{Namespace: execution.Namespace, Name: execution.Status.ExportReference.Name}
	if err := m.Live.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return kit.Stall(jobs.ExportOperation, reasonExportNotFound, "DataObject %s with the exports of execution %s does not exist; run the job again",
			key, execution.Name)
	} else if err != nil {
		return fmt.Errorf("read exports of execution %s from DataObject %s: %w", execution.Name, key, err)
	}
	value, err := sensitive.Value(ctx, m.Live, object)
	items, isMap := value.(map[string]any)
	switch {
	case err != nil:
		return notExported(err)
	case !isMap && value != nil:
		return kit.Stall(jobs.ExportOperation, reasonInvalidExport, "DataObject %s: data is no map of deploy items; run the job again", key)
	}
	maps.Copy(inputs.DeployItems, items)
	return nil
}

// notExported says why what export executions have to see cannot be read: it is gone or broken, or the API server does not give it now.
func notExported(err error) error {
	unread, ok := errors.AsType[*sensitive.Unread](err)
	switch {
	case ok && apierrors.IsNotFound(err):
		return kit.Stall(jobs.ExportOperation, reasonExportNotFound, "Secret %s, which holds an export, does not exist; run the job again", unread.Secret)
	case ok:
		return err
	}
	return kit.Stall(jobs.ExportOperation, reasonInvalidExport, "%w, or run the job again", err)
}

// exportedByOrphan reports whether a sub-installation that is not active any more exported an object of the own scope.
func exportedByOrphan(inst *v1alpha1.Installation, labels map[string]string) bool {
	if labels[v1alpha1.DataObjectSourceTypeLabel] != v1alpha1.DataObjectSourceExport {
		return false
	}
	return inst.Status.SubInstCache == nil || !slices.ContainsFunc(inst.Status.SubInstCache.ActiveSubs, func(pair v1alpha1.SubNamePair) bool {
		return kit.InstallationScope(pair.ObjectName) == labels[v1alpha1.DataObjectSourceLabel]
	})
}
