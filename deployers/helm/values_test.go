// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// keepSecret creates or updates a Secret of the item's namespace.
func (f *fixture) keepSecret(name string, content map[string]string) {
	f.Helper()
	secret := &corev1.Secret{ObjectMeta: f.meta(name), StringData: content}
	if f.platform.Client().Create(f.ctx, secret) != nil {
		require.NoError(f, f.platform.Client().Update(f.ctx, secret))
	}
}

const settingsTemplate = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  all: {{ omit .Values "global" | toJson | quote }}
`

func (f *fixture) valuesFrom(references ...any) config {
	return config{
		"chart":      raw(archive(f, "1.0.0", map[string]string{"templates/cm.yaml": settingsTemplate})),
		"valuesFrom": references, "values": config{"inline": "wins"},
	}
}

func TestValuesFromSecretsAndConfigMapsInTheirOrder(t *testing.T) {
	for _, isRelease := range []bool{true, false} {
		f := newFixture(t)
		f.keepSecret("one", map[string]string{"values.yaml": "a: {b: 1}\ninline: loses\n", "password": "hunter22"})
		require.NoError(t, f.platform.Client().Create(f.ctx, &corev1.ConfigMap{
			ObjectMeta: f.meta("two"), Data: map[string]string{"more": "a: {c: 2}\nd: {b: 3}\n"},
		}))
		content := f.valuesFrom(
			config{"kind": "Secret", "name": "one"}, config{"kind": "ConfigMap", "name": "two", "valuesKey": "more"},
			config{"kind": "Secret", "name": "one", "valuesKey": "password", "targetPath": "db.users[0].password"},
			config{"kind": "Secret", "name": "none", "optional": true},
			config{"kind": "Secret", "name": "one", "valuesKey": "none", "optional": true, "targetPath": "e"},
		)
		content["helmDeployment"] = isRelease
		f.configure(content)
		outcome := f.succeed(f.deployer())
		assert.JSONEq(t, `{"a": {"b": 1, "c": 2}, "d": {"b": 3}, "db": {"users": [{"password": "hunter22"}]}, "inline": "wins"}`,
			f.configMap("hello-world")["all"])
		assert.NotContains(t, string(outcome.ProviderStatus.Raw), "hunter22")
	}
}

func TestChangedValuesOfASecretCountAtTheNextJob(t *testing.T) {
	f := newFixture(t)
	f.keepSecret("one", map[string]string{"values.yaml": "a: old\n"})
	f.configure(f.valuesFrom(config{"kind": "Secret", "name": "one"}))
	f.succeed(f.deployer())
	f.newJob()
	f.succeed(f.deployer())
	require.Equal(t, 1, f.release().Revision)

	f.keepSecret("one", map[string]string{"values.yaml": "a: new\n"})
	f.newJob()
	f.succeed(f.deployer())
	assert.Equal(t, 2, f.release().Revision)
	assert.JSONEq(t, `{"a": "new", "inline": "wins"}`, f.configMap("hello-world")["all"])
}

func TestValuesOfAnotherNamespaceAreOutOfReach(t *testing.T) {
	f := newFixture(t)
	other := *f
	other.namespace = f.platform.Namespace(t)
	other.keepSecret("one", map[string]string{"values.yaml": "a: theirs\n"})
	f.configure(f.valuesFrom(config{"kind": "Secret", "name": "one", "namespace": other.namespace}))
	require.ErrorContains(t, f.fail(f.deployer()), "of Secret "+f.namespace+"/one does not exist")
	f.configure(f.valuesFrom(config{"kind": "Secret", "name": "../" + other.namespace + "/one"}))
	require.ErrorContains(t, f.fail(f.deployer()), "cannot be the name of an object")
}

func TestErrorsShowNoValuesOfSecrets(t *testing.T) {
	f := newFixture(t)
	f.keepSecret("one", map[string]string{"values.yaml": "plain: hunter22\nnumber: 987654\n"})
	content := f.valuesFrom(config{"kind": "Secret", "name": "one"})
	content["chart"] = raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": `{{ fail (printf "%s %v" .Values.plain .Values.number) }}`}))
	f.configure(content)
	err := f.fail(f.deployer())
	require.ErrorContains(t, err, "***")
	assert.NotContains(t, err.Error(), "hunter22")
	assert.NotContains(t, err.Error(), "987654")
}

// countingReader counts what is read of one name.
type countingReader struct {
	client.Reader
	name  string
	count *atomic.Int32
}

func (c countingReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := c.Reader.Get(ctx, key, into, options...)
	if key.Name == c.name {
		c.count.Add(1)
	}
	return err
}

func TestAJobWaitsForMissingValuesAndWritesNothingMeanwhile(t *testing.T) {
	f := newFixture(t)
	var asked atomic.Int32
	f.options.Live = countingReader{Reader: f.platform.Client(), name: "late", count: &asked}
	f.serve()
	f.createItem(f.valuesFrom(config{"kind": "Secret", "name": "late"}), testTimeout)
	f.request()
	read := func() string {
		item := &v1alpha1.DeployItem{}
		require.NoError(t, f.platform.Client().Get(f.ctx, client.ObjectKeyFromObject(f.item), item))
		return item.ResourceVersion
	}
	triesMore := func(n int32) {
		from := asked.Load()
		require.Eventually(t, func() bool { return asked.Load() >= from+n }, testTimeout, 20*time.Millisecond)
	}
	triesMore(2)
	before := read()
	triesMore(2)
	assert.Equal(t, before, read())

	f.keepSecret("late", map[string]string{"values.yaml": "a: here\n"})
	require.Equal(t, v1alpha1.PhaseSucceeded, f.finish().Phase)
	assert.JSONEq(t, `{"a": "here", "inline": "wins"}`, f.configMap("hello-world")["all"])
}

// TestAnUpgradeThatDeletesAllObjectsSaysSo has a chart that renders none with other values.
func TestAnUpgradeThatDeletesAllObjectsSaysSo(t *testing.T) {
	f := newFixture(t)
	chart := raw(archive(t, "1.0.0", map[string]string{"values.yaml": "enabled: true\n", "templates/cm.yaml": "{{ if .Values.enabled }}\n" + configMapTemplate + "\n{{ end }}\n"}))
	f.configure(config{"chart": chart, "values": config{"testData": "x"}})
	f.succeed(f.deployer())
	f.next(config{"chart": chart, "values": config{"testData": "x", "enabled": false}})
	item, warned := f.contractItem(), ""
	item.Warn = func(reason, message string) {
		assert.Equal(t, 1, f.release().Revision, "it is said before the upgrade")
		warned += reason + ": " + message
	}
	f.plan(f.deployer())

	outcome, err := f.deployer().Ensure(f.ctx, item)

	require.NoError(t, err)
	require.True(t, outcome.Done)
	assert.Contains(t, warned, "DeletesAll: the job deletes all objects that the item has deployed, because its chart renders none with these values: ")
}

// TestAnUpgradeThatRemovesAllValuesSaysSo tells a release that had values from one that had none, and what is explicit from what is absent.
func TestAnUpgradeThatRemovesAllValuesSaysSo(t *testing.T) {
	had := config{"testData": "hello"}
	for name, one := range map[string]struct {
		before, after any
		from          []any
		warns         bool
	}{
		"absent": {had, nil, nil, true}, "explicitly empty": {had, config{}, nil, false}, "others": {had, config{"testData": "x"}, nil, false},
		"had none": {nil, nil, nil, false}, "no source": {had, nil, []any{config{"kind": "ConfigMap", "name": "none", "optional": true}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			files := map[string]string{"values.yaml": "testData: default\n", "templates/cm.yaml": configMapTemplate}
			chart := func(version string) config { return raw(archive(t, version, files)) }
			f.configure(config{"chart": chart("1.0.0"), "values": one.before})
			f.succeed(f.deployer())
			f.next(config{"chart": chart("1.1.0"), "values": one.after, "valuesFrom": one.from})
			item, warned := f.contractItem(), ""
			item.Warn = func(reason, message string) {
				assert.Equal(t, 1, f.release().Revision, "it is said before the upgrade")
				warned = reason + ": " + message
			}
			f.plan(f.deployer())
			outcome, err := f.deployer().Ensure(f.ctx, item)
			require.NoError(t, err)
			require.True(t, outcome.Done)
			if one.warns {
				assert.Contains(t, warned, "ValuesRemoved: helm release "+f.namespace+"/hello-world had values until revision 1")
			} else {
				assert.Empty(t, warned)
			}
		})
	}
}
