// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"fmt"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// itemEvents returns the messages of the Normal events of a DeployItem.
func (s *scene) itemEvents(item string) []string {
	s.T.Helper()
	list := &corev1.EventList{}
	about := client.MatchingFields{"involvedObject.kind": "DeployItem", "involvedObject.name": item, "type": corev1.EventTypeNormal}
	require.NoError(s.T, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace), about))
	var messages []string
	for i := range list.Items {
		messages = append(messages, list.Items[i].Message)
	}
	return messages
}

// TestNewVersionOfAChartUpgradesItsRelease publishes versions of a chart and touches nothing else.
func TestNewVersionOfAChartUpgradesItsRelease(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"HelmChart", "OCIRepository"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.Target("cluster")
			s.pushChart("1.0.0", "old")
			s.offerChart()
			blueprint := "inline: {filesystem: {blueprint.yaml: " + quote(blueprintOf(chartItem(kind))) + "}}"
			s.apply(leaf{name: "one", blueprint: blueprint, annotations: follows()}.String())
			s.Ended("one", v1alpha1.PhaseSucceeded)
			name := "web-" + strings.ToLower(kind)
			s.requireValue(name, "old")
			source := client.Object(&sourcev1.HelmChart{ObjectMeta: s.Named("web")})
			if kind == "OCIRepository" {
				source = &sourcev1.OCIRepository{ObjectMeta: s.Named("web")}
			}

			s.pushChart("1.1.0", "broken", "missing")
			s.Refresh(source)
			item := s.rolled("1.1.0")
			require.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
			s.requireValue(name, "old")

			s.pushChart("1.2.0", "new")
			s.Refresh(source)
			item = s.rolled("1.2.0")
			require.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
			s.requireValue(name, "new")
			s.RequireJobs(1, "one")
			told := fmt.Sprintf("Helm upgrade succeeded for release %s/%s.v2 with chart web@1.2.0 of %s %s/web at 1.2.0", s.Namespace, name, kind, s.Namespace)
			require.Eventually(t, func() bool { return len(s.itemEvents(item.Name)) >= 2 }, landscape.Patience, tick)
			messages := strings.Join(s.itemEvents(item.Name), "\n")
			require.Len(t, s.itemEvents(item.Name), 2, messages)
			require.Contains(t, messages, told)

			quiet := time.Now()
			s.Refresh(source)
			s.RequireNoWrites(quiet)
		})
	}
}

// rolled waits until the only DeployItem is done with a version of its chart.
func (s *scene) rolled(version string) *v1alpha1.DeployItem {
	s.T.Helper()
	item := s.items()["web"]
	require.NotNil(s.T, item)
	require.NoError(s.T, s.Await(s.Ctx, item, func() bool {
		return item.Job().IsIdle() && len(item.Status.Sources) == 1 && strings.HasPrefix(item.Status.Sources[0].Revision, version)
	}))
	return item
}
