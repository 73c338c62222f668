// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

// registryFlags say how OCI registries are reached.
type registryFlags struct {
	mirrors   map[string]string
	plainHTTP []string
	// configFiles are dockerconfigjson files.
	configFiles []string
	dir         string
	bytes       int64
}

func (r *registryFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringToStringVar(&r.mirrors, "oci-mirror", nil,
		"Ask another registry in place of a host, for example registry.example.com=http://127.0.0.1:5000. May be repeated.")
	flags.StringSliceVar(&r.plainHTTP, "oci-plain-http", nil, "Registry hosts to reach without TLS; loopback hosts always are.")
	flags.StringArrayVar(&r.configFiles, "oci-config-file", nil,
		"A file like ~/.docker/config.json. Everybody whose own logins do not fit a registry pulls with its logins. It is read at the start. May be repeated.")
	flags.StringVar(&r.dir, "oci-cache-dir", "",
		"The directory that caches content of OCI registries over restarts; it belongs to this process alone. By default one in the temporary directory.")
	flags.Int64Var(&r.bytes, "oci-cache-size", 1024*mebibyte, "The bytes on disk that unused content of OCI registries may take.")
}

func (r *registryFlags) open(publicOnly bool) (*oci.Client, error) {
	logins, err := r.logins()
	if err != nil {
		return nil, err
	}
	registries, err := oci.New(oci.Options{Dir: r.dir, CacheBytes: r.bytes, Mirrors: r.mirrors, PlainHTTP: r.plainHTTP, Logins: logins, PublicOnly: publicOnly})
	if err != nil {
		return nil, fmt.Errorf("--oci-mirror or --oci-cache-dir: %w", err)
	}
	return registries, nil
}

// maxLoginFile is the size of the largest dockerconfigjson file, in bytes: that of a Secret.
const maxLoginFile = 1 << 20

// logins reads the dockerconfigjson files.
func (r *registryFlags) logins() (keychain.Credentials, error) {
	var all []keychain.Credentials
	for _, path := range r.configFiles {
		raw, err := readFile(path, maxLoginFile)
		if err != nil {
			return keychain.Credentials{}, fmt.Errorf("--oci-config-file: %w", err)
		}
		found, err := keychain.ParseDockerConfig(raw)
		if err != nil {
			return keychain.Credentials{}, fmt.Errorf("--oci-config-file %s: %w", path, err)
		}
		all = append(all, found)
	}
	return keychain.Join(all...), nil
}
