// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

// podHook is a hook that the tests of this file end, as a kubelet would.
func podHook(name, event string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", annotations: {helm.sh/hook: " + event + "}}\n" +
		"spec: {restartPolicy: Never, containers: [{name: main, image: none}]}\n"
}

var testedFiles = map[string]string{"templates/cm.yaml": configMapTemplate, "templates/test.yaml": podHook("smoke", "test")}

// running is a cluster whose Pods end with a phase as soon as they are made, and have written a log.
func (f *fixture) running(phase corev1.PodPhase, log string) *target.Cluster {
	whole, copied := f.cluster, *f.cluster
	copied.Config = rest.CopyConfig(whole.Config)
	copied.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/log") {
				return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(log))}, nil
			}
			answer, err := next.RoundTrip(r)
			if err == nil && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") && answer.StatusCode == http.StatusCreated {
				f.end(whole.Client, phase)
			}
			return answer, err
		})
	})
	return &copied
}

// end ends all Pods of the namespace that have not ended.
func (f *fixture) end(c client.Client, phase corev1.PodPhase) {
	pods := &corev1.PodList{}
	assert.NoError(f, c.List(f.ctx, pods, client.InNamespace(f.namespace)))
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodPending {
			pod.Status.Phase = phase
			assert.NoError(f, c.Status().Update(f.ctx, &pod))
		}
	}
}

// tested is an item whose chart has a test that ends like this.
func tested(t *testing.T, phase corev1.PodPhase, log string, settings config) *fixture {
	t.Helper()
	f := newFixture(t)
	f.cluster = f.running(phase, log)
	content := f.with(testedFiles, nil)
	maps.Copy(content, settings)
	f.configure(content)
	return f
}

func TestC25TestsRunOncePerRevision(t *testing.T) {
	f := tested(t, corev1.PodSucceeded, "", config{"test": config{"enable": true}})
	f.succeed(f.deployer())
	first := f.recorded().Tests
	require.Len(t, first.Hooks, 1)
	assert.Equal(t, 1, first.Revision)
	assert.Equal(t, "smoke", first.Hooks[0].Name)
	assert.Equal(t, "Succeeded", first.Hooks[0].Phase)
	require.NoError(t, f.get("smoke", &corev1.Pod{}))

	require.NoError(t, f.cluster.Client.Delete(f.ctx, &corev1.Pod{ObjectMeta: objectMeta(f.namespace, "smoke")}, client.GracePeriodSeconds(0)))
	f.newJob()
	f.succeed(f.deployer())
	assert.True(t, apierrors.IsNotFound(f.get("smoke", &corev1.Pod{})), "nothing has changed")
	assert.Equal(t, first, f.recorded().Tests)

	f.next(f.with(map[string]string{"templates/cm.yaml": named("other")}, nil))
	f.succeed(f.deployer())
	assert.Nil(t, f.recorded().Tests, "tests are not wanted any more")
}

func TestC25TestsThatAreTurnedOnRunForWhatIsDeployed(t *testing.T) {
	f := tested(t, corev1.PodSucceeded, "", nil)
	f.succeed(f.deployer())
	assert.True(t, apierrors.IsNotFound(f.get("smoke", &corev1.Pod{})))
	content := f.with(testedFiles, nil)
	content["test"] = config{"enable": true}
	f.next(content)
	f.succeed(f.deployer())
	assert.Equal(t, 1, f.release().Revision)
	require.NoError(t, f.get("smoke", &corev1.Pod{}))
}

func TestC25AFailedTestFailsTheJob(t *testing.T) {
	log := "one\ntwo\x1b[31m red\n" + strings.Repeat("x", 2000) + "\nthe last word is hello, planted-secret\n"
	f := tested(t, corev1.PodFailed, log, config{
		"test": config{"enable": true}, "values": config{"testData": "hello", "password": "planted-secret"},
	})
	d := f.deployer()
	err := f.fail(d)
	assert.True(t, isFinal(err))
	require.ErrorContains(t, err, "test smoke of revision 1 of helm release "+f.namespace+"/hello-world failed")
	assert.NotContains(t, err.Error(), "the last word", "events show the error")

	hook := f.recorded().Tests.Hooks[0]
	assert.Equal(t, "Failed", hook.Phase)
	assert.True(t, strings.HasSuffix(hook.Log, "the last word is hello, ***"), hook.Log)
	assert.LessOrEqual(t, len(hook.Log), 1<<10)
	assert.NotContains(t, hook.Log, "\x1b")

	f.memory = map[string]any{} // another process goes on with the job
	require.True(t, isFinal(f.fail(f.deployer())))
	assert.Equal(t, hook, f.recorded().Tests.Hooks[0], "the test did not run again")

	f.newJob()
	require.True(t, isFinal(f.fail(d)))
	assert.Equal(t, 2, f.release().Revision, "a new job makes and tests a new revision")
}

