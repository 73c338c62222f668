// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Host is the cluster of an Environment, seen by a deployer that runs in it. Targets of the Environment may refer to Secrets there by
// config.kubeconfig.secretRef, so that no credential of that cluster is ever outside of it.
type Host struct {
	// Environment is the name that Targets have in the annotation landscaper.gardener.cloud/environment. Required.
	Environment string
	// Namespace is the only one whose Secrets are read. Required.
	Namespace string
	// Secrets reads live in the host cluster. Required.
	Secrets client.Reader
}

// hostReference is the content of a Target whose kubeconfig is in a Secret of the host cluster.
type hostReference struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Key       string `json:"key"`
}

// defaultHostKey is the key of a reference that names none.
const defaultHostKey = "kubeconfig"

// resolve returns the kubeconfig that a content refers to in the host cluster; any other content as it is. A Secret is only for Targets of
// namespaces that its annotation landscaper.gardener.cloud/target-namespaces names: whoever writes Targets does not choose among all Secrets
// beside the deployers. The error of a Secret that is not for them is that of one that does not exist.
func (h *Host) resolve(ctx context.Context, target *v1alpha1.Target, raw []byte) ([]byte, error) {
	ref, err := referenceIn(raw)
	if ref == nil || err != nil {
		return raw, err
	}
	if err := h.admit(target, ref); err != nil {
		return nil, err
	}
	secret, key := &corev1.Secret{}, types.NamespacedName{Namespace: h.Namespace, Name: ref.Name}
	err = h.Secrets.Get(ctx, key, secret)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read Secret %s of the host cluster of environment %q: %w", key, h.Environment, err)
	}
	if err != nil || !allows(secret, target.Namespace) {
		return nil, contentMissing(nil, "Target %q in namespace %q: config.kubeconfig.secretRef: the cluster of environment %q has no Secret %s for Targets of this namespace; "+
			"have it created there, or the namespace added to its annotation %s",
			v1alpha1.OriginalName(target), target.Namespace, h.Environment, key, v1alpha1.TargetNamespacesAnnotation)
	}
	field := cmp.Or(ref.Key, defaultHostKey)
	kubeconfig, ok := secret.Data[field]
	if !ok {
		return nil, contentMissing(nil, "Target %q in namespace %q: config.kubeconfig.secretRef: Secret %s in the cluster of environment %q has no key %q; add it there or correct the reference",
			v1alpha1.OriginalName(target), target.Namespace, key, h.Environment, field)
	}
	return kubeconfig, nil
}

// admit refuses references of Targets that are not of the environment, and to other namespaces.
func (h *Host) admit(target *v1alpha1.Target, ref *hostReference) error {
	const field = "config.kubeconfig.secretRef"
	switch {
	case target.Annotations[v1alpha1.EnvironmentAnnotation] != h.Environment:
		return refuse(field, fmt.Sprintf("is for Targets of environment %q only", h.Environment),
			fmt.Sprintf("set the annotation %s to its name, or use spec.secretRef", v1alpha1.EnvironmentAnnotation))
	case ref.Name == "":
		return refuse(field+".name", "is missing", "name a Secret in the cluster of the environment")
	case ref.Namespace != "" && ref.Namespace != h.Namespace:
		return refuse(field+".namespace", fmt.Sprintf("is %q", ref.Namespace),
			fmt.Sprintf("the deployers of environment %q read Secrets of namespace %q only", h.Environment, h.Namespace))
	}
	return nil
}

// Content returns the content of a Target as a program in the host cluster gets it, and whether it has credentials of that cluster: a kubeconfig, as
// {"kubeconfig": "…"}, stands for the reference to its Secret. Any other content is returned as it is, as is every one without a Host. Errors are
// of type *Error where a person can cure them.
func (h *Host) Content(ctx context.Context, target *v1alpha1.Target, raw []byte) (content []byte, followed bool, err error) {
	if h == nil || target.Spec.Type != v1alpha1.KubernetesClusterTargetType {
		return raw, false, nil
	}
	if ref, err := referenceIn(raw); ref == nil || err != nil {
		return raw, false, located(target, err)
	}
	kubeconfig, err := h.resolve(ctx, target, raw)
	if err != nil {
		return nil, false, located(target, err)
	}
	content, err = json.Marshal(map[string]string{"kubeconfig": string(kubeconfig)})
	return content, true, err
}

// referenceIn returns the reference to the host cluster that a content is, nil for any other content.
func referenceIn(raw []byte) (*hostReference, error) {
	if len(raw) > maxContent {
		return nil, nil // refused later
	}
	var fields struct {
		Kubeconfig json.RawMessage `json:"kubeconfig"`
	}
	if err := foreign.Unmarshal(raw, &fields); err != nil || len(fields.Kubeconfig) == 0 {
		return nil, nil
	}
	var inner map[string]json.RawMessage
	if err := json.Unmarshal(fields.Kubeconfig, &inner); err != nil || inner["secretRef"] == nil || inner["clusters"] != nil {
		return nil, nil
	}
	ref := &hostReference{}
	if err := json.Unmarshal(inner["secretRef"], ref); err != nil {
		return nil, refuse("config.kubeconfig.secretRef", "cannot be read", "use the fields name, namespace and key, each a text")
	}
	return ref, nil
}

// allows reports whether a Secret is for Targets of a namespace.
func allows(secret *corev1.Secret, namespace string) bool {
	listed := strings.FieldsFunc(secret.Annotations[v1alpha1.TargetNamespacesAnnotation], func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(listed, namespace) || slices.Contains(listed, "*")
}
