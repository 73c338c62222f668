// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
)

// Rights are the logins and the resolvers of one Context. The zero value is anonymous and has no resolvers. They print as a
// placeholder.
type Rights struct {
	logins    oci.Credentials
	resolvers []resolver
	// fingerprint tells rights apart inside this process.
	fingerprint [sha256.Size]byte
}

// ParseRights reads pull secrets (name → data, see oci.ParseSecret), the more important by name first, and the OCM configuration
// of a Context (the content of key .ocmconfig; may be empty): its logins and its resolvers. Errors repeat no content but hosts.
func ParseRights(secrets map[string]map[string][]byte, ocmConfig []byte) (Rights, error) {
	var all []oci.Credentials
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		found, err := oci.ParseSecret(name, secrets[name])
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
	return Rights{logins: oci.Join(all...), resolvers: resolvers, fingerprint: fingerprint(secrets, ocmConfig)}, nil
}

// Logins are those for registries.
func (r Rights) Logins() oci.Credentials { return r.logins }

// Warnings say which logins cannot be used here; the others count. They repeat nothing but hosts.
func (r Rights) Warnings() []string { return r.logins.Warnings() }

// WithIdentity adds an identity, which logs in where nothing else does.
func (r Rights) WithIdentity(identity oci.Identity) Rights {
	return r.and(Rights{logins: oci.FromIdentity(identity), fingerprint: sha256.Sum256([]byte("identity " + identity.Fingerprint()))})
}

// withAuthority adds certificate authorities for a host.
func (r Rights) withAuthority(host string, authorities []byte) (Rights, error) {
	found, err := oci.FromAuthority(host, authorities)
	if err != nil {
		return Rights{}, err
	}
	return r.and(Rights{logins: found, fingerprint: sha256.Sum256(fmt.Appendf(nil, "authority %q %q", host, authorities))}), nil
}

// and adds the logins of other rights, which are less important.
func (r Rights) and(more Rights) Rights {
	r.logins = oci.Join(r.logins, more.logins)
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

// resolver is a repository for the components below a prefix.
type resolver struct {
	prefix, pattern string
	priority        int
	repository      component.Typed
	// folded is the repository folded.
	folded string
}

// defaultPriority is what a resolver without one has; higher ones come first.
const defaultPriority = 10

// ocmDocument is an OCM configuration, or one entry of a generic one.
type ocmDocument struct {
	Type           string                     `json:"type"`
	Configurations []json.RawMessage          `json:"configurations"`
	Aliases        map[string]component.Typed `json:"aliases"`
	Resolvers      []struct {
		Repository json.RawMessage `json:"repository"`
		Prefix     string          `json:"prefix"`
		Pattern    string          `json:"componentNamePattern"`
		Priority   *int            `json:"priority"`
	} `json:"resolvers"`
}

// Types of OCM configurations, without version.
const (
	genericConfig     = "generic.config.ocm.software"
	credentialsConfig = "credentials.config.ocm.software"
)

// resolverConfigs are the types that list repositories.
var resolverConfigs = []string{"ocm.config.ocm.software", "resolver.config.ocm.software", "resolvers.config.ocm.software"}

// maxOCMConfig is the size of the largest ConfigMap, in bytes.
const maxOCMConfig = 1 << 20

// parseOCMConfig reads logins and resolvers. Other configurations are ignored, as OCM tools do with those of their plugins.
func parseOCMConfig(raw []byte) (oci.Credentials, []resolver, error) {
	if len(raw) > maxOCMConfig {
		return oci.Credentials{}, nil, fmt.Errorf("it has more than %d bytes; remove what is not needed", maxOCMConfig)
	}
	entries, err := ocmEntries(raw, 0)
	if err != nil {
		return oci.Credentials{}, nil, err
	}
	var logins []oci.Credentials
	var resolvers []resolver
	for i, entry := range entries {
		switch kind, _, _ := strings.Cut(entry.Type, "/"); {
		case kind == credentialsConfig:
			found, err := oci.ParseOCMConfig(entry.raw)
			if err != nil {
				return oci.Credentials{}, nil, err
			}
			logins = append(logins, found)
		case slices.Contains(resolverConfigs, kind):
			found, err := entry.resolvers()
			if err != nil {
				return oci.Credentials{}, nil, fmt.Errorf("configuration %d (%s): %w", i, entry.Type, err)
			}
			resolvers = append(resolvers, found...)
		}
	}
	slices.SortStableFunc(resolvers, func(a, b resolver) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(len(b.prefix), len(a.prefix)))
	})
	return oci.Join(logins...), resolvers, nil
}

// ocmEntry is a configuration with its text.
type ocmEntry struct {
	ocmDocument
	raw []byte
}

var errOCMConfig = errors.New("it is no OCM configuration; write YAML with type: generic.config.ocm.software/v1 and configurations")

// ocmEntries returns the configurations in a document. The decoder's errors may quote secrets and are left out.
func ocmEntries(raw []byte, depth int) ([]ocmEntry, error) {
	const maxNesting = 8
	var doc ocmDocument
	err := foreign.CoreUnmarshal(raw, &doc)
	if errors.Is(err, foreign.ErrTooMuch) {
		return nil, errors.New("it " + foreign.Problem(err))
	}
	if depth > maxNesting || err != nil || doc.Type == "" {
		return nil, errOCMConfig
	}
	if kind, _, _ := strings.Cut(doc.Type, "/"); kind != genericConfig {
		return []ocmEntry{{doc, raw}}, nil
	}
	var entries []ocmEntry
	for _, inner := range doc.Configurations {
		found, err := ocmEntries(inner, depth+1)
		if err != nil {
			return nil, err
		}
		entries = append(entries, found...)
	}
	return entries, nil
}

func (e ocmEntry) resolvers() ([]resolver, error) {
	found := make([]resolver, 0, len(e.Resolvers))
	for i, r := range e.Resolvers {
		repository, err := e.repository(r.Repository)
		if err != nil {
			return nil, fmt.Errorf("resolvers[%d].repository: %w", i, err)
		}
		if _, err := path.Match(r.Pattern, ""); err != nil {
			return nil, fmt.Errorf("resolvers[%d].componentNamePattern %q is not a pattern; use * and ? as in file names", i, r.Pattern)
		}
		out := resolver{prefix: strings.TrimSuffix(r.Prefix, "/"), pattern: r.Pattern, priority: defaultPriority, repository: repository, folded: repository.Folded()}
		if r.Priority != nil {
			out.priority = *r.Priority
		}
		found = append(found, out)
	}
	return found, nil
}

// repository returns a repository that is written as an object, or as the name of an alias.
func (e ocmEntry) repository(raw json.RawMessage) (component.Typed, error) {
	var alias string
	if json.Unmarshal(raw, &alias) != nil {
		return component.ParseTyped(raw)
	}
	found, ok := e.Aliases[alias]
	if !ok {
		return component.Typed{}, fmt.Errorf("alias %q is not defined; add it to aliases", alias)
	}
	return found, nil
}

// fits reports whether the resolver is for a component.
func (r resolver) fits(name string) bool {
	below := r.prefix == "" || name == r.prefix || strings.HasPrefix(name, r.prefix+"/")
	if !below || r.pattern == "" {
		return below
	}
	if base, ok := strings.CutSuffix(r.pattern, "/*"); ok && strings.HasPrefix(name, base+"/") {
		return true
	}
	matched, err := path.Match(r.pattern, name)
	return err == nil && matched
}
