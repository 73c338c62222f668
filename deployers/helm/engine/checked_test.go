// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

// packed returns the record of a release as Helm stores it.
func packed(t *testing.T, record io.Reader) []byte {
	t.Helper()
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	require.NoError(t, err)
	_, err = io.Copy(w, record)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return []byte(base64.StdEncoding.EncodeToString(zipped.Bytes()))
}

func recordSecret(namespace string, record []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: "sh.helm.release.v1.hello.v1", Namespace: namespace,
			Labels: map[string]string{"owner": "helm", "name": "hello", "version": "1", "status": "deployed"},
		},
		Type: "helm.sh/release.v1", Data: map[string][]byte{"release": record},
	}
}

// A record that a person made up must not end the process: Helm works in goroutines whose panics nobody can catch.
func TestRecordsThatAreMadeUpAreErrors(t *testing.T) {
	cluster, e := openTarget(t), newEngine(t)
	const begin = `{"name":"hello","version":1,"namespace":"x"`
	for name, record := range map[string]string{
		"nothing in it": `{}`, "no info": begin + `}`, "an empty hook": begin + `,"info":{"status":"deployed"},"hooks":[null]}`, "no JSON": `nonsense`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, namespace := testContext(t), platform.Shared(t).Namespace(t)
			require.NoError(t, cluster.Client.Create(ctx, recordSecret(namespace, packed(t, strings.NewReader(record)))))
			_, err := e.History(ctx, cluster, namespace, "hello")
			require.ErrorIs(t, err, engine.ErrRecordUnreadable)
			require.ErrorContains(t, err, "a Secret with the labels owner=helm")
			err = uninstall(e, ctx, cluster, namespace, "hello", engine.Flags{})
			assert.ErrorIs(t, err, engine.ErrRecordUnreadable)
		})
	}
}

// madeUp returns a cluster whose records, asked for one by one, are nonsense.
func madeUp(cluster *target.Cluster) *target.Cluster {
	copied := *cluster
	copied.Config = rest.CopyConfig(cluster.Config)
	copied.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/secrets/sh.helm.release.") {
				return next.RoundTrip(r)
			}
			answer := `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"},"data":{"release":"bm9uc2Vuc2U="}}`
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
				Body: io.NopCloser(strings.NewReader(answer)),
			}, nil
		})
	})
	return &copied
}

func TestARecordThatTurnsIntoNonsenseIsAnError(t *testing.T) {
	ctx, cluster, e, namespace := testContext(t), openTarget(t), newEngine(t), platform.Shared(t).Namespace(t)
	request := engine.Request{
		Cluster: cluster, Namespace: namespace, Name: "hello",
		Chart: chartOf(t, e, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}),
	}
	installed, err := e.Install(ctx, request)
	require.NoError(t, err)
	assert.ErrorContains(t, e.Forget(ctx, madeUp(cluster), installed), "no record of a Helm release that can be read")
	assert.ErrorContains(t, uninstall(e, ctx, madeUp(cluster), namespace, "hello", engine.Flags{}), "no record of a Helm release that can be read")
	left := &corev1.SecretList{}
	require.NoError(t, cluster.Client.List(ctx, left, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm"}))
	assert.Len(t, left.Items, 1, "the record stays")
}

const jobTemplate = `apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: example.org/none}]
`

// bare returns a cluster that shows Jobs without what API servers fill in.
func bare(cluster *target.Cluster) *target.Cluster {
	copied := *cluster
	copied.Config = rest.CopyConfig(cluster.Config)
	var made atomic.Bool
	copied.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if isCreateOf("jobs")(r) {
				made.Store(true)
			}
			if !made.Load() || r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/jobs/job") {
				return next.RoundTrip(r)
			}
			answer := `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"job"},"status":{"failed":1}}`
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
				Body: io.NopCloser(strings.NewReader(answer)),
			}, nil
		})
	})
	return &copied
}

func TestObjectsWithoutTheDefaultsOfAPIServersEndNoProcess(t *testing.T) {
	e := newEngine(t)
	_, err := e.Install(testContext(t), engine.Request{
		Cluster: bare(openTarget(t)), Namespace: platform.Shared(t).Namespace(t), Name: "hello",
		Chart: chartOf(t, e, "1.0.0", map[string]string{"templates/job.yaml": jobTemplate}),
		Flags: engine.Flags{ReleaseSettings: helmv1alpha1.ReleaseSettings{Wait: true, WaitForJobs: true}},
	})
	assert.ErrorContains(t, err, "fields are missing that every API server sets")
}

// endless is a cluster that always has one more page of records.
type endless struct{ client.Client }

func (endless) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.SetContinue("more")
	return nil
}

func TestPagesWithoutEndAreAnError(t *testing.T) {
	cluster := *openTarget(t)
	cluster.Client = endless{cluster.Client}
	_, err := newEngine(t).Labelled(testContext(t), &cluster, map[string]string{"a": "b"})
	assert.ErrorIs(t, err, target.ErrTooManyPages)
}

// onePage is a cluster that has all records in one page, whatever its limit.
type onePage struct {
	client.Client
	records int
}

func (p onePage) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	records := list.(*metav1.PartialObjectMetadataList)
	records.Items = make([]metav1.PartialObjectMetadata, p.records)
	for i := range records.Items {
		records.Items[i].Namespace, records.Items[i].Labels = "n", map[string]string{"name": strconv.Itoa(i)}
	}
	return nil
}

// TestASearchWhoseListExpiresFindsEachReleaseOnce has two records in pages of one.
func TestASearchWhoseListExpiresFindsEachReleaseOnce(t *testing.T) {
	for name, times := range map[string]int{"once": 1, "for ever": -1} {
		t.Run(name, func(t *testing.T) {
			cluster := *openTarget(t)
			expiry := &faults.Expiry{Client: onePage{cluster.Client, 2}, Times: times}
			cluster.Client = expiry
			found, err := newEngine(t).Labelled(testContext(t), &cluster, map[string]string{"a": "b"})
			if times < 0 {
				require.ErrorContains(t, err, "helm releases cannot be looked for")
				assert.LessOrEqual(t, expiry.Lists, 4)
				return
			}
			require.NoError(t, err)
			assert.Len(t, found, 2)
		})
	}
}
