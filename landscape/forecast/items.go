// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmconfig "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	manifestconfig "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/deployers/mock"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// deploy ends the running job of a DeployItem as its deployer would, unless nobody knows what it exports: then the job stays, and all that wait for it.
func (s *simulation) deploy(ctx context.Context, item *v1alpha1.DeployItem) error {
	if !item.DeletionTimestamp.IsZero() {
		if item.Status.IsIdle() {
			return nil
		}
		return protocol.PatchMetadata(ctx, s.store, item, protocol.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer})
	}
	key := client.ObjectKeyFromObject(item)
	if item.Status.IsIdle() || s.isHeld(key) {
		return nil
	}
	exports, unknown, failure := s.exports(ctx, item)
	if len(unknown) > 0 && !s.isExporting(ctx, item) {
		unknown = nil
	}
	if len(unknown) > 0 {
		s.unsure[key] = unknown
	}
	switch {
	case failure != nil:
		protocol.Fail(item, protocol.AsFailure("Reconcile", failure), time.Now())
	case len(unknown) > 0 && item.Status.ExportReference == nil:
		return nil
	case len(unknown) == 0:
		if err := s.publish(ctx, item, exports); err != nil {
			return err
		}
		fallthrough
	default:
		protocol.Succeed(item, "the item is deployed", time.Now())
	}
	return s.store.Status().Update(ctx, item)
}

// isExporting reports whether somebody may need what an item exports: the Installation that it belongs to exports something itself, or cannot be read.
func (s *simulation) isExporting(ctx context.Context, item *v1alpha1.DeployItem) bool {
	inst := &v1alpha1.Installation{}
	err := s.store.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Labels[v1alpha1.ExecutionManagedByLabel]}, inst)
	return err != nil || len(inst.Spec.Exports.Data)+len(inst.Spec.Exports.Targets) > 0
}

// isHeld reports whether the job of an item waits for what nobody knows.
func (s *simulation) isHeld(key client.ObjectKey) bool { return len(s.unsure[key]) > 0 }

// publish writes the exports of an item where its deployer leaves them.
func (s *simulation) publish(ctx context.Context, item *v1alpha1.DeployItem, exports map[string]any) error {
	if exports == nil || s.isAsBefore(item) {
		return nil
	}
	wanted, err := contract.ExportSecret(item, exports)
	if err != nil {
		return err
	}
	existing := &corev1.Secret{}
	switch err := s.store.Get(ctx, client.ObjectKeyFromObject(wanted), existing); {
	case apierrors.IsNotFound(err):
		err = s.store.Create(ctx, wanted)
		if err != nil {
			return err
		}
	case err != nil:
		return nil // whoever collects the exports says that they cannot be read
	default:
		existing.Data, existing.Annotations = wanted.Data, wanted.Annotations
		if err := s.store.Update(ctx, existing); err != nil {
			return err
		}
	}
	item.Status.ExportReference = &v1alpha1.ObjectReference{Name: wanted.Name, Namespace: wanted.Namespace}
	return nil
}

// isAsBefore reports whether an item has the spec that its last job deployed.
func (s *simulation) isAsBefore(item *v1alpha1.DeployItem) bool {
	if s.before == nil {
		return false
	}
	former, _ := s.before.Find("DeployItem", item.Namespace, item.Name).(*v1alpha1.DeployItem)
	return former != nil && former.UID == item.UID && former.Status.Phase == v1alpha1.PhaseSucceeded && equality.Semantic.DeepEqual(former.Spec, item.Spec)
}

