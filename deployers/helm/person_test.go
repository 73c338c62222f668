// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
)

// person is somebody at Helm's own command line, who has the kubeconfig of the target.
type person struct {
	*fixture
	helm *action.Configuration
}

func (f *fixture) person() person {
	f.Helper()
	path := filepath.Join(f.TempDir(), "kubeconfig")
	require.NoError(f, os.WriteFile(path, f.platform.Kubeconfig, 0o600))
	settings := cli.New()
	settings.KubeConfig = path
	settings.SetNamespace(f.namespace)
	p := person{fixture: f, helm: &action.Configuration{}}
	require.NoError(f, p.helm.Init(settings.RESTClientGetter(), f.namespace, "secret", func(string, ...any) {}))
	return p
}

// upgrade is helm upgrade, which hands the labels of a revision on to the next one.
func (p person) upgrade(files map[string]string, values map[string]any) {
	p.Helper()
	chart, err := loader.LoadArchive(bytes.NewReader(archive(p, "1.0.0", files)))
	require.NoError(p, err)
	upgrade := action.NewUpgrade(p.helm)
	upgrade.Namespace = p.namespace
	made, err := upgrade.RunWithContext(p.ctx, "hello-world", chart, values)
	require.NoError(p, err)
	require.NotEmpty(p, made.Labels, "the labels are those of the revision before")
}

// isAtWork makes the newest revision one that helm upgrade or helm rollback began that long ago and is still busy with.
func (p person) isAtWork(status release.Status, ago time.Duration) {
	p.Helper()
	last, err := p.helm.Releases.Last("hello-world")
	require.NoError(p, err)
	last.SetStatus(status, "")
	last.Info.LastDeployed = helmtime.Time{Time: time.Now().Add(-ago)}
	require.NoError(p, p.helm.Releases.Update(last))
}

var (
	personFiles = map[string]string{"templates/cm.yaml": configMapTemplate}
	ofItem      = config{"testData": "of the item"}
	ofPerson    = map[string]any{"testData": "of a person"}
)

// overtaken is an item whose release a person has upgraded after its job.
func overtaken(t *testing.T) (*fixture, person) {
	t.Helper()
	f := newFixture(t)
	f.configure(config{"chart": raw(archive(t, "1.0.0", personFiles)), "values": ofItem})
	f.succeed(f.deployer())
	p := f.person()
	p.upgrade(personFiles, ofPerson)
	require.Equal(t, 2, f.release().Revision)
	return f, p
}

func TestAPersonAtWorkOnAReleaseOfOursIsLeftAlone(t *testing.T) {
	f, p := overtaken(t)
	for _, status := range []release.Status{release.StatusPendingRollback, release.StatusPendingUpgrade} {
		p.isAtWork(status, time.Minute)
		f.newJob()
		require.ErrorContains(t, f.fail(f.deployer()), "revision 2 of helm release "+f.namespace+"/hello-world is "+string(status))
		assert.Equal(t, engine.Status(status), f.release().Status)
		assert.Equal(t, 2, f.release().Revision)
		assert.Equal(t, "of a person", f.configMap("hello-world")["testData"])
	}
	_, err := f.deployer().Delete(f.ctx, f.contractItem())
	require.ErrorContains(t, err, "is pending-upgrade since", "a deletion waits as well")
	f.configMap("hello-world")

	p.isAtWork(release.StatusDeployed, time.Minute)
	f.remove(f.deployer())
	f.isEmpty()
}

func TestWhatAPersonLeftPendingIsUpgradedInTheEnd(t *testing.T) {
	f, p := overtaken(t)
	p.isAtWork(release.StatusPendingUpgrade, time.Hour)
	f.newJob()
	f.succeed(f.deployer())
	assert.Equal(t, 3, f.release().Revision)
	assert.Equal(t, "of the item", f.configMap("hello-world")["testData"])
}

func TestTheRevisionOfAPersonIsNotTheOneOfTheJob(t *testing.T) {
	f, _ := overtaken(t)
	f.memory = map[string]any{} // the process died while the job waited, and another goes on with the job
	f.succeed(f.deployer())
	assert.Equal(t, 3, f.release().Revision)
	assert.Equal(t, "of the item", f.configMap("hello-world")["testData"])
}

func TestTemplateModeWaitsForAPersonAtWork(t *testing.T) {
	f, p := overtaken(t)
	p.isAtWork(release.StatusPendingUpgrade, time.Minute)
	f.next(config{"chart": raw(archive(t, "1.0.0", personFiles)), "values": ofItem, "helmDeployment": false})
	require.ErrorContains(t, f.fail(f.deployer()), "is pending-upgrade since")
	assert.Equal(t, 2, f.release().Revision)
}

func TestOurOwnRollbackIsNotAPersons(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"cm": named("a")})})
	f.succeed(d)
	f.next(config{
		"chart":                f.chart("1.1.0", map[string]string{"cm": named("a"), "d": deploymentTemplate}),
		"helmDeploymentConfig": config{"upgrade": config{"atomic": true, "timeout": "1s", "retries": 0}},
	})
	f.fail(d)
	require.Equal(t, 3, f.release().Revision)
	f.person().isAtWork(release.StatusPendingRollback, time.Minute) // the process died in the middle of it

	f.next(config{"chart": f.chart("1.2.0", map[string]string{"cm": named("b")})})
	f.succeed(f.deployer())
	f.configMap("b")
}

func TestEveryRevisionOfOursCarriesItsNumber(t *testing.T) {
	f := newFixture(t)
	for revision := 1; revision <= 2; revision++ {
		f.next(config{"chart": f.chart("1.0."+strconv.Itoa(revision), map[string]string{"cm": named("a")})})
		f.succeed(f.deployer())
		assert.False(t, f.release().Inherited)
		assert.Equal(t, revision, f.release().Revision)
	}
	f.person().upgrade(personFiles, nil)
	assert.True(t, f.release().Inherited)
}
