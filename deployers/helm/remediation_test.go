// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

var (
	goodFiles = map[string]string{"templates/cm.yaml": configMapTemplate}
	// badFiles change what is there before they fail.
	badFiles = map[string]string{"templates/cm.yaml": strings.Replace(configMapTemplate, ".Values.testData", `"changed"`, 1), "templates/s.yaml": broken}
)

// recorded is the provider status of the item.
func (f *fixture) recorded() *helmv1alpha1.ProviderStatus {
	f.Helper()
	status, err := helmv1alpha1.DecodeStatus(f.item.Status.ProviderStatus.Raw)
	require.NoError(f, err)
	return status
}

// begun is an item whose release is good and whose upgrade is going to fail.
func begun(t *testing.T, settings config) *fixture {
	t.Helper()
	f := newFixture(t)
	f.configure(f.with(goodFiles, settings))
	f.succeed(f.deployer())
	f.configure(f.with(badFiles, settings))
	f.newJob()
	return f
}

// isRolledBack asserts that the objects are those of the first revision, and that this is deployed.
func (f *fixture) isRolledBack(revision int) {
	f.Helper()
	last := f.release()
	assert.Equal(f, revision, last.Revision)
	assert.Equal(f, engine.StatusDeployed, last.Status)
	assert.True(f, last.RolledBack)
	assert.Equal(f, "hello", f.configMap("hello-world")["testData"])
	assert.Equal(f, revision, f.recorded().Release.Revision)
}

func TestC25FailedUpgradesAreRolledBack(t *testing.T) {
	f := begun(t, config{"upgrade": config{"remediation": config{"retries": 1}}})
	d := f.deployer()
	first := f.fail(d)
	assert.False(t, isFinal(first))
	require.ErrorContains(t, first, "undone")
	f.isRolledBack(3)
	assert.Equal(t, 1, f.recorded().UpgradeFailures)

	last := f.fail(d)
	assert.True(t, isFinal(last))
	require.ErrorContains(t, last, "given up after 2 failed attempts to upgrade, rolled back as revision 5")
	require.ErrorContains(t, last, `Service "broken" is invalid`)
	f.isRolledBack(5)
	status := f.recorded()
	assert.Equal(t, 2, status.UpgradeFailures)
	assert.Equal(t, "upgrade", status.LastAttemptedReleaseAction)
	assert.Equal(t, "1.0.0", status.LastAttemptedRevision)
	assert.Contains(t, status.LastFailure, `Service "broken" is invalid`)
}

// TestC25ARollbackTakesBackWhatWasToGo has the rollback of the setting atomic. TestC25HelmSpecifics has that of a remediation.
func TestC25ARollbackTakesBackWhatWasToGo(t *testing.T) {
	f := newFixture(t)
	settings := config{"upgrade": config{"atomic": true}}
	f.configure(f.with(map[string]string{"templates/cm.yaml": configMapTemplate, "templates/more.yaml": named("more")}, settings))
	f.succeed(f.deployer())
	f.configure(f.with(badFiles, settings))
	f.newJob()
	f.fail(f.deployer())
	assert.Equal(t, 3, f.release().Revision)
	assert.Equal(t, engine.StatusDeployed, f.release().Status)
	f.configMap("more")
	assert.Equal(t, "hello", f.configMap("hello-world")["testData"])
}

func TestC25WhatIsGivenUpStandsStill(t *testing.T) {
	f := begun(t, config{"upgrade": config{"remediation": config{"retries": 0, "remediateLastFailure": true}}})
	require.True(t, isFinal(f.fail(f.deployer())))
	f.memory = map[string]any{} // another process goes on with the job
	again := f.fail(f.deployer())
	assert.True(t, isFinal(again))
	require.ErrorContains(t, again, `Service "broken" is invalid`)
	f.isRolledBack(3)

	f.newJob()
	assert.True(t, isFinal(f.fail(f.deployer())), "a new job tries again")
	f.isRolledBack(5)
	assert.Equal(t, 1, f.recorded().UpgradeFailures)
}

