// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// exports returns what the wait container of a Pod has stored; nil where the user's program exported nothing.
func (r *run) exports(ctx context.Context, pod *corev1.Pod) (map[string]any, error) {
	if r.operation == containerv1alpha1.OperationDelete {
		return nil, nil
	}
	name := r.names.export()
	secret, err := r.secret(ctx, name)
	if err != nil || secret == nil || secret.Annotations[sidecar.UUID] != string(pod.UID) {
		return nil, err
	}
	var values map[string]any
	if json.Unmarshal(secret.Data[sidecar.ExportKey], &values) != nil {
		return nil, protocol.Stall(operationReconcile, "ExportInvalid", "%s holds no JSON object; remove it and deploy again", describeHost(pod.Namespace, "Secret", name))
	}
	if err := r.keepCredentials(ctx, values); err != nil {
		return nil, err
	}
	return values, nil
}

// credentialLength is the length of the shortest text that counts as a credential in exports.
const credentialLength = 12

// keepCredentials fails where exports, which go to the landscaper cluster, have a credential of the host cluster that the program got with its target.
// It keeps programs from a mistake, not from intent: one that rewrites what it got is not seen through.
func (r *run) keepCredentials(ctx context.Context, exports map[string]any) error {
	if r.deployer.options.HostSecrets == nil {
		return nil
	}
	secret, err := r.secret(ctx, r.names.target())
	if err != nil || secret == nil || secret.Annotations[sidecar.HostCredentials] != "true" {
		return err
	}
	if !carries(unfolded(exports, maxFolds), inTarget(secret.Data[sidecar.TargetKey])) {
		return nil
	}
	return protocol.Stall(operationReconcile, "CredentialsExported",
		"the exports have a credential of the target, which is one of the host cluster and stays there; export less")
}

// carries reports whether a text of a value has a credential in it.
func carries(value, credentials any) bool {
	texts := textsIn(value, nil)
	for _, credential := range textsIn(credentials, nil) {
		if len(credential) < credentialLength {
			continue
		}
		for _, text := range texts {
			if strings.Contains(text, credential) {
				return true
			}
		}
	}
	return false
}

// textsIn adds the texts of a value.
func textsIn(value any, to []string) []string {
	switch typed := value.(type) {
	case string:
		to = append(to, strings.TrimSpace(typed))
	case []any:
		for _, entry := range typed {
			to = textsIn(entry, to)
		}
	case map[string]any:
		for _, entry := range typed {
			to = textsIn(entry, to)
		}
	}
	return to
}
