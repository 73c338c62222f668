// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/flux-landscaper/flux-landscaper/sources/cloud"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// authorityKey is the key of the certificate authorities in the Secret that spec.certSecretRef names.
const authorityKey = "ca.crt"

// behind is the registry from which an OCIRepository pulls a component version; nil if the source is something else.
func (s *Session) behind(ctx context.Context, source flux.Source) (*registryOrigin, error) {
	from, ok := source.Object.(*sourcev1.OCIRepository)
	if !ok {
		return nil, nil
	}
	url := strings.TrimPrefix(from.Spec.URL, "oci://")
	base, _, ok := strings.Cut(url, "/component-descriptors/")
	if !ok {
		return nil, nil
	}
	host, _, _ := strings.Cut(base, "/")
	if from.Spec.Insecure {
		base = "http://" + base
	}
	t, err := component.NewTyped(map[string]any{"type": "OCIRegistry", "baseUrl": base})
	if err != nil {
		return nil, err
	}
	o := s.registryOrigin(t, component.OCIRegistry{BaseURL: base})
	rights, err := s.rightsOf(ctx, from, host)
	if err != nil {
		return nil, err
	}
	o.logins, o.fingerprint = rights.logins, rights.fingerprint
	return o, nil
}

// rightsOf are those with which the OCIRepository pulls from a host: its pull secrets, or else the identity of its cloud, or else the logins
// of the Context; and its certificate authorities. They serve below the base only, which is what the source itself pulls from.
func (s *Session) rightsOf(ctx context.Context, from *sourcev1.OCIRepository, host string) (rights Rights, err error) {
	secrets, err := s.pullSecrets(ctx, from)
	switch {
	case err != nil:
	case len(secrets) > 0:
		rights, err = s.secretRights(ctx, from, secrets)
	case cloud.Known(from.Spec.Provider) && s.r.options.Identity != nil:
		rights, err = s.cloudRights(ctx, from, host)
	default:
		rights = s.scope.Rights
	}
	if err != nil {
		return Rights{}, err
	}
	return s.trust(ctx, from, host, rights)
}

// namedSecret is the name of a Secret with the field of the OCIRepository that leads to it.
type namedSecret struct{ field, name string }

// pullSecrets are those that the OCIRepository names, and those of its ServiceAccount unless that logs in at a cloud itself.
func (s *Session) pullSecrets(ctx context.Context, from *sourcev1.OCIRepository) ([]namedSecret, error) {
	var all []namedSecret
	if from.Spec.SecretRef != nil && s.r.options.Secret != nil {
		all = append(all, namedSecret{"secretRef", from.Spec.SecretRef.Name})
	}
	account := from.Spec.ServiceAccountName
	if account == "" || cloud.Known(from.Spec.Provider) || s.r.options.PullSecrets == nil {
		return all, nil
	}
	names, err := s.r.options.PullSecrets(ctx, from.Namespace, account)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fieldOf(from, "serviceAccountName"), err)
	}
	for _, name := range names {
		all = append(all, namedSecret{"serviceAccountName", name})
	}
	return all, nil
}

func (s *Session) secretRights(ctx context.Context, from *sourcev1.OCIRepository, secrets []namedSecret) (Rights, error) {
	var all Rights
	for _, secret := range secrets {
		field := fieldOf(from, secret.field)
		data, err := s.r.options.Secret(ctx, from.Namespace, secret.name)
		if err != nil {
			return Rights{}, fmt.Errorf("%s: %w", field, err)
		}
		found, err := ParseRights(map[string]map[string][]byte{secret.name: data}, nil)
		if err != nil {
			return Rights{}, refused(field, err)
		}
		all = all.and(found)
	}
	return all, nil
}

// cloudRights are those of the identity of the OCIRepository at its cloud.
func (s *Session) cloudRights(ctx context.Context, from *sourcev1.OCIRepository, host string) (Rights, error) {
	identity, err := s.r.options.Identity(ctx, cloud.Request{
		Field: fieldOf(from, "provider"), Provider: from.Spec.Provider, Namespace: from.Namespace, ServiceAccount: from.Spec.ServiceAccountName,
	})
	if err != nil {
		return Rights{}, err
	}
	if !identity.Fits(host) {
		return Rights{}, stalled(fieldOf(from, "provider"), fmt.Sprintf("%s is not a registry of %s", host, from.Spec.Provider), "correct spec.provider or spec.url")
	}
	return Rights{}.WithIdentity(identity), nil
}

// trust adds the certificate authorities of the OCIRepository.
func (s *Session) trust(ctx context.Context, from *sourcev1.OCIRepository, host string, rights Rights) (Rights, error) {
	if from.Spec.CertSecretRef == nil || s.r.options.Secret == nil {
		return rights, nil
	}
	field := fieldOf(from, "certSecretRef")
	data, err := s.r.options.Secret(ctx, from.Namespace, from.Spec.CertSecretRef.Name)
	if err != nil {
		return Rights{}, fmt.Errorf("%s: %w", field, err)
	}
	if len(data[authorityKey]) == 0 {
		return rights, nil
	}
	rights, err = rights.withAuthority(host, data[authorityKey])
	if err != nil {
		return Rights{}, refused(fmt.Sprintf("%s: Secret %s: key %s", field, from.Spec.CertSecretRef.Name, authorityKey), err)
	}
	return rights, nil
}

func fieldOf(from *sourcev1.OCIRepository, field string) string {
	return fmt.Sprintf("%s of OCIRepository %s/%s", field, from.Namespace, from.Name)
}
