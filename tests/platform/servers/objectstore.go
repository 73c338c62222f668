// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"bytes"
	"net/http"
	"net/url"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
)

// ObjectStore is an S3 server in this process: plain HTTP, in memory. It takes every access key.
type ObjectStore struct {
	// Endpoint is what a Bucket's spec.endpoint takes, e.g. "127.0.0.1:34567"; spec.insecure has to be true.
	Endpoint string

	server *server
}

// StartObjectStore starts an S3 server that ends with the test.
func StartObjectStore(t testing.TB) *ObjectStore {
	t.Helper()
	store := gofakes3.New(s3mem.New(), gofakes3.WithLogger(gofakes3.DiscardLog()))
	running, err := serveHTTP(store.Server())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, running.stop()) })
	return &ObjectStore{Endpoint: running.address, server: running}
}

// CreateBucket makes an empty bucket.
func (o *ObjectStore) CreateBucket(t testing.TB, bucket string) {
	t.Helper()
	o.put(t, "/"+bucket, nil)
}

// Put stores objects in a bucket: key → content.
func (o *ObjectStore) Put(t testing.TB, bucket string, objects map[string]string) {
	t.Helper()
	for key, content := range objects {
		o.put(t, "/"+bucket+"/"+key, []byte(content))
	}
}

func (o *ObjectStore) put(t testing.TB, path string, content []byte) {
	t.Helper()
	at := url.URL{Scheme: "http", Host: o.Endpoint, Path: path}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, at.String(), bytes.NewReader(content))
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode, "PUT %s", path)
}