func TestC25TheLastFailureMayStay(t *testing.T) {
	for name, remediation := range map[string]config{
		"no retries":  {},
		"as asked":    {"retries": 0, "remediateLastFailure": false},
		"of installs": {},
	} {
		t.Run(name, func(t *testing.T) {
			var f *fixture
			if name == "of installs" {
				f = newFixture(t)
				f.configure(f.with(badFiles, config{"install": config{"remediation": remediation}}))
			} else {
				f = begun(t, config{"upgrade": config{"remediation": remediation}})
			}
			require.True(t, isFinal(f.fail(f.deployer())))
			assert.Equal(t, engine.StatusFailed, f.release().Status)
			assert.Equal(t, "changed", f.configMap("hello-world")["testData"])
			f.memory = map[string]any{}
			require.True(t, isFinal(f.fail(f.deployer())))
			assert.Len(t, f.history(), f.release().Revision, "no other revision")
		})
	}
}

func TestC25FailedInstallsAreUninstalled(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(f.with(badFiles, config{"install": config{"remediation": config{"retries": 1, "remediateLastFailure": true}}}))
	for _, isLast := range []bool{false, true, true} {
		assert.Equal(t, isLast, isFinal(f.fail(d)))
		assert.Nil(t, f.release())
		assert.True(t, f.isGone("hello-world"))
		f.memory = map[string]any{}
	}
	assert.Equal(t, 2, f.recorded().InstallFailures)

	f.configure(f.with(goodFiles, nil))
	f.newJob()
	f.succeed(d)
	assert.Zero(t, f.recorded().InstallFailures)
}

func TestC25FailedUpgradesAreUninstalled(t *testing.T) {
	f := begun(t, config{"upgrade": config{"remediation": config{"retries": 1, "strategy": "uninstall"}}})
	d := f.deployer()
	assert.False(t, isFinal(f.fail(d)))
	assert.Nil(t, f.release())
	assert.True(t, f.isGone("hello-world"))
	assert.True(t, isFinal(f.fail(d)), "the next attempt is an install, which can only be refused again")
	assert.Equal(t, 1, f.release().Revision)
}

func TestC25RetriesWithoutBound(t *testing.T) {
	const upgradeTries = 3 // more than without settings
	f := begun(t, config{"upgrade": config{"remediation": config{"retries": -1}}})
	d := f.deployer()
	for attempt := 1; attempt <= upgradeTries; attempt++ {
		assert.False(t, isFinal(f.fail(d)))
		assert.Equal(t, attempt, f.recorded().UpgradeFailures)
	}
	f.isRolledBack(1 + 2*upgradeTries)
}

// refusingNext is a cluster that refuses the next requests of a kind.
func refusingNext(cluster *target.Cluster, count int, method, suffix string) *target.Cluster {
	copied := *cluster
	copied.Config = rest.CopyConfig(cluster.Config)
	copied.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if count > 0 && r.Method == method && strings.HasSuffix(r.URL.Path, suffix) {
				count--
				r = r.Clone(r.Context())
				r.URL.RawQuery += "&dryRun=unknown" // which is not a value that the API server takes
			}
			return next.RoundTrip(r)
		})
	})
	return &copied
}

func TestC25AnAttemptThatSucceedsEndsTheCount(t *testing.T) {
	f := newFixture(t)
	settings := config{"upgrade": config{"remediation": config{"retries": 1}}}
	f.configure(f.with(goodFiles, settings))
	f.succeed(f.deployer())
	f.configure(f.with(map[string]string{"templates/cm.yaml": configMapTemplate, "templates/more.yaml": named("more")}, settings))
	f.newJob()
	whole := f.cluster
	f.cluster = refusingNext(whole, 1, http.MethodPost, "/configmaps")
	d := f.deployer()
	require.False(t, isFinal(f.fail(d)))
	f.isRolledBack(3)
	f.succeed(d)
	f.configMap("more")
	assert.Equal(t, 4, f.release().Revision)
	assert.Zero(t, f.recorded().UpgradeFailures)
	assert.Empty(t, f.recorded().LastFailure)
}

