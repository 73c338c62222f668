// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/deployers/relay"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func TestAChartComesThroughTheRelay(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	s.account("east", s.tenant)
	ref := s.push("1.0.0", "first")
	item := s.item(s.tenant, "hello", ref)
	s.startDeployer("east", s.tenant)

	s.succeeds(item, s.run(item))
	assert.Equal(t, "first", s.deployed(s.tenant))

	s.push("1.0.0", "second")
	s.succeeds(item, s.run(item))
	assert.Equal(t, "second", s.deployed(s.tenant), "a tag that has moved is followed")

	s.registry.Forget()
	version := item.ResourceVersion
	s.succeeds(item, s.run(item))
	require.NotEqual(t, version, item.ResourceVersion)
	assert.Zero(t, s.registry.Count(http.MethodGet, "blobs"), "what is known is not fetched again")
}

func TestAnItemWaitsForTheRelay(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	s.account("east", s.tenant)
	item := s.item(s.tenant, "hello", s.push("1.0.0", "first"))
	s.startDeployer("east", s.tenant)
	require.NoError(t, s.relay.Kill9())

	job := s.run(item)
	s.until(item, func() bool { return strings.Contains(conditions.GetMessage(item, "Ready"), "content relay") })
	assert.Empty(t, item.Status.JobIDFinished, "it waits as for a registry that is not reached")

	require.NoError(t, s.relay.Restart())
	s.succeeds(item, job)
	assert.Equal(t, "first", s.deployed(s.tenant))
}

func TestTheRelayMayDieInTheMiddle(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	s.account("east", s.tenant)
	item := s.item(s.tenant, "hello", s.push("1.0.0", "first"))
	asked, release := make(chan struct{}, 16), make(chan struct{})
	s.registry.Break(registry.Fault(func(_ *registry.Registry, _ http.ResponseWriter, request *http.Request) bool {
		if strings.Contains(request.URL.Path, "/blobs/") {
			asked <- struct{}{}
			<-release
		}
		return false
	}))
	s.startDeployer("east", s.tenant)
	job := s.run(item)
	select {
	case <-asked:
	case <-time.After(patience):
		require.Fail(t, "nobody has asked for the chart")
	}
	require.NoError(t, s.relay.Kill9())
	close(release)
	require.NoError(t, s.relay.Restart())
	s.succeeds(item, job)
	assert.Equal(t, "first", s.deployed(s.tenant))
}

func TestWhoMayNotReadTheItemLearnsNothing(t *testing.T) {
	s := newScene(t)
	s.startRelay()
	s.account("east", s.tenant)
	s.account("west", s.Namespace(t))
	item := s.item(s.tenant, "hello", s.push("1.0.0", "first"))
	theirs := relay.For(relay.KindChart, item)
	nobodys := theirs
	nobodys.Name = "missing"
	stale := theirs
	stale.Generation++
	east, west := s.token(s.home, "east", relay.Audience), s.token(s.home, "west", relay.Audience)
	for name, tc := range map[string]struct {
		token string
		asked relay.Asked
		want  int
	}{
		"its deployer":                        {east, theirs, http.StatusOK},
		"another environment":                 {west, theirs, http.StatusForbidden},
		"another environment, no such item":   {west, nobodys, http.StatusForbidden},
		"its deployer, no such item":          {east, nobodys, http.StatusConflict},
		"its deployer, another version of it": {east, stale, http.StatusConflict},
		"a token for the API server":          {s.token(s.home, "east"), theirs, http.StatusUnauthorized},
		"a token for both":                    {s.token(s.home, "east", relay.Audience, "https://kubernetes.default.svc"), theirs, http.StatusUnauthorized},
		"no token":                            {"", theirs, http.StatusUnauthorized},
		"no token at all":                     {"hello", theirs, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			response := s.ask("east", tc.token, tc.asked)
			assert.Equal(t, tc.want, response.StatusCode)
			if body := s.body(response); tc.want != http.StatusOK {
				assert.Empty(t, body)
			}
		})
	}
	assert.Equal(t, http.StatusUnauthorized, s.apiServer(east), "what the relay gets is worth nothing at the API server")
}
