// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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

// maxContent is the largest accepted content of a Target in bytes.
const maxContent = 1 << 20

// content is the parsed content of a Target of type kubernetes-cluster: exactly one field is set.
type content struct {
	kubeconfig []byte
	oidc       *oidcConfig
	self       *selfConfig
}

// oidcConfig reaches a cluster that trusts the tokens of the landscaper cluster.
type oidcConfig struct {
	Server            string         `json:"server"`
	CAData            []byte         `json:"caData"`
	ServiceAccount    serviceAccount `json:"serviceAccount"`
	Audience          []string       `json:"audience"`
	ExpirationSeconds *int64         `json:"expirationSeconds"`
}

// selfConfig reaches the landscaper cluster itself. Without a ServiceAccount it is reached as the one that acts.
type selfConfig struct {
	ServiceAccount    serviceAccount `json:"serviceAccount"`
	ExpirationSeconds *int64         `json:"expirationSeconds"`
}

// serviceAccount names a ServiceAccount in the namespace of the Target.
type serviceAccount struct {
	Name string `json:"name"`
}

// parseContent decides which form the content has. Anything that is none of the known forms is a kubeconfig itself.
func parseContent(raw []byte) (*content, error) {
	if len(raw) > maxContent {
		return nil, refuse("the content", fmt.Sprintf("is larger than %d bytes", maxContent), "remove what is not needed to reach one cluster")
	}
	var fields map[string]json.RawMessage
	if err := foreign.Unmarshal(raw, &fields); err != nil {
		return nil, refuse("the content", foreign.Problem(err)+where(err), "put an object there: a kubeconfig, kubeconfig:, oidcConfig: or selfConfig:")
	}
	switch {
	case fields["kubeconfig"] != nil:
		kubeconfig, err := embeddedKubeconfig(fields["kubeconfig"])
		return &content{kubeconfig: kubeconfig}, err
	case fields["oidcConfig"] != nil:
		oidc := &oidcConfig{}
		if err := json.Unmarshal(fields["oidcConfig"], oidc); err != nil {
			return nil, refuse("oidcConfig", "cannot be read", "use the fields server, caData (base64), serviceAccount.name, audience and expirationSeconds")
		}
		if oidc.ServiceAccount.Name == "" {
			return nil, refuse("oidcConfig.serviceAccount.name", "is missing", "name a ServiceAccount in the namespace of the Target")
		}
		return &content{oidc: oidc}, nil
	case fields["selfConfig"] != nil:
		self := &selfConfig{}
		if err := json.Unmarshal(fields["selfConfig"], self); err != nil {
			return nil, refuse("selfConfig", "cannot be read", "use the fields serviceAccount.name and expirationSeconds")
		}
		return &content{self: self}, nil
	}
	return &content{kubeconfig: raw}, nil
}

// embeddedKubeconfig accepts a kubeconfig as a string or as an object.
func embeddedKubeconfig(raw json.RawMessage) ([]byte, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		return []byte(text), nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, refuse("kubeconfig", "is neither a string nor an object", "put the kubeconfig there as text or as an object")
	}
	if object["secretRef"] != nil && object["clusters"] == nil {
		return nil, refuse("kubeconfig.secretRef", "is no longer supported inside config",
			"remove spec.config and set spec.secretRef with name and key of a Secret in the Target's namespace")
	}
	return raw, nil
}

// CredentialsElsewhere returns the field by which a content takes credentials from outside of itself, in whatever case deployers would read it;
// empty for a kubeconfig.
func CredentialsElsewhere(raw []byte) string {
	var fields map[string]json.RawMessage
	if err := foreign.Unmarshal(raw, &fields); err != nil {
		return ""
	}
	for name, value := range fields {
		switch {
		case strings.EqualFold(name, "selfConfig"), strings.EqualFold(name, "oidcConfig"):
			return "config." + name
		case strings.EqualFold(name, "kubeconfig") && refersToSecret(value):
			return "config.kubeconfig.secretRef"
		}
	}
	return ""
}

