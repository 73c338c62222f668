// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"path"
	"regexp"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
)

var userinfo = regexp.MustCompile(`^([a-z]+://)?[^/@]*@`)

// HideUser hides "user:password@" before the host of a reference that somebody wrote like a URL.
func HideUser(ref string) string {
	return userinfo.ReplaceAllString(ref, "${1}<hidden>@")
}

// Credentials are logins for registries and repositories, and certificate authorities to trust for them. The zero value
// is anonymous. They print as a placeholder.
type Credentials struct {
	entries  []entry
	warnings []string
}

// Warnings say which parts of the configuration cannot be used here; the logins beside them count. They repeat nothing but hosts.
func (c Credentials) Warnings() []string { return c.warnings }

// entry is a login with where it fits: host, with port unless anyPort, and the repositories below prefix. scheme is
// "http", "https" or empty for both. With anyHost, host is empty or a colon and a port.
type entry struct {
	host, prefix, scheme string
	anyPort, anyHost     bool
	// namesPlain says that whoever wrote the login wrote http:// before the host.
	namesPlain bool
	Login
}

// Login is what one party uses at one place: a credential or an identity.
type Login struct {
	auth auth.Credential
	by   *remembering
	// ca holds certificate authorities, PEM-encoded.
	ca []byte
}

// maxDockerConfig is the size of the largest Secret, in bytes.
const maxDockerConfig = 1 << 20

var errDockerConfig = errors.New(`it is not a Docker configuration; use the content of a Secret of type kubernetes.io/dockerconfigjson: {"auths": {"<host>": {"auth": "<base64 of user:password>"}}}`)

// ParseDockerConfig reads the .dockerconfigjson of any number of Secrets, the more important first. Credential helpers are
// ignored: nothing is executed. An error says which configuration (from 1) and which entry is wrong and repeats nothing
// of its content but the host.
func ParseDockerConfig(configs ...[]byte) (Credentials, error) {
	var c Credentials
	for i, raw := range configs {
		found, err := parseOne(raw)
		if err != nil {
			return Credentials{}, fmt.Errorf("registry credentials %d of %d: %w", i+1, len(configs), err)
		}
		c.entries = append(c.entries, found...)
	}
	return c, nil
}

// dockerAuth is one value of "auths".
type dockerAuth struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// parseOne does not wrap the errors of the JSON decoder because they may quote the content.
func parseOne(raw []byte) ([]entry, error) {
	if len(raw) > maxDockerConfig {
		return nil, fmt.Errorf("it has more than %d bytes; remove what is not a credential", maxDockerConfig)
	}
	var config struct {
		Auths map[string]dockerAuth `json:"auths"`
	}
	if json.Unmarshal(raw, &config) != nil || config.Auths == nil {
		return nil, errDockerConfig
	}
	found := make([]entry, 0, len(config.Auths))
	for key, a := range config.Auths {
		credential, err := a.credential()
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", HideUser(key), err)
		}
		host, prefix := splitKey(key)
		found = append(found, entry{host: host, prefix: prefix, namesPlain: strings.HasPrefix(key, "http://"), Login: Login{auth: credential}})
	}
	slices.SortFunc(found, func(a, b entry) int { return strings.Compare(a.host+"/"+a.prefix, b.host+"/"+b.prefix) })
	return found, nil
}

func (a dockerAuth) credential() (auth.Credential, error) {
	c := auth.Credential{Username: a.Username, Password: a.Password, RefreshToken: a.IdentityToken, AccessToken: a.RegistryToken}
	if a.Auth == "" {
		return c, complete(c)
	}
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(a.Auth), "="))
	user, password, both := strings.Cut(string(decoded), ":")
	if err != nil || !both {
		return auth.Credential{}, errors.New("auth is not the base64 of user:password; log in again and renew the Secret")
	}
	c.Username, c.Password = user, strings.TrimRight(password, "\x00")
	return c, complete(c)
}

// complete refuses a user that nothing can log in with: the registry client would never ask the registry.
func complete(c auth.Credential) error {
	if c.Username != "" && c.Password == "" && c.RefreshToken == "" && c.AccessToken == "" {
		return errors.New("it has a user but no password; add the password or a token, or remove the entry")
	}
	return nil
}

// splitKey takes "https://host/v1/" or "host/path" apart; the version paths of old clients mean the whole host.
func splitKey(key string) (host, prefix string) {
	key = strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
	host, prefix, _ = strings.Cut(key, "/")
	prefix = strings.Trim(prefix, "/")
	if prefix == "v1" || prefix == "v2" {
		prefix = ""
	}
	return CanonicalHost(host), prefix
}

// CanonicalHost gives the names of Docker Hub one form.
func CanonicalHost(host string) string {
	switch host = strings.ToLower(host); host {
	case "index.docker.io", "registry-1.docker.io":
		return "docker.io"
	}
	return host
}

// Find returns the login with the longest path that fits the repository; of equal ones an exact host beats a pattern, a pattern a login for
// any host, a port a login for any port, and then the first one wins. The certificate authorities come from the best entry that has some.
func (c Credentials) Find(at Place) Login {
	at.Host = CanonicalHost(at.Host)
	var found Login
	bestLogin, bestCA := 0, 0
	for _, e := range c.entries {
		rank := e.rank(at)
		if !e.Anonymous() && rank > bestLogin {
			found.auth, found.by, bestLogin = e.auth, e.by, rank
		}
		if len(e.ca) > 0 && rank > bestCA {
			found.ca, bestCA = e.ca, rank
		}
	}
	return found
}

