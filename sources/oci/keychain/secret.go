// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package keychain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

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