// TestC25ACrashDoesNotChangeTheEnd lets the process die around each write to the landscaper cluster. TestDeathAfterEachWrite has those to the target.
func TestC25ACrashDoesNotChangeTheEnd(t *testing.T) {
	for name, crash := range map[string]func(*fixture){
		"before it is counted":         func(f *fixture) { f.dieAtRecord(0) },
		"when it is counted":           func(f *fixture) { f.dieAtRecord(1) },
		"before the status is written": func(f *fixture) { f.dieAtEnd() },
	} {
		t.Run(name, func(t *testing.T) {
			f := begun(t, config{"upgrade": config{"remediation": config{"retries": 0, "remediateLastFailure": true}}})
			f.plan(f.deployer())
			crash(f)
			f.memory = map[string]any{}
			end := f.fail(f.deployer())
			assert.True(t, isFinal(end))
			require.ErrorContains(t, end, "given up after 1 failed attempts to upgrade, rolled back as revision 3")
			f.isRolledBack(3)
			assert.Equal(t, 1, f.recorded().UpgradeFailures)
		})
	}
}

// dieAtRecord lets the process die when it has recorded something so many times.
func (f *fixture) dieAtRecord(times int) {
	f.Helper()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	item := f.contractItem()
	record := item.Record
	item.Record = func(ctx context.Context, status *runtime.RawExtension) error {
		if times == 0 {
			cancel()
			return context.Canceled
		}
		times--
		if err := record(ctx, status); err != nil || times > 0 {
			return err
		}
		cancel()
		return context.Canceled
	}
	_, err := f.deployer().Ensure(ctx, item)
	require.Error(f, err)
}

// dieAtEnd lets the process die before it writes what it has reached.
func (f *fixture) dieAtEnd() {
	f.Helper()
	_, err := f.deployer().Ensure(f.ctx, f.contractItem())
	require.Error(f, err)
}

// failingRollback is a hook that the API server refuses.
const failingRollback = "apiVersion: v1\nkind: Service\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-rollback}}\nspec: {ports: [{port: 99999}]}\n"

func TestC25AFailedRollbackEndsTheJob(t *testing.T) {
	f := newFixture(t)
	settings := config{"upgrade": config{"remediation": config{"retries": 3}}}
	f.configure(f.with(map[string]string{"templates/cm.yaml": configMapTemplate, "templates/hook.yaml": failingRollback}, settings))
	f.succeed(f.deployer())
	f.configure(f.with(badFiles, settings))
	f.newJob()
	for range 2 {
		err := f.fail(f.deployer())
		assert.True(t, isFinal(err))
		require.ErrorContains(t, err, "cannot be undone")
		require.ErrorContains(t, err, `Service "broken" is invalid`)
		assert.Equal(t, engine.StatusFailed, f.release().Status)
		assert.Equal(t, 3, f.release().Revision)
		f.memory = map[string]any{}
	}
	f.configure(f.with(goodFiles, nil))
	f.newJob()
	f.succeed(f.deployer())
	assert.Equal(t, "hello", f.configMap("hello-world")["testData"])
}

// hangingRollback is a hook that nobody runs.
const hangingRollback = `apiVersion: v1
kind: Pod
metadata: {name: hook, annotations: {helm.sh/hook: pre-rollback}}
spec: {containers: [{name: main, image: none}]}
`

func TestC25AnInterruptEndsARollback(t *testing.T) {
	f := newFixture(t)
	settings := config{"upgrade": config{"remediation": config{"retries": 3}}}
	f.configure(f.with(map[string]string{"templates/cm.yaml": configMapTemplate, "templates/hook.yaml": hangingRollback}, settings))
	f.succeed(f.deployer())
	f.configure(f.with(badFiles, settings))
	f.newJob()
	f.crash(http.MethodGet, "/pods") // when it watches the Pod
	assert.Equal(t, engine.Status("pending-rollback"), f.release().Status)

	f.configure(f.with(goodFiles, nil))
	f.newJob()
	f.succeed(f.deployer())
	assert.Equal(t, "hello", f.configMap("hello-world")["testData"])
}
