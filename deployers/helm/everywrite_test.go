// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// mortal is a cluster at which the process dies after so many writes: the last one is carried out, its answer and all that follows are not.
func (f *fixture) mortal(writes int, die func()) *target.Cluster {
	f.Helper()
	copied := *f.cluster
	copied.Config = rest.CopyConfig(f.cluster.Config)
	isDead := false
	copied.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if isDead {
				return nil, context.Canceled
			}
			response, err := next.RoundTrip(r)
			if r.Method == http.MethodGet || r.URL.Query().Get("dryRun") != "" || strings.Contains(r.URL.Path, "selfsubject") {
				return response, err
			}
			if writes--; writes > 0 || err != nil {
				return response, err
			}
			isDead = true
			_ = response.Body.Close()
			die()
			return nil, context.Canceled
		})
	})
	var err error
	copied.Client, err = client.New(copied.Config, client.Options{Mapper: f.cluster.Mapper})
	require.NoError(f, err)
	copied.Dynamic, err = dynamic.NewForConfig(copied.Config)
	require.NoError(f, err)
	return &copied
}

// diesAfter runs the job until the process has sent so many writes to the target. It returns false where the job has fewer.
func (f *fixture) diesAfter(writes int) bool {
	f.Helper()
	f.plan(f.deployer())
	whole, cluster, recorded := f.ctx, f.cluster, f.item.Status.ProviderStatus
	ctx, cancel := context.WithCancel(whole)
	defer cancel()
	f.ctx, f.cluster = ctx, f.mortal(writes, cancel)
	_, _ = f.ensure(f.deployer())
	hasDied := ctx.Err() != nil
	f.ctx, f.cluster, f.memory = whole, cluster, map[string]any{}
	if hasDied {
		f.item.Status.ProviderStatus = cmp.Or(f.ahead, recorded)
	}
	return hasDied
}

// finally runs the job to its end, and returns how it failed, nil for a success.
func (f *fixture) finally() error {
	f.Helper()
	d := f.deployer()
	for range 5 {
		outcome, err := f.ensure(d)
		if outcome.Done || isFinal(err) {
			return err
		}
	}
	require.Fail(f, "the job does not end")
	return nil
}

// bare is a chart without a release, whose ConfigMap has a text.
func (f *fixture) bare(text string, settings config) config {
	files := map[string]string{"templates/cm.yaml": strings.Replace(configMapTemplate, "\ndata:", "\nimmutable: {{ .Values.immutable }}\ndata:", 1)}
	content := config{
		"chart": raw(archive(f, "1.0.0", files)), "helmDeployment": false, "values": config{"testData": text, "immutable": settings["onImmutable"] != nil},
	}
	maps.Copy(content, settings)
	return content
}

// deaths are jobs that make several writes: how they begin, and what has to be in the end, wherever the process dies.
var deaths = map[string]struct {
	begin func(t *testing.T) *fixture
	check func(f *fixture, end error)
}{
	"failed upgrade that is rolled back": {
		func(t *testing.T) *fixture {
			return begun(t, config{"upgrade": config{"remediation": config{"retries": 0, "remediateLastFailure": true}}})
		},
		func(f *fixture, end error) {
			require.ErrorContains(f, end, "given up after 1 failed attempts to upgrade, rolled back as revision 3")
			f.isRolledBack(3)
			assert.Equal(f, 1, f.recorded().UpgradeFailures)
		},
	},
	"failed install that is uninstalled": {
		func(t *testing.T) *fixture {
			f := newFixture(t)
			f.configure(f.with(badFiles, config{"install": config{"remediation": config{"retries": 0, "remediateLastFailure": true}}}))
			return f
		},
		func(f *fixture, end error) {
			require.ErrorContains(f, end, "given up after 1 failed attempts to install, uninstalled")
			assert.Nil(f, f.release())
			assert.True(f, apierrors.IsNotFound(f.get("hello-world", &corev1.ConfigMap{})))
		},
	},
	"new object by apply": {
		func(t *testing.T) *fixture {
			f := newFixture(t)
			f.configure(f.bare("new", config{"updateStrategy": "apply"}))
			return f
		},
		func(f *fixture, end error) {
			require.NoError(f, end)
			object := &corev1.ConfigMap{}
			require.NoError(f, f.get("hello-world", object))
			assert.Equal(f, "new", object.Data["testData"])
			require.Len(f, object.ManagedFields, 1)
			assert.Equal(f, metav1.ManagedFieldsOperationApply, object.ManagedFields[0].Operation)
		},
	},
	"object that is made anew": {
		func(t *testing.T) *fixture {
			f := newFixture(t)
			f.configure(f.bare("old", config{"onImmutable": "Recreate"}))
			f.succeed(f.deployer())
			f.configure(f.bare("new", config{"onImmutable": "Recreate"}))
			f.newJob()
			return f
		},
		func(f *fixture, end error) {
			require.NoError(f, end)
			assert.Equal(f, "new", f.configMap("hello-world")["testData"])
		},
	},
}

// TestDeathAfterEachWrite lets the process die after each write of a job to the target, and another one go on.
func TestDeathAfterEachWrite(t *testing.T) {
	for name, death := range deaths {
		t.Run(name, func(t *testing.T) {
			for writes := 1; ; writes++ {
				f := death.begin(t)
				hasDied := f.diesAfter(writes)
				death.check(f, f.finally())
				require.False(t, t.Failed(), "it died after write %d", writes)
				if !hasDied {
					require.Greater(t, writes, 2, "the job has writes")
					return
				}
			}
		})
	}
}
