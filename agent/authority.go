// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"fmt"
	"os"
	"sync/atomic"

	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
)

// hostServer says how the own cluster is reached. The file with its authorities may change at any time. It is safe for concurrent use.
type hostServer struct{ config atomic.Pointer[rest.Config] }

// newHostServer reads the files of a connection to the own cluster.
func newHostServer(config *rest.Config) (*hostServer, error) {
	config = rest.CopyConfig(config)
	inline := config.CAData
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("read the certificates of the own cluster: %w", err)
	}
	if len(inline) > 0 {
		config.CAFile = "" // the file does not count
	}
	s := &hostServer{}
	s.config.Store(config)
	return s, nil
}

// get returns the connection with the content of the file.
func (s *hostServer) get() *rest.Config { return s.config.Load() }

// reload reads the file again and reports whether it has changed. A file without certificates leaves what was there: it is being written.
func (s *hostServer) reload() bool {
	next := rest.CopyConfig(s.get())
	if next.CAFile == "" {
		return false
	}
	authorities, err := os.ReadFile(next.CAFile)
	if err != nil || bytes.Equal(authorities, next.CAData) {
		return false
	}
	if _, err := certutil.ParseCertsPEM(authorities); err != nil {
		return false
	}
	next.CAData = authorities
	s.config.Store(next)
	return true
}