// exports returns what the job of an item exports, why it fails, or what nobody knows of it.
func (s *simulation) exports(ctx context.Context, item *v1alpha1.DeployItem) (exports map[string]any, unknown []string, failure error) {
	var wanted []managedresource.Export
	switch raw := rawOf(item); item.Spec.Type {
	case v1alpha1.MockDeployItemType:
		outcome, err := mock.Deployer{}.Ensure(ctx, &contract.Item{DeployItem: item})
		return outcome.Exports, nil, err
	case v1alpha1.ManifestDeployItemType:
		config, err := manifestconfig.DecodeConfiguration(raw)
		if err == nil {
			err = manifestconfig.Validate(config)
		}
		if err != nil {
			return nil, nil, protocol.Stall("Reconcile", protocol.ReasonInvalidConfiguration, "spec.config: %w", err)
		}
		if config.Exports != nil {
			wanted = config.Exports.Exports
		}
	case v1alpha1.HelmDeployItemType:
		config, err := helmconfig.DecodeConfiguration(raw)
		if err == nil {
			err = helmconfig.Validate(config)
		}
		if err != nil {
			return nil, nil, protocol.Stall("Reconcile", protocol.ReasonInvalidConfiguration, "spec.config: %w", err)
		}
		wanted = config.AllExports()
	default:
		if !s.isAsBefore(item) || item.Spec.Type == v1alpha1.ContainerDeployItemType {
			unknown = []string{fmt.Sprintf("what it exports is made by its deployer during the job (type %s)", item.Spec.Type)}
		}
		return nil, unknown, nil
	}
	if len(wanted) == 0 || s.isAsBefore(item) {
		return nil, nil, nil
	}
	deployed, why := s.objects(ctx, item)
	exports = map[string]any{}
	for i := range wanted {
		export := &wanted[i]
		value, known := exported(export, deployed)
		if why != "" || !known {
			unknown = append(unknown, fmt.Sprintf("export %s is read from the target during the job", export.Key))
			continue
		}
		if err := resources.Nest(exports, export.Key, value); err != nil {
			return nil, nil, err
		}
	}
	return exports, unknown, nil
}

// exported returns the value of an export that the objects to deploy say themselves. What an API server fills in is not there.
func exported(export *managedresource.Export, deployed []resources.Desired) (any, bool) {
	if export.FromResource == nil || export.FromObjectReference != nil || export.TargetName != nil {
		return nil, false
	}
	from := resources.ReferenceOf(export.FromResource)
	for i := range deployed {
		object := deployed[i].Object
		if object.GetAPIVersion() != from.APIVersion || object.GetKind() != from.Kind || object.GetName() != from.Name || object.GetNamespace() != from.Namespace {
			continue
		}
		value, found, err := resources.ValueAt(object.Object, export.JSONPath)
		return value, found && err == nil
	}
	return nil, false
}

func rawOf(item *v1alpha1.DeployItem) []byte {
	if item.Spec.Configuration == nil {
		return nil
	}
	return item.Spec.Configuration.Raw
}

// objects returns what an item puts on its target, or why nobody knows.
func (s *simulation) objects(ctx context.Context, item *v1alpha1.DeployItem) (deployed []resources.Desired, unknown string) {
	var err error
	switch item.Spec.Type {
	case v1alpha1.ManifestDeployItemType:
		config, problem := manifestconfig.DecodeConfiguration(rawOf(item))
		if err = problem; err == nil {
			deployed, err = resources.Expand(config.Manifests)
		}
	case v1alpha1.HelmDeployItemType:
		return s.charts.render(ctx, s.store, item)
	case v1alpha1.MockDeployItemType:
	default:
		return nil, fmt.Sprintf("what a deployer of type %s does is not known before", item.Spec.Type)
	}
	if err != nil {
		return nil, err.Error()
	}
	return deployed, ""
}

// charts renders the charts of Helm items, each configuration once.
type charts struct {
	renderer *helm.Renderer
	known    map[renderedItem]rendered
}

// renderedItem is an item, and whether it is read as it was at the mark.
type renderedItem struct {
	client.ObjectKey
	past bool
}

// rendered is what a configuration renders to.
type rendered struct {
	config  string
	objects []resources.Desired
	unknown string
}

func (c *charts) render(ctx context.Context, live *store, item *v1alpha1.DeployItem) ([]resources.Desired, string) {
	key, config := renderedItem{client.ObjectKeyFromObject(item), live.rewound}, string(rawOf(item))
	if known, ok := c.known[key]; ok && known.config == config {
		return known.objects, known.unknown
	}
	made := rendered{config: config}
	used, err := contract.ContextOf(ctx, live, item)
	if err == nil {
		made.objects, err = c.renderer.Objects(ctx, &contract.Item{DeployItem: item, Context: used})
	}
	if err != nil {
		made.unknown = "the chart is not rendered: " + foreign.Beginning(strings.TrimSpace(err.Error()), 1024)
	}
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		c.known[key] = made
	}
	return made.objects, made.unknown
}
