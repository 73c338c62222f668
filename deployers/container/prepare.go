// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// supplies are what a Pod gets. Never log them.
type supplies struct {
	// configuration and target are the documents that init reads; target is nil without one.
	configuration, target []byte
	// ofHost says that the target has credentials of the host cluster, which must not leave it.
	ofHost bool
	// content is the archive with component descriptors and files; nil without.
	content []byte
	// keepContent says that the content could not be found again, so that what an earlier job stored counts.
	keepContent bool
	// sources are the Flux sources that the content comes from.
	sources []v1alpha1.SourceStatus
	// logins is a Docker configuration for pulling the image; nil without.
	logins []byte
}

// prepare collects everything that the Pod gets. It changes nothing.
func (r *run) prepare(ctx context.Context) (*supplies, error) {
	s := &supplies{configuration: r.item.DeployItem.Spec.Configuration.Raw}
	if len(s.configuration) > maxSecret {
		return nil, protocol.Stall(operationReconcile, "ConfigurationTooLarge", "spec.config has %d bytes, at most %d reach the container; put data into the content", len(s.configuration), maxSecret)
	}
	var err error
	if s.target, s.ofHost, err = r.target(ctx); err == nil {
		s.logins, err = r.logins(ctx)
	}
	if err != nil {
		return nil, err
	}
	s.content, s.sources, err = r.deployer.content.Find(ctx, r.item, r.config)
	if err != nil && r.operation == containerv1alpha1.OperationDelete && ctx.Err() == nil {
		s.keepContent = true
		return s, nil
	}
	return s, err
}

// resolvedTarget is the document at TARGET_PATH.
type resolvedTarget struct {
	Target  *v1alpha1.Target `json:"target"`
	Content string           `json:"content"`
}

// target returns the document with the Target and its content, nil where the item names none, and whether it has credentials of the host cluster.
func (r *run) target(ctx context.Context) (document []byte, ofHost bool, err error) {
	item, live := r.item.DeployItem, r.options.Live
	if item.Spec.Target == nil || item.Spec.Target.Name == "" {
		return nil, false, nil
	}
	var content []byte
	var impersonated bool
	found, err := target.Get(ctx, live, live, item.Namespace, item.Spec.Target.Name)
	if err == nil {
		content, err = target.Content(ctx, live, found)
	}
	if err == nil {
		content, ofHost, err = r.options.HostSecrets.Content(ctx, found, content)
	}
	if err == nil {
		impersonated, err = r.options.Accounts.Impersonated(found, content, target.ActorOf(item))
	}
	if err != nil {
		return nil, false, contract.TargetFailure(err, r.operation == containerv1alpha1.OperationDelete)
	}
	if impersonated { // a program gets the content of the Target, and with it could act as the credentials allow
		return nil, false, protocol.Stall(operationReconcile, "ImpersonationUnsupported",
			"Target %q is used as a ServiceAccount (spec.serviceAccountName of the Target or the DeployItem, or a default of the deployer), which no container can be held to: "+
				"it gets the credentials; remove the name, and give the container a Target whose own credentials have no more rights than it needs", found.Name)
	}
	document, err = documentOf(found, content)
	return document, ofHost, err
}

// documentOf returns the document at TARGET_PATH: the whole Target as it was read, and its content.
func documentOf(found *v1alpha1.Target, content []byte) ([]byte, error) {
	shown := found.DeepCopy()
	shown.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Target"))
	raw, err := json.Marshal(resolvedTarget{Target: shown, Content: string(content)})
	if err != nil {
		return nil, protocol.Stall(operationReconcile, "InvalidTarget", "Target %q cannot be written as JSON; correct its content", found.Name)
	}
	if len(raw) > maxSecret {
		return nil, protocol.Stall(operationReconcile, "InvalidTarget", "Target %q has more than %d bytes with its content; remove what the container does not need",
			found.Name, maxSecret)
	}
	return raw, nil
}

// dockerConfig is the content of a Secret with which the kubelet pulls images. What belongs to a login is passed on as it is.
type dockerConfig struct {
	Auths map[string]json.RawMessage `json:"auths"`
}

// logins joins the logins of all pull secrets for the kubelet. Of several for one host the first by the name of the Secret counts.
func (r *run) logins(ctx context.Context) ([]byte, error) {
	secrets, err := pullSecrets(ctx, r.options.Live, r.item, r.config)
	if err != nil {
		return nil, err
	}
	joined := dockerConfig{Auths: map[string]json.RawMessage{}}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		auths, err := authsOf(secrets[name])
		if err != nil {
			return nil, protocol.Stall(operationReconcile, "InvalidCredentials", "Secret %q: %w", name, err)
		}
		for host, login := range auths {
			if _, known := joined.Auths[host]; !known {
				joined.Auths[host] = login
			}
		}
	}
	if len(joined.Auths) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(joined)
	if err == nil && len(raw) > maxSecret {
		err = fmt.Errorf("they have more than %d bytes", maxSecret)
	}
	if err != nil {
		return nil, protocol.Stall(operationReconcile, "InvalidCredentials", "the registry logins cannot be joined: %w; name fewer", err)
	}
	return raw, nil
}

// authsOf returns the logins in a Secret by host; none where it has no Docker configuration. Errors repeat no content.
func authsOf(data map[string][]byte) (map[string]json.RawMessage, error) {
	var config dockerConfig
	if raw, found := data[corev1.DockerConfigJsonKey]; found {
		if json.Unmarshal(raw, &config) != nil {
			return nil, fmt.Errorf("key %s holds no Docker configuration; correct it", corev1.DockerConfigJsonKey)
		}
		return config.Auths, nil
	}
	if raw, found := data[corev1.DockerConfigKey]; found && json.Unmarshal(raw, &config.Auths) != nil {
		return nil, fmt.Errorf("key %s holds no Docker configuration; correct it", corev1.DockerConfigKey)
	}
	return config.Auths, nil
}
