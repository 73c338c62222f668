// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
)

// Rights are the logins and the resolvers of one Context. The zero value is anonymous and has no resolvers. They print as a
// placeholder.
type Rights struct {
	logins    keychain.Credentials
	resolvers []resolver
	// fingerprint tells rights apart inside this process.
	fingerprint [sha256.Size]byte
}

// ParseRights reads pull secrets (name → data, see keychain.ParseSecret), the more important by name first, and the OCM configuration
// of a Context (the content of key .ocmconfig; may be empty): its logins and its resolvers. Errors repeat no content but hosts.
func ParseRights(secrets map[string]map[string][]byte, ocmConfig []byte) (Rights, error) {
	var all []keychain.Credentials
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		found, err := keychain.ParseSecret(name, secrets[name])
		if err != nil {
			return Rights{}, refused("registryPullSecrets", err)
		}
		all = append(all, found)
	}
	var resolvers []resolver
	if len(ocmConfig) > 0 {
		logins, found, err := parseOCMConfig(ocmConfig)
		if err != nil {
			return Rights{}, refused("ocmConfig", err)
		}
		all, resolvers = append(all, logins), found
	}
	return Rights{logins: keychain.Join(all...), resolvers: resolvers, fingerprint: fingerprint(secrets, ocmConfig)}, nil
}

// Logins are those for registries.
func (r Rights) Logins() keychain.Credentials { return r.logins }

// Warnings say which logins cannot be used here; the others count. They repeat nothing but hosts.
func (r Rights) Warnings() []string { return r.logins.Warnings() }

// WithIdentity adds an identity, which logs in where nothing else does.
func (r Rights) WithIdentity(identity keychain.Identity) Rights {
	return r.and(Rights{logins: keychain.FromIdentity(identity), fingerprint: sha256.Sum256([]byte("identity " + identity.Fingerprint()))})
}

// withAuthority adds certificate authorities for a host.
func (r Rights) withAuthority(host string, authorities []byte) (Rights, error) {
	found, err := keychain.FromAuthority(host, authorities)
	if err != nil {
		return Rights{}, err
	}
	return r.and(Rights{logins: found, fingerprint: sha256.Sum256(fmt.Appendf(nil, "authority %q %q", host, authorities))}), nil
}

// and adds the logins of other rights, which are less important.
func (r Rights) and(more Rights) Rights {
	r.logins = keychain.Join(r.logins, more.logins)
	r.fingerprint = sha256.Sum256(fmt.Appendf(nil, "%x %x", r.fingerprint, more.fingerprint))
	return r
}

// String hides the content.
func (Rights) String() string { return "registry rights (hidden)" }

// GoString hides the content from %#v too.
func (r Rights) GoString() string { return r.String() }

// MarshalJSON hides the content from structured logs.
func (r Rights) MarshalJSON() ([]byte, error) { return []byte(`"registry rights (hidden)"`), nil }

// fingerprint is equal for equal logins, whatever their Secrets are called.
func fingerprint(secrets map[string]map[string][]byte, ocmConfig []byte) (sum [sha256.Size]byte) {
	if len(secrets) == 0 && len(ocmConfig) == 0 {
		return sum
	}
	return sha256.Sum256(fmt.Appendf(nil, "%x %q", pullsecrets.Digest(secrets), ocmConfig))
}
