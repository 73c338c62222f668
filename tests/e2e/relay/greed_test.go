// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	controller "github.com/flux-landscaper/flux-landscaper/controllers/relay"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/relay"
)

// reviewsSince counts the tokens that the API server was asked about since a time.
func (s *scene) reviewsSince(since time.Time) (count int) {
	s.t.Helper()
	all, err := s.Requests(s.ctx, since)
	require.NoError(s.t, err)
	for _, request := range all {
		if request.Resource == "tokenreviews.authentication.k8s.io" {
			count++
		}
	}
	return count
}

// madeUp is a token for the relay that nobody has signed.
func madeUp(number int) string {
	part := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"aud": [%q], "sub": "system:serviceaccount:a:b", "jti": "%d"}`, relay.Audience, number)
	return strings.Join([]string{part([]byte(`{"alg":"RS256"}`)), part([]byte(claims)), part([]byte("signature"))}, ".")
}

func TestMadeUpTokensCostTheAPIServerLittle(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	s.account("east", s.tenant)
	item := s.item(s.tenant, "hello", s.push("1.0.0", "first"))
	asked, east := relay.For(relay.KindChart, item), s.token(s.home, "east", relay.Audience)
	require.Equal(t, http.StatusOK, s.ask("east", east, asked).StatusCode)

	begun := time.Now()
	for range 20 {
		assert.Equal(t, http.StatusUnauthorized, s.ask("east", madeUp(0), asked).StatusCode)
	}
	assert.Equal(t, 1, s.reviewsSince(begun), "a token that was refused is not asked about again")
	for i := range 100 {
		assert.Contains(t, []int{http.StatusUnauthorized, http.StatusTooManyRequests}, s.ask("east", madeUp(i), asked).StatusCode)
	}
	assert.LessOrEqual(t, s.reviewsSince(begun), 60, "of one address, within two periods")
	assert.Equal(t, http.StatusOK, s.ask("east", s.token(s.home, "east", relay.Audience), asked).StatusCode, "a new token of that address is signed")
	assert.Equal(t, http.StatusOK, s.ask("east", east, asked).StatusCode, "a token that is known")
}

// serve runs a relay in this process, which finds content with a function.
func (s *scene) serve(find controller.Finder, keys func(context.Context) ([]byte, error)) *httptest.Server {
	s.t.Helper()
	handler, err := controller.New(controller.Options{
		Client: s.Client(), Keys: keys, Metrics: prometheus.NewRegistry(), Timeout: time.Minute, Finders: map[relay.Kind]controller.Finder{relay.KindChart: find},
	})
	require.NoError(s.t, err)
	server := httptest.NewServer(handler)
	s.t.Cleanup(server.Close)
	return server
}

// askAt sends a request to such a relay.
func (s *scene) askAt(server *httptest.Server, token string, asked relay.Asked) *http.Response {
	s.t.Helper()
	path, query := asked.URL()
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, server.URL+"/"+path+"?"+query.Encode(), nil)
	require.NoError(s.t, err)
	request.Header.Set(relay.TokenHeader, token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestStrangersUseUpNobodysReviews(t *testing.T) {
	s := newScene(t)
	s.account("east", s.tenant)
	asked := relay.For(relay.KindChart, s.item(s.tenant, "hello", "example.com/chart:1"))
	small := func(context.Context, *contract.Item) (*controller.Content, error) {
		return &controller.Content{Body: []byte("small")}, nil
	}
	connection, err := rest.HTTPClientFor(s.RestConfig)
	require.NoError(t, err)
	keys, err := controller.ReadKeys(s.RestConfig, connection)
	require.NoError(t, err)
	server := s.serve(small, keys)
	for i := 0; s.askAt(server, madeUp(i), asked).StatusCode != http.StatusTooManyRequests; i++ {
		require.Less(t, i, 100)
	}
	assert.Equal(t, http.StatusOK, s.askAt(server, s.token(s.home, "east", relay.Audience), asked).StatusCode, "a new token of a deployer at their address")
}

// TestSlowReadersOfLargeAnswersFillNoMemory lets the callers of a fence ask for large content that they do not read.
func TestSlowReadersOfLargeAnswersFillNoMemory(t *testing.T) {
	s := newScene(t)
	const size = 100 << 20
	finds := make(chan string, 16)
	server := s.serve(func(_ context.Context, item *contract.Item) (*controller.Content, error) {
		finds <- item.DeployItem.Namespace
		if item.DeployItem.Name == "small" {
			return &controller.Content{Body: []byte("small")}, nil
		}
		return &controller.Content{Body: make([]byte, size)}, nil
	}, nil)
	other, third := s.Namespace(t), s.Namespace(t)
	s.account("east", s.tenant)
	s.account("north", s.tenant)
	outside := *s
	outside.home = s.Namespace(t)
	outside.account("west", third)
	for _, namespace := range []string{other, third} {
		s.create(s.pullSecretOf(namespace, password), s.contextOf(namespace, pullSecret))
	}
	s.bindTenant("east", other)
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	ask := func(s *scene, account, namespace, name string) io.Reader {
		response := s.askAt(server, s.token(s.home, account, relay.Audience), relay.For(relay.KindChart, s.item(namespace, name, "example.com/chart:1")))
		if !assert.Equal(t, http.StatusOK, response.StatusCode) {
			_, _ = io.Copy(os.Stderr, response.Body)
		}
		return response.Body
	}
	first := ask(s, "east", s.tenant, "large-1")
	ask(s, "north", s.tenant, "large-2")
	require.Len(t, finds, 2)
	waiting := make(chan io.Reader, 1)
	group.Go(func() { waiting <- ask(s, "east", other, "large-3") })

	small, err := io.ReadAll(ask(&outside, "west", third, "small"))
	require.NoError(t, err)
	assert.Equal(t, "small", string(small), "another fence is in nobody's way")
	assert.Len(t, finds, 3, "the third large one waits")
	assert.Empty(t, waiting)
	read, err := io.Copy(io.Discard, first)
	require.NoError(t, err)
	assert.EqualValues(t, size, read)
	<-waiting
	assert.Len(t, finds, 4)
}