func TestC25IgnoredFailuresOfTestsAreAWarning(t *testing.T) {
	f := tested(t, corev1.PodFailed, "no", config{"test": config{"enable": true, "ignoreFailures": true}})
	outcome := f.succeed(f.deployer())
	assert.Contains(t, outcome.Warning, "smoke failed")
	assert.Equal(t, "no", f.recorded().Tests.Hooks[0].Log)
}

func TestC25TestsAreFiltered(t *testing.T) {
	files := map[string]string{"templates/a.yaml": podHook("test-a", "test"), "templates/b.yaml": podHook("test-b", "test"), "templates/c.yaml": podHook("test-c", "test")}
	for name, tc := range map[string]struct {
		filters []any
		want    []string
	}{
		"all":     {nil, []string{"test-a", "test-b", "test-c"}},
		"one":     {[]any{config{"name": "test-b"}}, []string{"test-b"}},
		"but one": {[]any{config{"name": "test-b", "exclude": true}}, []string{"test-a", "test-c"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.cluster = f.running(corev1.PodSucceeded, "")
			content := f.with(files, nil)
			content["test"] = config{"enable": true, "filters": tc.filters}
			f.configure(content)
			f.succeed(f.deployer())
			var ran []string
			for _, hook := range f.recorded().Tests.Hooks {
				ran = append(ran, hook.Name)
			}
			assert.ElementsMatch(t, tc.want, ran)
			pods := &corev1.PodList{}
			require.NoError(t, f.cluster.Client.List(f.ctx, pods, client.InNamespace(f.namespace)))
			assert.Len(t, pods.Items, len(tc.want))
		})
	}
}

func TestC25FailedTestsAreRemedied(t *testing.T) {
	for name, tc := range map[string]struct {
		remediation config
		isRemedied  bool
	}{
		"rolled back":       {config{"retries": 0, "remediateLastFailure": true}, true},
		"ignored":           {config{"retries": 0, "remediateLastFailure": true, "ignoreTestFailures": true}, false},
		"the last one stay": {config{"retries": 0}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.configure(f.with(goodFiles, nil))
			f.succeed(f.deployer())
			f.cluster = f.running(corev1.PodFailed, "no")
			content := f.with(testedFiles, config{"upgrade": config{"remediation": tc.remediation}})
			content["test"] = config{"enable": true}
			f.next(content)
			d := f.deployer()
			err := f.fail(d)
			for !isFinal(err) {
				err = f.fail(d)
			}
			require.ErrorContains(t, err, "test smoke of revision 2")
			if !tc.isRemedied {
				assert.Equal(t, 2, f.release().Revision)
				return
			}
			f.isRolledBack(3)
			assert.Equal(t, 1, f.recorded().UpgradeFailures)
			assert.Equal(t, "no", f.recorded().Tests.Hooks[0].Log)
		})
	}
}

func TestC25ATestThatNeverEndsEndsByItsTimeout(t *testing.T) {
	f := newFixture(t)
	content := f.with(testedFiles, nil)
	content["test"] = config{"enable": true, "timeout": "1s"}
	f.configure(content)
	began := time.Now()
	require.True(t, isFinal(f.fail(f.deployer())))
	assert.Less(t, time.Since(began), pace.Within(2*time.Second))
	assert.Equal(t, "Failed", f.recorded().Tests.Hooks[0].Phase)
}

func TestC25AnInterruptEndsATest(t *testing.T) {
	f := newFixture(t)
	content := f.with(testedFiles, nil)
	content["test"] = config{"enable": true}
	f.configure(content)
	began := time.Now()
	f.crash(http.MethodGet, "/pods") // when it watches the Pod
	assert.Less(t, time.Since(began), pace.Within(2*time.Second))
}

func TestTheLogOfAHookShowsNoValue(t *testing.T) {
	f := newFixture(t)
	f.cluster = f.running(corev1.PodFailed, "word is correct-horse, default battery-staple, user:pass "+base64.StdEncoding.EncodeToString([]byte("user:correct-horse"))+"\n")
	content := f.with(map[string]string{"templates/hook.yaml": podHook("migrate", "pre-install"), "values.yaml": "neutral: battery-staple\n"}, nil)
	content["values"] = config{"word": "correct-horse"}
	f.configure(content)
	err := f.fail(f.deployer())
	require.ErrorContains(t, err, "last log lines of hook migrate: word is ***, default ***, user:pass ")
	assert.NotContains(t, err.Error(), "Y29ycmVjdC1ob3JzZ")
	assert.NotContains(t, err.Error(), "pjb3JyZWN0LWhvcnNl")
}

func TestC25TheLogOfAHookThatFailsIsPartOfTheError(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"kept":    {"templates/hook.yaml": podHook("migrate", "pre-install")},
		"deleted": {"templates/hook.yaml": strings.Replace(podHook("migrate", "pre-install"), "pre-install}", "pre-install, helm.sh/hook-delete-policy: hook-failed}", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.cluster = f.running(corev1.PodFailed, "the schema is locked\n")
			f.configure(f.with(files, nil))
			require.ErrorContains(t, f.fail(f.deployer()), "last log lines of hook migrate: the schema is locked")
			assert.Equal(t, engine.StatusFailed, f.release().Status)
		})
	}
}
