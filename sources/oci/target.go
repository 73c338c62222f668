// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

// target is where a reference leads after mirrors, with the login that fits there.
type target struct {
	// written is the reference as the caller gave it, for messages.
	written string
	// at is the registry, repository and tag or digest to ask.
	at registry.Reference
	// plain means HTTP without TLS.
	plain bool
	// exposed means that only the reference asks for that.
	exposed bool
	login   keychain.Login
	// hint is where a missing login belongs.
	hint string
}

// home identifies the repository for caching: content is only shared within it.
func (t target) home() string {
	return fmt.Sprintf("%t %s/%s", t.plain, t.at.Registry, t.at.Repository)
}

// mirror is the parsed value of Options.Mirrors.
type mirror struct {
	host, prefix string
	plain        bool
}

func parseMirror(host, endpoint string) (mirror, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
		return mirror{}, fmt.Errorf("registry mirror of %q: write it as http://host:port or https://host, with a path if its repositories lie below one", host)
	}
	return mirror{host: u.Host, prefix: strings.Trim(u.Path, "/"), plain: u.Scheme == "http"}, nil
}

// locate parses ref, applies mirrors and finds the login. With needVersion the reference must have a tag or digest.
func (r *registries) locate(ref string, credentials keychain.Credentials, needVersion bool) (target, error) {
	scheme, rest := splitScheme(ref)
	at, err := registry.ParseReference(rest)
	if err != nil {
		return target{}, invalid(ref, "it is not an OCI reference", "write it as host/repository:tag or host/repository@sha256:digest")
	}
	if needVersion && at.Reference == "" {
		return target{}, invalid(ref, "it has neither tag nor digest", "append :tag or @sha256:digest")
	}
	t := target{written: ref, at: at, plain: scheme == "http" || scheme == "" && r.plainByDefault(at.Registry), hint: r.options.LoginHint}
	if m, ok := r.mirrors[keychain.CanonicalHost(at.Registry)]; ok {
		t.at.Registry, t.plain, scheme = m.host, m.plain, "mirror"
		t.at.Repository = strings.TrimPrefix(m.prefix+"/"+at.Repository, "/")
	}
	if t.exposed = scheme == "http" && !r.plainByDefault(at.Registry); t.exposed {
		credentials = credentials.NamingPlain()
	}
	undecided := t.plain && scheme == ""
	t.login = credentials.Find(t.place(undecided))
	if undecided && len(t.login.Authorities()) > 0 {
		t.plain = false // who trusts an authority for a loopback host expects TLS there
		t.login = credentials.Find(t.place(false))
	}
	if t.login.Anonymous() {
		t.login = r.common(t, undecided && t.plain)
	}
	return t, nil
}

// common returns the login of Options.Logins for a target whose caller has none.
func (r *registries) common(t target, anyScheme bool) keychain.Login {
	logins := r.options.Logins
	if t.exposed {
		logins = logins.NamingPlain()
	}
	found := logins.Find(t.place(anyScheme))
	if len(t.login.Authorities()) > 0 {
		found = found.Trusting(t.login.Authorities())
	}
	return found
}

// place is where the login is needed.
func (t target) place(anyScheme bool) keychain.Place {
	scheme := "https"
	if t.plain {
		scheme = "http"
	}
	if anyScheme {
		scheme = ""
	}
	return keychain.Place{Scheme: scheme, Host: t.at.Registry, Repository: t.at.Repository}
}

// splitScheme takes the schemes off that people write before a reference; "oci" says nothing about TLS.
func splitScheme(ref string) (scheme, rest string) {
	for _, s := range []string{"oci", "http", "https"} {
		if rest, ok := strings.CutPrefix(ref, s+"://"); ok {
			return strings.TrimPrefix(s, "oci"), rest
		}
	}
	return "", ref
}

// plainByDefault is true for loopback hosts and those named in Options.PlainHTTP.
func (r *registries) plainByDefault(host string) bool {
	if slices.Contains(r.options.PlainHTTP, host) {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return name == "localhost" || err == nil && ip.IsLoopback()
}
