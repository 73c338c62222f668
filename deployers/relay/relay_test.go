// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

func TestWhatIsAskedForArrives(t *testing.T) {
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", UID: "b c&d", Generation: 7}}
	item.Spec.Type = v1alpha1.HelmDeployItemType
	asked := For(KindChart, item)
	path, query := asked.URL()
	at, err := url.Parse("https://relay.example.com/" + path + "?" + query.Encode())
	require.NoError(t, err)
	parsed, isKnown := Parse(at)
	assert.True(t, isKnown)
	assert.Equal(t, asked, parsed)
	assert.True(t, parsed.Fits(item))
	item.Spec.Type = v1alpha1.ManifestDeployItemType
	assert.False(t, parsed.Fits(item))
}

func TestWhatNobodyAsksIsRefused(t *testing.T) {
	for _, at := range []string{
		"/", "/metrics", "/content/v1/chart/shop", "/content/v1/chart/shop/a", "/content/v1/chart/shop/a/b?generation=1",
		"/content/v1/secret/shop/a?generation=1", "/content/v2/chart/shop/a?generation=1", "/content/v1/chart//a?generation=1",
		"/content/v1/chart/shop/a?generation=x",
	} {
		parsed, err := url.Parse(at)
		require.NoError(t, err)
		_, isKnown := Parse(parsed)
		assert.False(t, isKnown, at)
	}
}

func TestFailuresAreThoseOfTheOtherSide(t *testing.T) {
	for name, err := range map[string]error{
		"stalled": kit.Stall("GetChart", "InvalidChart", "chart.ref: %w", errors.New("no chart")),
		"coded":   kit.Coded(kit.Again("GetChart", "Unauthorized", "chart.ref: denied"), v1alpha1.ErrorUnauthorized),
		"plain":   errors.New("broken"),
		"source": kit.Again("GetChart", string(flux.NotReady), "chart.%w",
			&flux.Error{Reason: flux.NotReady, Waiting: true, Kind: "OCIRepository", Namespace: "shop", Name: "a", Problem: "no artifact", Cure: "wait"}),
	} {
		t.Run(name, func(t *testing.T) {
			var sent bytes.Buffer
			require.NoError(t, WriteFailure(&sent, "GetContent", err))
			got := readFailure(&sent)
			want, failure := kit.AsFailure("GetContent", err), kit.AsFailure("", got)
			assert.Equal(t, err.Error(), got.Error())
			assert.Equal(t, []any{want.Kind, want.Operation, want.Reason}, []any{failure.Kind, failure.Operation, failure.Reason})
			assert.Equal(t, kit.CodesOf(err), kit.CodesOf(got))
			var wanted, source *flux.Error
			assert.Equal(t, errors.As(err, &wanted), errors.As(got, &source))
			assert.Equal(t, wanted, source)
		})
	}
}

func TestAnswers(t *testing.T) {
	ours := http.Header{ServedBy: {"v1"}, "Etag": {`"sha256:a"`}, "Content-Type": {"application/x-tar; a=b"}}
	for name, tc := range map[string]struct {
		status int
		header http.Header
		body   io.Reader
		known  string
		reason string
	}{
		"content":                         {200, ours, strings.NewReader("a"), "", ""},
		"the same content":                {304, ours, strings.NewReader(""), "sha256:a", ""},
		"the same as nothing":             {304, ours, strings.NewReader(""), "", "RelayUnreachable"},
		"an answer that breaks off":       {200, ours, io.MultiReader(strings.NewReader("a"), broken{}), "", "RelayUnreachable"},
		"no relay":                        {503, nil, strings.NewReader("no endpoints"), "", "RelayUnreachable"},
		"no such Service":                 {404, nil, strings.NewReader("secret of a stranger"), "", "RelayUnreachable"},
		"no right to the Service":         {403, nil, strings.NewReader(""), "", "RelayRefused"},
		"no right to the item":            {403, ours, strings.NewReader(""), "", "RelayRefused"},
		"a token that is refused for all": {401, ours, strings.NewReader(""), "", "RelayRefused"},
		"a changed item":                  {409, ours, strings.NewReader(""), "", "ItemChanged"},
		"a busy relay":                    {429, ours, strings.NewReader(""), "", "RelayBusy"},
		"a relay of an older release":     {404, ours, strings.NewReader(""), "", "RelayUnreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Client{service: "ls-system/landscaper-relay"}
			answer := &http.Response{StatusCode: tc.status, Status: http.StatusText(tc.status), Header: tc.header, Body: io.NopCloser(tc.body)}
			found, err := c.read(t.Context(), "GetChart", answer, KindChart, tc.known, nil)
			if tc.reason == "" {
				require.NoError(t, err)
				assert.Equal(t, "sha256:a", found.Digest)
				return
			}
			failure := kit.AsFailure("", err)
			assert.Equal(t, tc.reason, failure.Reason)
			assert.Equal(t, kit.Retry, failure.Kind, "it passes, or somebody gives the right; nothing ends for it")
			assert.NotContains(t, err.Error(), "stranger")
		})
	}
}

func TestAnAnswerIsReadUpToTheLimitOfItsKind(t *testing.T) {
	for kind, limit := range map[Kind]int64{KindChart: 128 << 20, KindContent: 16 << 20} {
		t.Run(string(kind), func(t *testing.T) {
			c, body := &Client{service: "ls-system/landscaper-relay"}, &endless{}
			answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{ServedBy: {"v1"}}, Body: io.NopCloser(body)}
			_, err := c.read(t.Context(), "Reconcile", answer, kind, "", nil)
			failure := kit.AsFailure("", err)
			assert.Equal(t, []any{"TooLarge", kit.Stalled}, []any{failure.Reason, failure.Kind})
			assert.LessOrEqual(t, body.read, limit+1)
		})
	}
}

func TestAnAnswerIsReadWhereThereIsRoom(t *testing.T) {
	full := errors.New("full")
	for name, tc := range map[string]struct {
		length int64
		asked  []int64
	}{"known length": {5 << 20, []int64{5 << 20}}, "unknown length": {-1, []int64{1 << 20, 2 << 20}}} {
		t.Run(name, func(t *testing.T) {
			var asked []int64
			c, body := &Client{service: "ls-system/landscaper-relay"}, &endless{}
			answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{ServedBy: {"v1"}}, Body: io.NopCloser(body), ContentLength: tc.length}
			_, err := c.read(t.Context(), "Reconcile", answer, KindChart, "", func(_ context.Context, bytes int64) error {
				if asked = append(asked, bytes); bytes > 1<<20 {
					return full
				}
				return nil
			})
			require.ErrorIs(t, err, full)
			assert.Equal(t, tc.asked, asked)
		})
	}
}

type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read += int64(len(p))
	return len(p), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
