// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
)

// ocmConfigKey is the key of the ConfigMap that Context.ocmConfig names.
const ocmConfigKey = ".ocmconfig"

// ContextOf returns what a deployer may use of the Context of an item, read by a reader without cache.
func ContextOf(ctx context.Context, live client.Client, item *v1alpha1.DeployItem) (*Context, error) {
	return (&reconciler{client: live, live: live, options: &Options{}}).readContext(ctx, item)
}

// readContext reads the Context of the item with its pull secrets and OCM configuration. The Context "default" may be missing, and a deletion needs none.
func (r *reconciler) readContext(ctx context.Context, item *v1alpha1.DeployItem) (*Context, error) {
	name := item.ContextName()
	object, key := &v1alpha1.Context{}, types.NamespacedName{Namespace: item.Namespace, Name: name}
	err := r.client.Get(ctx, key, object)
	if apierrors.IsNotFound(err) && name != v1alpha1.DefaultContextName { // that one may be missing, so it is not asked for live
		err = r.live.Get(ctx, key, object)
	}
	if apierrors.IsNotFound(err) {
		if name == v1alpha1.DefaultContextName || isDeleting(item) {
			return &Context{}, nil
		}
		return nil, protocol.Again(operationReconcile, "ContextNotFound",
			"Context %q does not exist in namespace %q; create it, or name an existing one in spec.context", name, item.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("read Context %q: %w", name, err)
	}
	if err := object.Undecoded.Err(); err != nil && !isDeleting(item) {
		return nil, protocol.Stall(operationReconcile, "InvalidContext", "Context %q: %w", name, err)
	}
	found := &Context{Configuration: object.ContextConfiguration, Overwrites: r.overwritesOf(object)}
	if r.options.SkipPullSecrets {
		return found, nil
	}
	if found.PullSecrets, err = r.pullSecrets(ctx, object, isDeleting(item)); err != nil {
		return nil, err
	}
	found.OCMConfig, err = r.ocmConfig(ctx, object, isDeleting(item))
	return found, err
}

func (r *reconciler) pullSecrets(ctx context.Context, object *v1alpha1.Context, isDeleting bool) (map[string]map[string][]byte, error) {
	contents := map[string]map[string][]byte{}
	unread := func(name string, err error) error {
		return cannotRead(object, "PullSecretNotFound", "Secret", name, "it from registryPullSecrets of", err)
	}
	reading := pullsecrets.Reading{
		Field: fmt.Sprintf("registryPullSecrets of Context %s/%s", object.Namespace, object.Name), OnlyWhatFits: isDeleting,
		Get: pullsecrets.From(ctx, r.live, object.Namespace, isDeleting, unread),
	}
	err := reading.Into(contents, pullsecrets.NamesOf(object.RegistryPullSecrets))
	if errors.Is(err, pullsecrets.ErrTooMuch) {
		err = protocol.Stall(operationReconcile, "InvalidContext", "%w", err)
	}
	return contents, err
}

func (r *reconciler) ocmConfig(ctx context.Context, object *v1alpha1.Context, isDeleting bool) ([]byte, error) {
	if object.OCMConfig == nil {
		return nil, nil
	}
	config, name := &corev1.ConfigMap{}, object.OCMConfig.Name
	err := r.live.Get(ctx, types.NamespacedName{Namespace: object.Namespace, Name: name}, config)
	content, found := config.Data[ocmConfigKey]
	switch {
	case err == nil && found, isDeleting && (err == nil || apierrors.IsNotFound(err)):
		return []byte(content), nil
	case err == nil:
		return nil, protocol.Again(operationReconcile, "OCMConfigIncomplete", "ConfigMap %q in namespace %q has no key %s; add it, or remove ocmConfig from Context %q",
			name, object.Namespace, ocmConfigKey, object.Name)
	}
	return nil, cannotRead(object, "OCMConfigNotFound", "ConfigMap", name, "ocmConfig from", err)
}

// cannotRead is the error about what a Context names; cure says what to remove of the Context.
func cannotRead(object *v1alpha1.Context, reason, kind, name, cure string, err error) error {
	if apierrors.IsNotFound(err) {
		return protocol.Again(operationReconcile, reason, "%s %q does not exist in namespace %q; create it, or remove %s Context %q", kind, name, object.Namespace, cure, object.Name)
	}
	return fmt.Errorf("read %s %q of Context %q: %w", kind, name, object.Name, err)
}

// overwritesOf returns the function that reads the overwrites that a Context names; nil when it names none.
func (r *reconciler) overwritesOf(object *v1alpha1.Context) func(context.Context) ([]v1alpha1.ComponentVersionOverwrite, error) {
	name := object.ComponentVersionOverwritesReference
	if name == "" {
		return nil
	}
	return func(ctx context.Context) ([]v1alpha1.ComponentVersionOverwrite, error) {
		found := &v1alpha1.ComponentVersionOverwrites{}
		err := r.live.Get(ctx, types.NamespacedName{Namespace: object.Namespace, Name: name}, found)
		if err != nil {
			return nil, cannotRead(object, "OverwritesNotFound", "ComponentVersionOverwrites", name, "componentVersionOverwrites from", err)
		}
		if err := found.Undecoded.Err(); err != nil {
			return nil, protocol.Stall(operationReconcile, "InvalidContext", "ComponentVersionOverwrites %q: %w", name, err)
		}
		return found.Overwrites, nil
	}
}
