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
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
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
	spec := component.OCIRegistry{BaseURL: base}
	o := &registryOrigin{place: s.registry(spec.Base()), typed: t, spec: spec}
	rights, err := puller{options: &s.r.options, from: from, host: host}.rights(ctx, s.scope.Rights)
	if err != nil {
		return nil, err
	}
	o.logins, o.fingerprint = rights.logins, rights.fingerprint
	return o, nil
}

// puller is an OCIRepository that pulls from a host.
type puller struct {
	options *Options
	from    *sourcev1.OCIRepository
	host    string
}

// rights are those with which it pulls: its pull secrets, or else the identity of its cloud, or else those of the Context; and its certificate
// authorities. They serve below the base only, which is what the source itself pulls from.
func (p puller) rights(ctx context.Context, fallback Rights) (rights Rights, err error) {
	secrets, err := p.pullSecrets(ctx)
	switch {
	case err != nil:
	case len(secrets) > 0:
		rights, err = p.secretRights(ctx, secrets)
	case cloud.Known(p.from.Spec.Provider) && p.options.Identity != nil:
		rights, err = p.cloudRights(ctx)
	default:
		rights = fallback
	}
	if err != nil {
		return Rights{}, err
	}
	return p.trust(ctx, rights)
}

// namedSecret is the name of a Secret with the field of the OCIRepository that leads to it.
type namedSecret struct{ field, name string }

// pullSecrets are those that the OCIRepository names, and those of its ServiceAccount unless that logs in at a cloud itself.
func (p puller) pullSecrets(ctx context.Context) ([]namedSecret, error) {
	var all []namedSecret
	if p.from.Spec.SecretRef != nil && p.options.Secret != nil {
		all = append(all, namedSecret{"secretRef", p.from.Spec.SecretRef.Name})
	}
	account := p.from.Spec.ServiceAccountName
	if account == "" || cloud.Known(p.from.Spec.Provider) || p.options.PullSecrets == nil {
		return all, nil
	}
	names, err := p.options.PullSecrets(ctx, p.from.Namespace, account)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.field("serviceAccountName"), err)
	}
	for _, name := range names {
		all = append(all, namedSecret{"serviceAccountName", name})
	}
	return all, nil
}

// secretRights joins the rights of Secrets, of which there is one at least; the first are more important.
func (p puller) secretRights(ctx context.Context, secrets []namedSecret) (Rights, error) {
	names, fields := make([]string, 0, len(secrets)), map[string]string{}
	for _, secret := range secrets {
		names = append(names, secret.name)
		if fields[secret.name] == "" {
			fields[secret.name] = p.field(secret.field)
		}
	}
	var all Rights
	read := pullsecrets.Reading{Field: p.field(secrets[len(secrets)-1].field), Get: func(name string) (map[string][]byte, error) {
		data, err := p.options.Secret(ctx, p.from.Namespace, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fields[name], err)
		}
		found, err := ParseRights(map[string]map[string][]byte{name: data}, nil)
		if err != nil {
			return nil, refused(fields[name], err)
		}
		all = all.and(found)
		return data, nil
	}}
	return all, read.Into(map[string]map[string][]byte{}, names)
}

// cloudRights are those of the identity of the OCIRepository at its cloud.
func (p puller) cloudRights(ctx context.Context) (Rights, error) {
	identity, err := p.options.Identity(ctx, cloud.Request{
		Field: p.field("provider"), Provider: p.from.Spec.Provider, Namespace: p.from.Namespace, ServiceAccount: p.from.Spec.ServiceAccountName,
	})
	if err != nil {
		return Rights{}, err
	}
	if !identity.Fits(p.host) {
		return Rights{}, stalled(p.field("provider"), fmt.Sprintf("%s is not a registry of %s", p.host, p.from.Spec.Provider), "correct spec.provider or spec.url")
	}
	return Rights{}.WithIdentity(identity), nil
}

// trust adds the certificate authorities of the OCIRepository.
func (p puller) trust(ctx context.Context, rights Rights) (Rights, error) {
	if p.from.Spec.CertSecretRef == nil || p.options.Secret == nil {
		return rights, nil
	}
	field := p.field("certSecretRef")
	data, err := p.options.Secret(ctx, p.from.Namespace, p.from.Spec.CertSecretRef.Name)
	if err != nil {
		return Rights{}, fmt.Errorf("%s: %w", field, err)
	}
	if len(data[authorityKey]) == 0 {
		return rights, nil
	}
	rights, err = rights.withAuthority(p.host, data[authorityKey])
	if err != nil {
		return Rights{}, refused(fmt.Sprintf("%s: Secret %s: key %s", field, p.from.Spec.CertSecretRef.Name, authorityKey), err)
	}
	return rights, nil
}

func (p puller) field(name string) string {
	return fmt.Sprintf("%s of OCIRepository %s/%s", name, p.from.Namespace, p.from.Name)
}
