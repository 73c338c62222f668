// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Types of the OCM configuration, without their versions.
const (
	ocmGenericType     = "generic.config.ocm.software"
	ocmCredentialsType = "credentials.config.ocm.software"
	ocmDockerType      = "DockerConfig"
	ocmRegistryType    = "OCIRegistry"
)

var errOCMConfig = errors.New("it is not an OCM configuration; write YAML of type generic.config.ocm.software/v1 with configurations of type credentials.config.ocm.software")

// ocmConfig is an OCM configuration: of the generic type with configurations, or of the credentials' type with the rest.
type ocmConfig struct {
	Type           string          `json:"type"`
	Configurations []ocmConfig     `json:"configurations"`
	Consumers      []ocmConsumer   `json:"consumers"`
	Repositories   []ocmRepository `json:"repositories"`
}

// ocmConsumer is a login with the places it is for. OCM writes one identity or several.
type ocmConsumer struct {
	Identity    map[string]any   `json:"identity"`
	Identities  []map[string]any `json:"identities"`
	Credentials []struct {
		Type       string            `json:"type"`
		Properties map[string]string `json:"properties"`
	} `json:"credentials"`
}

type ocmRepository struct {
	Repository struct {
		Type             string          `json:"type"`
		DockerConfig     json.RawMessage `json:"dockerConfig"`
		DockerConfigFile string          `json:"dockerConfigFile"`
	} `json:"repository"`
}

// ParseOCMConfig reads the credentials of an OCM configuration (generic.config.ocm.software/v1 with configurations of type
// credentials.config.ocm.software, or one of these alone), in YAML or JSON: consumers of type OCIRegistry with username,
// password, identityToken, accessToken, refreshToken and certificateAuthority (PEM, trusted for that place), and Docker configurations
// written in place. A consumer without hostname fits every host. Configurations and consumers of other types are not for registries
// and do not count. Files are never read: what names one, and credentials of other types,
// is left out with one of the Warnings. Errors name the entry and repeat nothing of its content but the host.
func ParseOCMConfig(raw []byte) (all Credentials, err error) {
	var config ocmConfig
	if err := foreign.CoreUnmarshal(raw, &config); errors.Is(err, foreign.ErrTooMuch) {
		return all, errors.New("it " + foreign.Problem(err))
	} else if err != nil { // it may quote the content
		return all, errOCMConfig
	}
	switch ocmType(config.Type) {
	case ocmGenericType:
	case ocmCredentialsType:
		err = config.addTo(&all, "")
		return all, err
	default:
		return all, errOCMConfig
	}
	for i, one := range config.Configurations {
		if ocmType(one.Type) != ocmCredentialsType {
			continue
		}
		if err := one.addTo(&all, fmt.Sprintf("configurations[%d]: ", i)); err != nil {
			return all, err
		}
	}
	return all, nil
}

// ocmType strips the version of a type.
func ocmType(written string) string {
	name, _, _ := strings.Cut(written, "/")
	return name
}

// errUnusable marks what cannot be used here although it is right, so that the rest counts all the same.
var errUnusable = errors.New("it is left out")

// addTo adds logins, and warnings about what cannot be used, to all.
func (c ocmConfig) addTo(all *Credentials, place string) error {
	for i, consumer := range c.Consumers {
		found, err := consumer.entries()
		if err := all.add(found, fmt.Sprintf("%sconsumers[%d]", place, i), err); err != nil {
			return err
		}
	}
	for i, r := range c.Repositories {
		found, err := r.entries()
		if err := all.add(found, fmt.Sprintf("%srepositories[%d]", place, i), err); err != nil {
			return err
		}
	}
	return nil
}

// add adds entries, or a warning in place of them.
func (c *Credentials) add(found []entry, place string, err error) error {
	switch {
	case errors.Is(err, errUnusable):
		c.warnings = append(c.warnings, fmt.Sprintf("%s: %v", place, err))
	case err != nil:
		return fmt.Errorf("%s: %w", place, err)
	default:
		c.entries = append(c.entries, found...)
	}
	return nil
}

func (c ocmConsumer) entries() ([]entry, error) {
	var all []entry
	identities := c.Identities
	if len(c.Identity) > 0 {
		identities = append(identities, c.Identity)
	}
	for _, identity := range identities {
		if !strings.EqualFold(ocmType(text(identity["type"])), ocmRegistryType) {
			continue
		}
		e, err := ocmEntry(identity)
		if err != nil {
			return nil, err
		}
		if e.Login, err = c.login(); err != nil {
			return nil, fmt.Errorf("host %q: %w", e.host, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// ocmEntry reads where a login is for. Without a port it fits any port and without a host any host, as OCM has it.
func ocmEntry(identity map[string]any) (entry, error) {
	host, port := text(identity["hostname"]), text(identity["port"])
	if found := strings.Contains(host, "@"); found || strings.Contains(host, "/") {
		return entry{}, errors.New("identity.hostname is not a host name; write it without scheme, user and path")
	}
	e := entry{host: CanonicalHost(host), anyHost: host == "", prefix: strings.Trim(text(identity["pathprefix"]), "/"), scheme: text(identity["scheme"])}
	switch {
	case port != "":
		e.host += ":" + port
	case withoutPort(host) == host:
		e.anyPort = true
	}
	if e.scheme != "http" && e.scheme != "https" {
		e.scheme = "" // "oci" and the like say nothing about TLS
	}
	return e, nil
}

// text prints a scalar: people write ports as numbers and as strings.
func text(value any) string {
	switch value.(type) {
	case string, float64, int64, int, bool:
		return fmt.Sprint(value)
	}
	return ""
}

// login joins the credentials of a consumer; other types than those with properties cannot be used.
func (c ocmConsumer) login() (Login, error) {
	var l Login
	for _, given := range c.Credentials {
		if name := ocmType(given.Type); name != "" && name != "Credentials" && name != "DirectCredentials" {
			return Login{}, fmt.Errorf("credentials of type %q cannot be used: %w; write username and password as properties of type Credentials", name, errUnusable)
		}
		p := given.Properties
		l.auth = auth.Credential{Username: p["username"], Password: p["password"], AccessToken: p["accessToken"],
			RefreshToken: cmp.Or(p["identityToken"], p["identitytoken"], p["refreshToken"])}
		if ca := p["certificateAuthority"]; ca != "" {
			if err := checkAuthorities([]byte(ca)); err != nil {
				return Login{}, fmt.Errorf("certificateAuthority %w", err)
			}
			l.ca = []byte(ca)
		}
	}
	return l, complete(l.auth)
}

// entries reads a Docker configuration written in place, as an object or as text.
func (r ocmRepository) entries() ([]entry, error) {
	if ocmType(r.Repository.Type) != ocmDockerType {
		return nil, nil
	}
	raw := []byte(r.Repository.DockerConfig)
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		raw = []byte(quoted)
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("it names a Docker configuration on a disk, which is never read: %w; write its content to dockerConfig, or use a Secret of type kubernetes.io/dockerconfigjson", errUnusable)
	}
	return parseOne(raw)
}
