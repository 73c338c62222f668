// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// charted is a component with a chart that says a text, and a blueprint that deploys it. The second value is the digest of the chart.
func (s *scene) charted(text string) (*built, string) {
	s.T.Helper()
	chart := s.note("1.0.0", text)
	sum := sha256.Sum256(chart)
	return build("example.com/root", "1.0.0").local("note", "helmChart", chartMediaType, chart).
		blueprint("blueprint", object{"imports": list{clusterImport()},
			"deployExecutions": goTemplate("deployItems:\n" + s.noteItem("note", "cd://resources/note"))}, nil), hex.EncodeToString(sum[:])
}

// chartedSpec is an Installation of a signed component with a chart.
func chartedSpec() object {
	return of("example.com/root", "1.0.0", "blueprint", object{
		"verification": object{"signatureName": "release"}, "imports": onCluster(),
	})
}

// handedOver waits until the only DeployItem has a job, and returns it.
func (s *scene) handedOver() *v1alpha1.DeployItem {
	s.T.Helper()
	items := &v1alpha1.DeployItemList{}
	require.Eventually(s.T, func() bool {
		err := s.Client().List(s.Ctx, items, client.InNamespace(s.Namespace))
		return err == nil && len(items.Items) == 1 && items.Items[0].Status.JobID != ""
	}, landscape.Patience, tick)
	return &items.Items[0]
}

// TestC11ChartReplacedAfterItsVerificationIsRefused runs alone: it stops the helm deployer that all tests share.
func TestC11ChartReplacedAfterItsVerificationIsRefused(t *testing.T) {
	s := &scene{landscape.NewScene(t)}
	key, public := newKey(t)
	thief, _ := newKey(t)
	right, rightDigest := s.charted("right")
	wrong, wrongDigest := s.charted("wrong")
	s.publishSigned(key, right)
	s.trust(public)
	s.Target("cluster")
	deployer := s.Processes[landscape.HelmDeployer]
	require.NoError(t, deployer.Stop(landscape.Patience))
	t.Cleanup(func() {
		if !deployer.Running() {
			require.NoError(t, deployer.Restart())
		}
	})
	s.install("root", chartedSpec())
	rendered := s.handedOver()
	s.publishSigned(thief, wrong)
	require.NoError(t, deployer.Restart())

	failure := s.failed("root")
	for _, part := range []string{
		"chart.resourceRef", `resource "note" of component example.com/root:1.0.0`, rightDigest, wrongDigest, "publish a new version of it",
	} {
		assert.Contains(t, failure.Message, part)
	}
	err := s.Client().Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: "note"}, &corev1.ConfigMap{})
	assert.True(t, apierrors.IsNotFound(err), err)
	releases := &corev1.SecretList{}
	require.NoError(t, s.Client().List(s.Ctx, releases, client.InNamespace(s.Namespace), client.MatchingLabels{"owner": "helm"}))
	assert.Empty(t, releases.Items)

	s.publishSigned(key, right)
	former := s.Ended("root", v1alpha1.PhaseFailed).Status.JobID
	s.Annotate(s.Installation("root"), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	s.Ran("root", former, v1alpha1.PhaseSucceeded)
	assert.Equal(t, "right", s.config("note")["text"])
	again := s.handedOver()
	assert.NotEqual(t, rendered.Status.JobID, again.Status.JobID)
	assert.Equal(t, rendered.Generation, again.Generation, "the key stays the same")
}
