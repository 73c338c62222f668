// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"encoding/json"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/contexts"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
)

// SourceIndex finds the Installations that name a Flux source.
const SourceIndex = "source"

// SourcesOf indexes Installations by the Flux sources that they name.
func SourcesOf(obj client.Object) []string {
	inst, ok := obj.(*v1alpha1.Installation)
	if !ok {
		return nil
	}
	var keys []string
	for _, use := range sourceUses(inst) {
		keys = append(keys, flux.KeyFor(inst.Namespace, *use.ref))
	}
	if component := inst.Spec.ComponentDescriptor; component != nil && component.Reference != nil {
		if ref := repositorySource(component.Reference.RepositoryContext); ref != nil {
			keys = append(keys, flux.KeyFor(inst.Namespace, *ref))
		}
	}
	return keys
}

const (
	// ContextIndex finds the Installations with a Context.
	ContextIndex = "context"
	// UsedByContextIndex finds the Contexts that name an object.
	UsedByContextIndex = "used-by-context"
)

// ContextsOf indexes Installations by their Context: each needs to know what its blueprint may use.
func ContextsOf(obj client.Object) []string {
	inst, ok := obj.(*v1alpha1.Installation)
	if !ok {
		return nil
	}
	return []string{inst.ContextName()}
}

// UsedByContext indexes Contexts by what they name: "kind/name" for objects of their namespace, the key of a source, and for Secrets with
// keys of signatures "Secret/namespace/name".
func UsedByContext(obj client.Object) []string {
	c, ok := obj.(*v1alpha1.Context)
	if !ok {
		return nil
	}
	var keys []string
	secrets, _ := pullsecrets.Different(pullsecrets.NamesOf(c.RegistryPullSecrets)) // of a Context that names more no Secret is read
	for _, name := range secrets {
		keys = append(keys, "Secret/"+c.Namespace+"/"+name)
	}
	if c.OCMConfig != nil {
		keys = append(keys, "ConfigMap/"+c.Namespace+"/"+c.OCMConfig.Name)
	}
	if name := c.ComponentVersionOverwritesReference; name != "" {
		keys = append(keys, "ComponentVersionOverwrites/"+c.Namespace+"/"+name)
	}
	for _, signature := range c.VerificationSignatures {
		for _, ref := range []*v1alpha1.SecretReference{signature.PublicKeySecretReference, signature.CaCertificateSecretReference} {
			if ref != nil {
				keys = append(keys, "Secret/"+contexts.SecretKey(c.Namespace, ref).String())
			}
		}
	}
	if ref := repositorySource(c.RepositoryContext); ref != nil {
		keys = append(keys, flux.KeyFor(c.Namespace, *ref))
	}
	return keys
}

// repositorySource returns the Flux source that a typed repository lies in, nil when it lies elsewhere.
func repositorySource(repository *v1alpha1.AnyJSON) *v1alpha1.SourceReference {
	var typed struct {
		SourceRef *v1alpha1.SourceReference `json:"sourceRef"`
	}
	if repository == nil || json.Unmarshal(repository.RawMessage, &typed) != nil {
		return nil
	}
	return typed.SourceRef
}