func refersToSecret(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return false
	}
	for name := range fields {
		if strings.EqualFold(name, "secretRef") {
			return true
		}
	}
	return false
}

// LeavesAccountOpen reports whether a content is that of the landscaper cluster without a ServiceAccount, so that whoever acts chooses one.
func LeavesAccountOpen(raw []byte) bool {
	parsed, err := parseContent(raw)
	return err == nil && parsed.self != nil && parsed.self.ServiceAccount.Name == ""
}

// Get reads a Target from cache. A Target that the cache does not have is looked up live, so that a cache that lags behind does
// not make it missing. The error of a missing Target has the reason NoTargetFound.
func Get(ctx context.Context, cache, live client.Reader, namespace, name string) (*v1alpha1.Target, error) {
	target, key := &v1alpha1.Target{}, types.NamespacedName{Namespace: namespace, Name: name}
	err := cache.Get(ctx, key, target)
	if apierrors.IsNotFound(err) {
		err = live.Get(ctx, key, target)
	}
	if apierrors.IsNotFound(err) {
		return nil, notFound(namespace, name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read Target %s: %w", key, err)
	}
	return target, nil
}

// Content returns the content of a Target of any type: its config, the value of the named key of its Secret, or all keys of
// the Secret as one JSON object (each value parsed as YAML). The Secret is read live, from the namespace of the Target. A Target
// with neither has no content.
func Content(ctx context.Context, live client.Reader, target *v1alpha1.Target) ([]byte, error) {
	if config := target.Spec.Configuration; config != nil && len(config.RawMessage) > 0 {
		return config.RawMessage, nil
	}
	ref := target.Spec.SecretRef
	if ref == nil {
		return nil, nil
	}
	secret, key := &corev1.Secret{}, types.NamespacedName{Namespace: target.Namespace, Name: ref.Name}
	err := live.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, contentMissing(err, "Secret %q of Target %q does not exist in namespace %q; create it or correct spec.secretRef.name of the Target",
			ref.Name, v1alpha1.OriginalName(target), target.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s of Target %q: %w", key, v1alpha1.OriginalName(target), err)
	}
	if ref.Key == "" {
		return wholeSecret(target, secret)
	}
	value, ok := secret.Data[ref.Key]
	if !ok {
		return nil, contentMissing(nil, "Secret %q of Target %q has no key %q; add it or correct spec.secretRef.key of the Target", secret.Name, v1alpha1.OriginalName(target), ref.Key)
	}
	return value, nil
}

func wholeSecret(target *v1alpha1.Target, secret *corev1.Secret) ([]byte, error) {
	all := make(map[string]any, len(secret.Data))
	for key, value := range secret.Data {
		var parsed any
		if err := foreign.Unmarshal(value, &parsed); err != nil {
			return nil, invalid(target, refuse(fmt.Sprintf("key %q of Secret %q", key, secret.Name), foreign.Problem(err)+where(err),
				"correct it, or set spec.secretRef.key to the one key to use"))
		}
		all[key] = parsed
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encode Secret %q of Target %q: %w", secret.Name, v1alpha1.OriginalName(target), err)
	}
	return raw, nil
}

// clusterContent returns the content of a Target of type kubernetes-cluster.
func clusterContent(ctx context.Context, live client.Reader, target *v1alpha1.Target) ([]byte, error) {
	if target.Spec.Type != v1alpha1.KubernetesClusterTargetType {
		return nil, refuse("spec.type", fmt.Sprintf("is %q", target.Spec.Type), fmt.Sprintf("a Target of type %q is expected here", v1alpha1.KubernetesClusterTargetType))
	}
	raw, err := Content(ctx, live, target)
	if err == nil && len(raw) == 0 {
		return nil, refuse("the Target", "has no content", "set spec.config or spec.secretRef")
	}
	return raw, err
}

// located adds to a refusal which Target it is about.
func located(target *v1alpha1.Target, err error) error {
	var r *refusal
	var e *Error
	if errors.As(err, &e) || !errors.As(err, &r) {
		return err
	}
	return invalid(target, err)
}

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
