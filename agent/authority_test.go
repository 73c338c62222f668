// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
)

// authority makes a certificate of a new authority.
func authority(t *testing.T) []byte {
	t.Helper()
	certificate, _, err := certutil.GenerateSelfSignedCertKey("host", nil, nil)
	require.NoError(t, err)
	return certificate
}

func TestTheAuthoritiesOfTheOwnClusterAreReadAgain(t *testing.T) {
	first, second := authority(t), authority(t)
	for name, c := range map[string]struct {
		content []byte
		changes bool
	}{
		"nothing has changed": {first, false},
		"one more":            {append(append([]byte{}, first...), second...), true},
		"another one":         {second, true},
		"empty":               {nil, false},
		"half written":        {first[:len(first)/3], false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ca.crt")
			require.NoError(t, os.WriteFile(file, first, 0o600))
			server, err := newHostServer(&rest.Config{Host: "https://host", TLSClientConfig: rest.TLSClientConfig{CAFile: file}})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, c.content, 0o600))
			assert.Equal(t, c.changes, server.reload())
			want := first
			if c.changes {
				want = c.content
			}
			assert.Equal(t, want, server.get().CAData)
			assert.False(t, server.reload(), "once")
		})
	}
	t.Run("in place of the file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ca.crt")
		require.NoError(t, os.WriteFile(file, second, 0o600))
		server, err := newHostServer(&rest.Config{Host: "https://host", TLSClientConfig: rest.TLSClientConfig{CAFile: file, CAData: first}})
		require.NoError(t, err)
		assert.False(t, server.reload())
		assert.Equal(t, first, server.get().CAData)
	})
	t.Run("gone", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ca.crt")
		require.NoError(t, os.WriteFile(file, first, 0o600))
		server, err := newHostServer(&rest.Config{Host: "https://host", TLSClientConfig: rest.TLSClientConfig{CAFile: file}})
		require.NoError(t, err)
		require.NoError(t, os.Remove(file))
		assert.False(t, server.reload())
		assert.Equal(t, first, server.get().CAData)
	})
}
