// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"fmt"
	"maps"
	"slices"
)

// The keys of pull secrets: a Docker configuration and an OCM credential configuration.
const (
	dockerConfigKey = ".dockerconfigjson"
	ocmConfigKey    = ".ocmcredentialconfig"
)

// ParseSecret reads the logins of a pull secret: a Docker configuration under .dockerconfigjson, an OCM credential
// configuration under .ocmcredentialconfig (ParseOCMConfig), and Docker configurations under any other key. name is for
// messages. A Secret without any login is an error. Errors name the key and repeat nothing of its content but hosts.
func ParseSecret(name string, data map[string][]byte) (Credentials, error) {
	var all Credentials
	for _, key := range slices.Sorted(maps.Keys(data)) {
		parse := parseOne
		if key == ocmConfigKey {
			continue
		}
		found, err := parse(data[key])
		if err != nil {
			if key != dockerConfigKey {
				continue
			}
			return Credentials{}, fmt.Errorf("secret %s: key %s: %w", name, key, err)
		}
		all.entries = append(all.entries, found...)
	}
	return all, nil
}

// Join returns the logins of all, the more important first: of logins that fit equally well the first one wins.
func Join(all ...Credentials) Credentials {
	var joined Credentials
	for _, c := range all {
		joined.entries = append(joined.entries, c.entries...)
	}
	return joined
}
