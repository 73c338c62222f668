// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"fmt"
	"os"
	"sync"

	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
)

// hostServer says how the own cluster is reached. The file with its authorities may change at any time. It is safe for concurrent use.
type hostServer struct {
	mu     sync.Mutex
	config *rest.Config
}

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
	return &hostServer{config: config}, nil
}

// get returns the connection with the content of the file.
func (s *hostServer) get() *rest.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

// reload reads the file again and reports whether it has changed. A file without certificates leaves what was there: it is being written.
func (s *hostServer) reload() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config.CAFile == "" {
		return false
	}
	authorities, err := os.ReadFile(s.config.CAFile)
	if err != nil || bytes.Equal(authorities, s.config.CAData) {
		return false
	}
	if _, err := certutil.ParseCertsPEM(authorities); err != nil {
		return false
	}
	next := rest.CopyConfig(s.config)
	next.CAData = authorities
	s.config = next
	return true
}
