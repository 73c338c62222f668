// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package typed

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// body notes that it was closed.
type body struct {
	io.Reader
	isClosed bool
}

func (b *body) Close() error {
	b.isClosed = true
	return nil
}

// server gives one answer.
type server http.Response

func (s *server) RoundTrip(*http.Request) (*http.Response, error) { return (*http.Response)(s), nil }

func TestAnswersThatMustNotBecomeGoTypesAreRefused(t *testing.T) {
	const bomb = `{"apiVersion":"v1","kind":"Pod","spec":{"overhead":{"cpu":"1e100"}}}`
	for name, tt := range map[string]struct {
		path, contentType, answer string
		code                      int
		says                      string
	}{
		"an object":           {answer: `{"apiVersion":"v1","kind":"Pod","spec":{"overhead":{"cpu":"1e10"}}}`},
		"a quantity":          {answer: bomb, says: "spec.overhead.cpu is a quantity"},
		"a kind without JSON": {answer: bomb, contentType: "application/vnd.kubernetes.protobuf", says: "something else than the JSON"},
		"an error":            {answer: bomb, code: http.StatusNotFound},
		"a log":               {answer: bomb, path: "/api/v1/namespaces/shop/pods/web/log"},
		"an object named so":  {answer: bomb, path: "/api/v1/namespaces/shop/pods/version", says: "spec.overhead.cpu is a quantity"},
		"an object log":       {answer: bomb, path: "/apis/apps/v1/namespaces/shop/deployments/log", says: "spec.overhead.cpu is a quantity"},
		"a Pod log":           {answer: bomb, path: "/api/v1/namespaces/shop/pods/log", says: "spec.overhead.cpu is a quantity"},
		"a namespace pods":    {answer: bomb, path: "/api/v1/namespaces/pods/configmaps/log", says: "spec.overhead.cpu is a quantity"},
		"a version":           {answer: `{"major":"1","gitCommit":"9edcffcde5595e8a5b1a35f88c421764e575afce"}`, path: "/version"},
		"behind a proxy":      {answer: bomb, path: "/k8s/clusters/c/apis/apps/v1/deployments/web", says: "spec.overhead.cpu is a quantity"},
		"a watch":             {answer: bomb, path: "/api/v1/namespaces/shop/pods?watch=true"},
	} {
		t.Run(name, func(t *testing.T) {
			sent := &body{Reader: strings.NewReader(tt.answer)}
			next := &server{StatusCode: max(tt.code, http.StatusOK), Header: http.Header{"Content-Type": {tt.contentType}}, Body: sent}
			request := httptest.NewRequest(http.MethodGet, "https://cluster.example"+cmp.Or(tt.path, "/api/v1/namespaces/shop/pods/web"), nil)

			response, err := Answers(next).RoundTrip(request)

			if tt.says != "" {
				require.ErrorContains(t, err, tt.says)
				assert.True(t, sent.isClosed)
				return
			}
			require.NoError(t, err)
			read, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			assert.Equal(t, tt.answer, string(read))
			assert.False(t, sent.isClosed, "who reads it has not closed it")
			require.NoError(t, response.Body.Close())
			assert.True(t, sent.isClosed)
		})
	}
}

func TestAnAnswerThatBreaksOffEndsAsItDid(t *testing.T) {
	broken := errors.New("broken")
	next := &server{StatusCode: http.StatusOK, Body: &body{Reader: io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))}}
	response, err := Answers(next).RoundTrip(httptest.NewRequest(http.MethodGet, "https://cluster.example/api/v1/pods/", nil))
	require.NoError(t, err)
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	require.ErrorIs(t, err, broken)
	assert.Equal(t, "half", string(read))
}