// NamingPlain returns the entries that say themselves that their host is reached without TLS.
func (c Credentials) NamingPlain() Credentials {
	protected := func(e entry) bool { return e.anyHost || !e.namesPlain && e.scheme != "http" }
	return Credentials{entries: slices.DeleteFunc(slices.Clone(c.entries), protected)}
}

// Place is where a login is needed. Scheme is empty where it is not decided yet.
type Place struct{ Scheme, Host, Repository string }

// rank is 0 if the entry does not fit. An identity comes after all that somebody has written down.
func (e entry) rank(at Place) int {
	if e.by != nil {
		return e.identityRank(at)
	}
	below := e.prefix == "" || at.Repository == e.prefix || strings.HasPrefix(at.Repository, e.prefix+"/")
	if !below || e.scheme != "" && at.Scheme != "" && e.scheme != at.Scheme {
		return 0
	}
	host, penalty := at.Host, 0
	if e.anyPort {
		host, penalty = withoutPort(host), 1
	}
	switch {
	case e.anyHost && strings.HasSuffix(at.Host, e.host):
		return 8*len(e.prefix) + 3 - penalty
	case e.anyHost:
		return 0
	case e.host == host:
		return 8*len(e.prefix) + 7 - penalty
	case hostMatches(e.host, host):
		return 8*len(e.prefix) + 5 - penalty
	}
	return 0
}

func (e entry) identityRank(at Place) int {
	if at.Scheme != e.scheme || !e.by.Fits(at.Host) {
		return 0
	}
	return 1
}

func withoutPort(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// hostMatches follows the rule of the kubelet: "*" stands for a part between two dots, never for several.
func hostMatches(pattern, host string) bool {
	if !strings.Contains(pattern, "*") {
		return false
	}
	patterns, parts := strings.Split(pattern, "."), strings.Split(host, ".")
	if len(patterns) != len(parts) {
		return false
	}
	for i := range parts {
		if fits, err := path.Match(patterns[i], parts[i]); err != nil || !fits {
			return false
		}
	}
	return true
}

// Fingerprint tells two logins apart. It goes nowhere but into salted hashes.
func (l Login) Fingerprint() string {
	text := fmt.Sprintf("%q %q %q %q %q", l.auth.Username, l.auth.Password, l.auth.RefreshToken, l.auth.AccessToken, l.ca)
	if l.by != nil {
		text = fmt.Sprintf("identity %q %q", l.by.Fingerprint(), l.ca)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// String hides the content.
func (c Credentials) String() string {
	return fmt.Sprintf("%d registry logins (hidden)", len(c.entries))
}

// GoString hides the content from %#v too.
func (c Credentials) GoString() string { return c.String() }

// MarshalJSON hides the content from structured logs.
func (c Credentials) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// Keys of pull secrets. Others may hold Docker configurations too; .dockercfg is the form without "auths".
const (
	dockerConfigKey = ".dockerconfigjson"
	dockerCfgKey    = ".dockercfg"
	ocmConfigKey    = ".ocmcredentialconfig"
)

// ParseSecret reads the logins of a pull secret: a Docker configuration under .dockerconfigjson, the older form under
// .dockercfg, an OCM credential configuration under .ocmcredentialconfig (ParseOCMConfig), and Docker configurations under
// any other key. A Secret without any of these gives no logins, as in Gardener Landscaper. name is for messages. Errors
// name the key and repeat nothing of its content but hosts.
func ParseSecret(name string, data map[string][]byte) (Credentials, error) {
	var all Credentials
	for _, key := range slices.Sorted(maps.Keys(data)) {
		parse := parserOf(key, data[key])
		if parse == nil {
			continue
		}
		found, err := parse(data[key])
		if err != nil {
			return Credentials{}, fmt.Errorf("secret %s: key %s: %w", name, key, err)
		}
		for _, warning := range found.warnings {
			all.warnings = append(all.warnings, fmt.Sprintf("secret %s: key %s: %s", name, key, warning))
		}
		all.entries = append(all.entries, found.entries...)
	}
	return all, nil
}

// parserOf returns nil for a key that holds something else.
func parserOf(key string, content []byte) func([]byte) (Credentials, error) {
	switch key {
	case dockerConfigKey:
		return parseDocker
	case dockerCfgKey:
		return parseDockerCfg
	case ocmConfigKey:
		return ParseOCMConfig
	}
	var config struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	if len(content) <= maxDockerConfig && json.Unmarshal(content, &config) == nil && config.Auths != nil {
		return parseDocker
	}
	return nil
}

// parseDockerCfg reads the older form, which is the value of "auths" alone.
func parseDockerCfg(raw []byte) (Credentials, error) {
	wrapped, err := json.Marshal(map[string]json.RawMessage{"auths": raw})
	if err != nil {
		return Credentials{}, errDockerConfig
	}
	return parseDocker(wrapped)
}

func parseDocker(raw []byte) (Credentials, error) {
	found, err := parseOne(raw)
	return Credentials{entries: found}, err
}

// Join returns the logins of all, the more important first: of logins that fit equally well the first one wins.
func Join(all ...Credentials) Credentials {
	var joined Credentials
	for _, c := range all {
		joined.entries = append(joined.entries, c.entries...)
		joined.warnings = append(joined.warnings, c.warnings...)
	}
	return joined
}
