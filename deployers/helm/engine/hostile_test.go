// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// panicking is a quantity that nobody can work out.
const panicking = "1234567890123456789e2147483639"

// deploymentTemplate is a Deployment whose only container has the fields that the values say.
const deploymentTemplate = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: main
        image: example.org/none
        resources: {limits: {cpu: {{ .Values.cpu | quote }}}}
        env:
        {{- range until (int .Values.count) }}
        - {name: V{{ . }}, value: {{ $.Values.value | quote }}}
        {{- end }}
`

// answering returns a cluster that gives an answer of its own to some requests: what answer returns unless it is empty.
func answering(cluster *target.Cluster, answer func(*http.Request) string) *target.Cluster {
	copied := *cluster
	copied.Config = rest.CopyConfig(cluster.Config)
	copied.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			text := answer(r)
			if text == "" {
				return next.RoundTrip(r)
			}
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(strings.NewReader(text)),
			}, nil
		})
	})
	return &copied
}

// deployment is a request to install the Deployment.
func deployment(t *testing.T, e *engine.Engine) engine.Request {
	return engine.Request{
		Cluster: openTarget(t), Namespace: platform.Shared(t).Namespace(t), Name: "hello",
		Chart:  chartOf(t, e, "1.0.0", map[string]string{"templates/deployment.yaml": deploymentTemplate}),
		Values: map[string]any{"cpu": "1", "value": "a", "count": 1},
	}
}

func TestAQuantityOfAChartThatNobodyCanWorkOutIsAnError(t *testing.T) {
	const says = "/web: spec.template.spec.containers[0].resources.limits.cpu is a quantity"
	e := newEngine(t)
	bad := map[string]any{"cpu": panicking, "value": "a", "count": 1}
	t.Run("install", func(t *testing.T) {
		request := deployment(t, e)
		good := request.Values
		request.Values = bad
		_, err := e.Install(testContext(t), request)
		require.ErrorContains(t, err, says)
		request.Values = good
		_, err = e.Upgrade(testContext(t), request)
		require.NoError(t, err, "what is wrong in a revision does not keep the next one from curing it")
	})
	t.Run("upgrade", func(t *testing.T) {
		request := deployment(t, e)
		_, err := e.Install(testContext(t), request)
		require.NoError(t, err)
		request.Values = bad
		_, err = e.Upgrade(testContext(t), request)
		assert.ErrorContains(t, err, says)
	})
}

func TestNullInAListOfTheClusterEndsNoProcess(t *testing.T) {
	e := newEngine(t)
	var isLive atomic.Bool
	request := engine.Request{
		Namespace: platform.Shared(t).Namespace(t), Name: "hello", Values: map[string]any{"secret": "a"},
		Cluster: answering(openTarget(t), func(r *http.Request) string {
			if !isLive.Load() || r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/serviceaccounts/worker") {
				return ""
			}
			return `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"worker"},"secrets":[null]}`
		}),
		Chart: chartOf(t, e, "1.0.0", map[string]string{
			"templates/account.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: worker}\nsecrets: [{name: {{ .Values.secret }}}]\n",
		}),
	}
	_, err := e.Install(testContext(t), request)
	require.NoError(t, err)
	isLive.Store(true)
	request.Values = map[string]any{"secret": "b"}
	_, err = e.Upgrade(testContext(t), request)
	assert.ErrorContains(t, err, "look for null in lists")
}

// TestWhatAWatchShowsOfAHookBecomesNoGoType has a Job that ends, in an object that no API server makes.
func TestWhatAWatchShowsOfAHookBecomesNoGoType(t *testing.T) {
	e := newEngine(t)
	const metadata = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"job","namespace":%q,"resourceVersion":"999999999"%s}`
	namespace := platform.Shared(t).Namespace(t)
	const ended = `,"spec":{"template":{"spec":{"overhead":{"cpu":%q}}}},"status":{"conditions":[{"type":"Complete","status":"True"}]}}`
	shown := fmt.Sprintf(`{"type":"ADDED","object":`+metadata+ended+`}`, namespace, "", panicking) + "\n" +
		fmt.Sprintf(`{"type":"BOOKMARK","object":`+metadata+`}}`, namespace, `,"annotations":{"k8s.io/initial-events-end":"true"}`) + "\n"
	_, err := e.Install(testContext(t), engine.Request{
		Namespace: namespace, Name: "hello",
		Cluster: answering(openTarget(t), func(r *http.Request) string {
			if r.URL.Query().Get("watch") == "" || !strings.HasSuffix(r.URL.Path, "/jobs") {
				return ""
			}
			return shown
		}),
		Chart: chartOf(t, e, "1.0.0", map[string]string{
			"templates/job.yaml": strings.Replace(jobTemplate, "{name: job}", "{name: job, annotations: {helm.sh/hook: pre-install}}", 1),
		}),
	})
	require.NoError(t, err)
}

func TestListsThatTakeLongToMergeAreAnError(t *testing.T) {
	e := newEngine(t)
	request := deployment(t, e)
	request.Values = map[string]any{"cpu": "1", "value": "a", "count": 4000}
	_, err := e.Install(testContext(t), request)
	require.NoError(t, err)
	request.Values = map[string]any{"cpu": "1", "value": "b", "count": 4000}
	_, err = e.Upgrade(testContext(t), request)
	require.ErrorContains(t, err, "/web: with spec.template.spec.containers[0].env, the lists that are merged element by element have more than 4000 elements together")
	request.Values = map[string]any{"cpu": "1", "value": "b", "count": 300}
	_, err = e.Upgrade(testContext(t), request)
	require.NoError(t, err, "what is larger may shrink")
}
