// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
)

// trouble answers requests to delete in the place of a cluster while it is set.
type trouble struct {
	next   http.RoundTripper
	answer func() (*http.Response, error)
}

// RoundTrip answers a request.
func (t *trouble) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.answer == nil || r.Method != http.MethodDelete {
		return t.next.RoundTrip(r)
	}
	return t.answer()
}

func refuse(code int, reason string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		body := `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "not now", "reason": "` + reason + `"}`
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// passing are answers that another try may get over.
var passing = map[string]func() (*http.Response, error){
	"a connection that breaks":          func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
	"an object that always changes":     refuse(http.StatusConflict, "Conflict"),
	"an API server that is busy":        refuse(http.StatusServiceUnavailable, "ServiceUnavailable"),
	"an API server that takes too long": refuse(http.StatusGatewayTimeout, "Timeout"),
	"a webhook that does not answer":    refuse(http.StatusInternalServerError, "InternalError"),
}

// leaving is a move from the first cluster to the second, with trouble on the first.
func leaving(t *testing.T) (*move, *trouble) {
	t.Helper()
	m, between := newMove(t), &trouble{}
	config := rest.CopyConfig(m.first.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		between.next = next
		return between
	})
	m.lead("one", open(t, config))
	m.use("one")
	m.configure(manifests("1", "a"))
	m.succeed()
	m.use("two")
	m.configure(manifests("1", "a"))
	return m, between
}

func TestWhatMayPassOnAnotherClusterIsTriedAgain(t *testing.T) {
	for name, answer := range passing {
		t.Run(name, func(t *testing.T) {
			m, between := leaving(t)
			between.answer = answer
			outcome, err := m.ensure()
			require.Error(t, err)
			require.False(t, outcome.Done)
			require.Equal(t, 1, m.sites(), "it stays recorded")
			between.answer = nil

			outcome = m.succeed()

			assert.Empty(t, outcome.Warning)
			assert.False(t, m.has(m.first, "a"))
			assert.Zero(t, m.sites())
		})
	}
}

// tryOn calls the deployer until the job ends.
func (m *move) tryOn() contract.Outcome {
	m.t.Helper()
	for range 20 {
		if outcome, err := m.ensure(); err == nil && outcome.Done {
			return outcome
		}
	}
	require.Fail(m.t, "the job does not end")
	return contract.Outcome{}
}

func TestATroubleThatLastsOnAnotherClusterIsLeftToTheDeletion(t *testing.T) {
	m, between := leaving(t)
	between.answer = passing["a connection that breaks"]

	outcome := m.tryOn()

	assert.Contains(t, outcome.Warning, "cannot uninstall 1 objects from cluster ")
	assert.Equal(t, 1, m.sites(), "it is not forgotten")
	_, err := m.remove()
	require.Error(t, err, "the deletion waits for it")
	between.answer = nil
	m.vanish()
	assert.False(t, m.has(m.first, "a"))
}

func TestMissingRightsOnAnotherClusterAreAWarningAtOnce(t *testing.T) {
	m, between := leaving(t)
	between.answer = refuse(http.StatusUnauthorized, "Unauthorized")

	outcome := m.succeed()

	assert.Contains(t, outcome.Warning, "cannot uninstall 1 objects from cluster ")
	assert.Equal(t, 1, m.sites(), "it is not forgotten")
}

func TestAJobWithoutManifestsSaysThatItDeletesAllBeforeItDoes(t *testing.T) {
	l := newLife(t)
	var warned []string
	l.item.Warn = func(_, message string) {
		assert.True(t, l.exists("a") && l.exists("b"), "nothing is deleted yet")
		warned = append(warned, message)
	}
	l.configure(header + "manifests: []")
	l.succeed()
	l.configure(manifests("1", "a", "b"))
	l.succeed()
	l.configure(manifests("1", "a"))
	l.succeed()
	assert.Empty(t, warned, "not all, or nothing to delete")
	l.configure(manifests("1", "a", "b"))
	l.succeed()

	l.configure(header + "manifests: []")
	l.succeed()
	assert.Equal(t, []string{"the job deletes all objects that the item has deployed, because its manifests are an empty list: " +
		"ConfigMap " + l.namespace + "/a, ConfigMap " + l.namespace + "/b"}, warned)
	assert.False(t, l.exists("a") || l.exists("b"))
}
