// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// registryFlags say how OCI registries are reached.
type registryFlags struct {
	mirrors   map[string]string
	plainHTTP []string
	dir       string
	bytes     int64
}

func (r *registryFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringToStringVar(&r.mirrors, "oci-mirror", nil,
		"Ask another registry in place of a host, for example registry.example.com=http://127.0.0.1:5000. May be repeated.")
	flags.StringSliceVar(&r.plainHTTP, "oci-plain-http", nil, "Registry hosts to reach without TLS; loopback hosts always are.")
	flags.StringVar(&r.dir, "oci-cache-dir", "",
		"The directory that caches content of OCI registries over restarts; it belongs to this process alone. By default one in the temporary directory.")
	flags.Int64Var(&r.bytes, "oci-cache-size", 1024*mebibyte, "The bytes on disk that unused content of OCI registries may take.")
}

func (r *registryFlags) open() (*oci.Client, error) {
	registries, err := oci.New(oci.Options{Dir: r.dir, CacheBytes: r.bytes, Mirrors: r.mirrors, PlainHTTP: r.plainHTTP})
	if err != nil {
		return nil, fmt.Errorf("--oci-mirror or --oci-cache-dir: %w", err)
	}
	return registries, nil
}
