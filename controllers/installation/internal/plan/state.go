// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// What the names of Secrets with template state are made of. Deploy and sub-installation executions share a prefix.
const (
	deployState = "deploy"
	exportState = "export"
	// stateKey is the key of the Secret.
	stateKey = "config"
)

func stateName(inst *v1alpha1.Installation, prefix, executor string) client.ObjectKey {
	return client.ObjectKey{Namespace: inst.Namespace, Name: kit.DataName(inst.Name, prefix+executor)}
}

// readState reads what the executors stored in former runs. Only Secrets that the cache of metadata shows are read.
func (m *Maker) readState(ctx context.Context, inst *v1alpha1.Installation, prefix string, lists ...[]model.TemplateExecutor) (render.State, error) {
	state := render.State{}
	for _, executors := range lists {
		for i := range executors {
			name := executors[i].Name
			secret, err := m.stateSecret(ctx, stateName(inst, prefix, name))
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
func (m *Maker) stateSecret(ctx context.Context, key client.ObjectKey) (*corev1.Secret, error) {
	cached := &metav1.PartialObjectMetadata{}
	cached.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := m.Metadata.Get(ctx, key, cached)
	if apierrors.IsNotFound(err) && m.states.Unseen(key) == 0 {
		return nil, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	secret := &corev1.Secret{}
	err = m.Live.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return secret, err
}

// writeState stores what the executors left, where it is another than before.
func (m *Maker) writeState(ctx context.Context, inst *v1alpha1.Installation, prefix string, previous, stored render.State) error {
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		if bytes.Equal(previous[name], stored[name]) {
			continue
		}
		if err := m.storeState(ctx, inst, stateName(inst, prefix, name), stored[name]); err != nil {
			return fmt.Errorf("store the state of template %q: %w", name, err)
		}
	}
	return nil
}

func (m *Maker) storeState(ctx context.Context, inst *v1alpha1.Installation, key client.ObjectKey, state json.RawMessage) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: key.Name, Namespace: key.Namespace,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(inst, v1alpha1.GroupVersion.WithKind("Installation"))},
	}, Data: map[string][]byte{stateKey: state}}
	existing, err := m.stateSecret(ctx, key)
	if err != nil {
		return err
	}
	if existing == nil {
		err := m.Create(ctx, secret)
		if err == nil {
			m.states.Created(secret)
		}
		return err
	}
	if owner := metav1.GetControllerOf(existing); owner == nil || owner.Kind != "Installation" || owner.Name != inst.Name {
		return kit.Stall(jobs.RenderOperation, "StateSecretTaken", "Secret %s exists and does not belong to this installation; delete it", key)
	}
	secret.ResourceVersion = existing.ResourceVersion
	return m.Update(ctx, secret)
}
