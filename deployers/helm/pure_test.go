// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// TestEveryNameSurvivesTheInventory has all names of a few characters that tell fields apart, of kinds with and without namespace and group.
func TestEveryNameSurvivesTheInventory(t *testing.T) {
	names := []string{"system:controller:a_b", "é x", `"\`, "a?b#c&d=e+f,g;h"}
	last := []string{""}
	for range 5 {
		var longer []string
		for _, name := range last {
			for _, char := range []string{"_", ":", ".", "-", "a", "5F"} {
				longer = append(longer, name+char)
			}
		}
		names, last = append(names, longer...), longer
	}
	for _, name := range names {
		for _, ref := range []managedresource.ResourceReference{
			{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: name},
			{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role", Namespace: "a-b", Name: name},
			{APIVersion: "v1", Kind: "Secret", Namespace: "a", Name: name}, {APIVersion: "v1", Kind: "Node", Name: name},
		} {
			entry := inventoryEntry(ref)
			require.Equal(t, []managedresource.ResourceReference{ref}, referencesIn(&helmv1alpha1.ReleaseInventory{Entries: []helmv1alpha1.InventoryEntry{entry}}), entry.ID)
		}
	}
	assert.Equal(t, "_system__node_rbac.authorization.k8s.io_ClusterRole",
		inventoryEntry(managedresource.ResourceReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "system:node"}).ID, "as Flux writes it")
}

// revision returns a release with the labels of a wish, changed as pairs of label and value say.
func revision(status engine.Status, began time.Time, changes ...string) *engine.Release {
	labels := map[string]string{
		jobLabel: "job", contentLabel: "content", ownerLabel: "uid", itemLabel: "item", namespaceLabel: "namespace",
	}
	for i := 0; i < len(changes); i += 2 {
		labels[changes[i]] = changes[i+1]
	}
	return &engine.Release{Status: status, Began: began, Labels: labels}
}

// inherited is a revision that a person made of one of these.
func inherited(release *engine.Release) *engine.Release {
	release.Inherited = true
	return release
}

// rolledBack is a revision that a rollback made.
func rolledBack(release *engine.Release) *engine.Release {
	release.RolledBack = true
	return release
}

func TestDecide(t *testing.T) {
	now := time.Now()
	recent, old := now.Add(-foreignPending/2), now.Add(-foreignPending)
	foreign := []string{ownerLabel, "another", itemLabel, "other"}
	for name, tc := range map[string]struct {
		last *engine.Release
		want action
		// taken is what takeOwnership makes of it, where that differs.
		taken action
	}{
		"no release":                      {last: nil, want: actionInstall},
		"history only":                    {last: revision(engine.StatusUninstalled, now), want: actionReplace},
		"history only, of another":        {last: revision(engine.StatusUninstalled, now, foreign...), want: actionReplace},
		"uninstall interrupted":           {last: revision(engine.StatusUninstalling, now), want: actionFinishUninstall},
		"uninstall by hand":               {last: &engine.Release{Status: engine.StatusUninstalling, Began: recent}, want: actionStandBack},
		"uninstall by hand left":          {last: &engine.Release{Status: engine.StatusUninstalling, Began: old}, want: actionFinishUninstall},
		"deployed by this job":            {last: revision(engine.StatusDeployed, now), want: actionNone},
		"deployed by another job":         {last: revision(engine.StatusDeployed, now, jobLabel, "old"), want: actionKeep},
		"rolled back in another job":      {last: rolledBack(revision(engine.StatusDeployed, now, jobLabel, "old")), want: actionUpgrade},
		"both jobs were forced":           {last: revision(engine.StatusDeployed, now, jobLabel, "old", forcedLabel, "now"), want: actionKeep},
		"deployed from other content":     {last: revision(engine.StatusDeployed, now, contentLabel, "old"), want: actionUpgrade},
		"deployed by hand":                {last: &engine.Release{Status: engine.StatusDeployed}, want: actionUpgrade},
		"deployed by another item":        {last: revision(engine.StatusDeployed, now, foreign...), want: actionRefuse, taken: actionUpgrade},
		"deployed by an item of the name": {last: revision(engine.StatusDeployed, now, ownerLabel, "another", namespaceLabel, "other"), want: actionRefuse, taken: actionUpgrade},
		"deployed by a predecessor":       {last: revision(engine.StatusDeployed, now, ownerLabel, "before", jobLabel, "old"), want: actionUpgrade},
		"failed in this job":              {last: revision(engine.StatusFailed, now), want: actionForget},
		"failed in another job":           {last: revision(engine.StatusFailed, now, jobLabel, "old"), want: actionUpgrade},
		"superseded":                      {last: revision("superseded", now), want: actionUpgrade},
		"this job interrupted":            {last: revision("pending-upgrade", now), want: actionForget},
		"another job interrupted":         {last: revision("pending-install", now, jobLabel, "old"), want: actionGiveUp},
		"this job with other content":     {last: revision("pending-install", now, contentLabel, "old"), want: actionGiveUp},
		"another item at work":            {last: revision("pending-install", recent, foreign...), want: actionRefuse, taken: actionStandBack},
		"another item left it pending":    {last: revision("pending-install", old, foreign...), want: actionRefuse, taken: actionGiveUp},
		"another item uninstalls":         {last: revision(engine.StatusUninstalling, recent, foreign...), want: actionRefuse, taken: actionStandBack},
		"deployed by a person":            {last: inherited(revision(engine.StatusDeployed, now)), want: actionUpgrade},
		"failed, of a person":             {last: inherited(revision(engine.StatusFailed, now)), want: actionUpgrade},
		"a person at work":                {last: inherited(revision("pending-upgrade", recent)), want: actionStandBack},
		"a person left it pending":        {last: inherited(revision("pending-upgrade", old)), want: actionGiveUp},
		"a person's revision uninstalls":  {last: inherited(revision(engine.StatusUninstalling, recent)), want: actionFinishUninstall},
		"a person upgrades another's":     {last: inherited(revision(engine.StatusDeployed, now, foreign...)), want: actionRefuse, taken: actionUpgrade},
		"somebody else at work":           {last: &engine.Release{Status: "pending-upgrade", Began: recent}, want: actionStandBack},
		"somebody else left it pending":   {last: &engine.Release{Status: "pending-rollback", Began: old}, want: actionGiveUp},
	} {
		t.Run(name, func(t *testing.T) {
			wanted := wish{labels: revision("", now).Labels}
			assert.Equal(t, tc.want, decide(tc.last, wanted, now))
			wanted.takeOwnership = true
			assert.Equal(t, cmp.Or(tc.taken, tc.want), decide(tc.last, wanted, now), "with takeOwnership")
		})
	}
}

func TestDecideWhetherContentIsUnchanged(t *testing.T) {
	now := time.Now()
	old := revision(engine.StatusDeployed, now, jobLabel, "old")
	assert.Equal(t, actionKeep, decide(old, wish{labels: revision("", now).Labels}, now))
	assert.Equal(t, actionUpgrade, decide(old, wish{labels: revision("", now).Labels, renew: true}, now))
	assert.Equal(t, actionUpgrade, decide(old, wish{labels: revision("", now, contentLabel, "new").Labels}, now))
	forced := wish{labels: revision("", now, forcedLabel, "now").Labels}
	assert.Equal(t, actionUpgrade, decide(old, forced, now))
	assert.Equal(t, actionKeep, decide(revision(engine.StatusDeployed, now, jobLabel, "old", forcedLabel, "now"), forced, now), "it is forced once")
}

func TestContentIsWhatARevisionIsMadeFrom(t *testing.T) {
	item := &contract.Item{DeployItem: &v1alpha1.DeployItem{}}
	base := func() content {
		return content{chart: &engine.Chart{Digest: "sha256:a"}, values: map[string]any{"a": "b"}}
	}
	with := func(settings helmv1alpha1.ReleaseSettings) func(*content) {
		return func(c *content) { c.applied = appliedOf(&helmv1alpha1.ProviderConfiguration{}, settings) }
	}
	labels, err := releaseLabels(item, base())
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		change func(*content)
		isNew  bool
	}{
		"nothing":       {func(*content) {}, false},
		"chart":         {func(c *content) { c.chart.Digest = "sha256:b" }, true},
		"values":        {func(c *content) { c.values["a"] = "c" }, true},
		"force":         {with(helmv1alpha1.ReleaseSettings{Force: true}), true},
		"takeOwnership": {with(helmv1alpha1.ReleaseSettings{TakeOwnership: true}), true},
		"disableHooks":  {with(helmv1alpha1.ReleaseSettings{DisableHooks: true}), true},
		"crds":          {with(helmv1alpha1.ReleaseSettings{CRDs: helmv1alpha1.CRDsCreateReplace}), true},
		"wait, atomic":  {with(helmv1alpha1.ReleaseSettings{Wait: true, Atomic: true, CleanupOnFail: true, WaitForJobs: true}), false},
		"commonMetadata": {func(c *content) {
			c.applied.CommonMetadata = &helmv1alpha1.CommonMetadata{Labels: map[string]string{"a": "b"}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			changed := base()
			tc.change(&changed)
			others, err := releaseLabels(item, changed)
			require.NoError(t, err)
			assert.Equal(t, tc.isNew, labels[contentLabel] != others[contentLabel])
		})
	}
}

func TestFailuresCountThoseOfTheJob(t *testing.T) {
	now := time.Now()
	history := []*engine.Release{
		revision(engine.StatusFailed, now, jobLabel, "old"), revision(engine.StatusFailed, now), revision(engine.StatusDeployed, now),
		revision(engine.StatusFailed, now, contentLabel, "old"), revision(engine.StatusFailed, now, ownerLabel, "another"),
		inherited(revision(engine.StatusFailed, now)),
	}
	assert.Equal(t, 2, failures(history, revision("", now).Labels))
}

func TestD11RetriesAreLimited(t *testing.T) {
	none, three := 0, 3
	for name, tc := range map[string]struct {
		settings helmv1alpha1.ReleaseSettings
		failures int
		ends     bool
	}{
		"atomic, as often as usual":       {helmv1alpha1.ReleaseSettings{Atomic: true}, upgradeRetries, false},
		"atomic, more often":              {helmv1alpha1.ReleaseSettings{Atomic: true}, upgradeRetries + 1, true},
		"atomic, no retries":              {helmv1alpha1.ReleaseSettings{Atomic: true, Retries: &none}, 1, true},
		"atomic, some retries":            {helmv1alpha1.ReleaseSettings{Atomic: true, Retries: &three}, 3, false},
		"not undone, until time is up":    {helmv1alpha1.ReleaseSettings{}, 100, false},
		"not undone, as the settings say": {helmv1alpha1.ReleaseSettings{Retries: &three}, 4, true},
	} {
		t.Run(name, func(t *testing.T) {
			cause := errors.New("the cause")
			j := &job{config: &helmv1alpha1.ProviderConfiguration{}, attempt: &attempt{failure: cause}}
			err := j.mayTryAgain(tc.failures, tc.settings, upgradeRetries)
			if !tc.ends {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, cause)
			assert.True(t, protocol.IsUnrecoverable(err) || protocol.AsFailure("", err).Kind == protocol.Stalled)
		})
	}
}

func TestAProcessThatDidNotRunIsNoAttempt(t *testing.T) {
	none := 0
	j := &job{config: &helmv1alpha1.ProviderConfiguration{}, attempt: &attempt{}}
	lost := fmt.Errorf("helm upgrade failed: %w", engine.ErrNotRun)
	err := j.judge(t.Context(), lost, helmv1alpha1.ReleaseSettings{Atomic: true, Retries: &none}, upgradeRetries)
	require.Equal(t, lost, err)
	assert.Equal(t, attempt{}, *j.attempt)
	failure := protocol.AsFailure("", helmProblem(err))
	assert.Equal(t, protocol.Retry, failure.Kind)
	assert.Equal(t, "RenderProcessEnded", failure.Reason)
}

func TestLabelValue(t *testing.T) {
	for text, isKept := range map[string]bool{
		"0b6f1c1e-6f0f-4a55-9e8c-5d1c2d6c1a11": true, "job with spaces": false, strings.Repeat("x", 64): false,
	} {
		value := labelValue(text)
		assert.Equal(t, isKept, value == text, text)
		assert.LessOrEqual(t, len(value), 63)
	}
}
