// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

// soon is how long a correction may take.
const soon = 3 * time.Second

const driftTemplates = `apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  v: {{ .Values.v }}
---
apiVersion: v1
kind: Secret
metadata:
  name: s
stringData:
  password: top-secret
`

// drifting starts a deployer and an item in one of the two modes of the helm deployer.
func drifting(t *testing.T, isRelease bool, detection config) *fixture {
	t.Helper()
	f := newFixture(t)
	f.serve()
	f.deployDrifting(isRelease, detection)
	return f
}

// deployDrifting creates an item in one of the two modes and waits for its first job.
func (f *fixture) deployDrifting(isRelease bool, detection config) {
	f.Helper()
	content := config{"chart": raw(archive(f, "1.0.0", map[string]string{"templates/all.yaml": driftTemplates})), "values": config{"v": "one"}, "helmDeployment": isRelease}
	if detection != nil {
		content["driftDetection"] = detection
	}
	f.createItem(content, testTimeout)
	f.request()
	require.Equal(f, v1alpha1.PhaseSucceeded, f.finish().Phase)
}

func (f *fixture) meddle(object client.Object, patch string) {
	f.Helper()
	require.NoError(f, f.platform.Client().Patch(f.ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("meddler")))
}

func (f *fixture) deployed(object client.Object, name string) client.Object {
	object.SetNamespace(f.namespace)
	object.SetName(name)
	return object
}

func (f *fixture) awaitDrifted(status metav1.ConditionStatus, contains string) *metav1.Condition {
	f.Helper()
	var shown *metav1.Condition
	require.NoError(f, f.platform.Await(f.ctx, f.item, func() bool {
		shown = apimeta.FindStatusCondition(f.item.Status.Conditions, v1alpha1.DriftedCondition)
		return shown == nil && status == "" || shown != nil && shown.Status == status && strings.Contains(shown.Message, contains)
	}))
	return shown
}

// modes are the two modes of the helm deployer.
var modes = map[string]bool{"release": true, "template": false}

func TestDriftIsShown(t *testing.T) {
	for name, isRelease := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := drifting(t, isRelease, nil)
			job := f.item.Status.JobID
			f.meddle(f.deployed(&corev1.ConfigMap{}, "a"), `{"data":{"v":"meddled","other":"x"}}`)
			f.meddle(f.deployed(&corev1.Secret{}, "s"), `{"stringData":{"password":"meddled"}}`)

			f.awaitDrifted(metav1.ConditionTrue, "Not as deployed: ConfigMap "+f.namespace+"/a /data/v, Secret "+f.namespace+"/s /data/password")

			assert.Equal(t, job, f.item.Status.JobID)
			f.meddle(f.deployed(&corev1.ConfigMap{}, "a"), `{"data":{"v":"one"}}`)
			missing := "Not as deployed: Secret " + f.namespace + "/s is deleted"
			if isRelease {
				f.loseRelease()
				missing += ", Secret " + f.namespace + "/sh.helm.release.v1.hello-world.v1 is deleted"
			}
			require.NoError(t, f.platform.Client().Delete(f.ctx, f.deployed(&corev1.Secret{}, "s")))
			f.awaitDrifted(metav1.ConditionTrue, missing)
		})
	}
}

func TestDriftIsCorrected(t *testing.T) {
	for name, isRelease := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := drifting(t, isRelease, config{"mode": "enabled"})
			job := f.item.Status.JobID
			changed := &corev1.ConfigMap{}
			f.meddle(f.deployed(changed, "a"), `{"data":{"v":"meddled","other":"x"}}`)
			since := time.Now()
			require.NoError(t, f.platform.Await(f.ctx, changed, func() bool { return changed.Data["v"] == "one" }))
			assert.Less(t, time.Since(since), pace.Within(soon))
			assert.Equal(t, "x", changed.Data["other"])

			require.NoError(t, f.platform.Client().Delete(f.ctx, f.deployed(&corev1.Secret{}, "s")))
			since = time.Now()
			made := &corev1.Secret{}
			require.NoError(t, f.platform.Await(f.ctx, f.deployed(made, "s"), func() bool { return string(made.Data["password"]) == "top-secret" }))
			assert.Less(t, time.Since(since), pace.Within(soon))

			f.awaitDrifted(metav1.ConditionFalse, "is deleted")
			assert.Equal(t, job, f.item.Status.JobID)
			if isRelease {
				assert.Equal(t, 1, f.release().Revision)
				assert.Equal(t, "Helm", made.Labels["app.kubernetes.io/managed-by"])
				assert.Equal(t, "hello-world", made.Annotations["meta.helm.sh/release-name"])
			}

			f.edit(func() { f.configure(f.nextDrifting(isRelease)) })
			f.request()
			require.Equal(t, v1alpha1.PhaseSucceeded, f.finish().Phase)
			assert.Equal(t, "two", f.configMap("a")["v"])
			f.meddle(f.deployed(&corev1.ConfigMap{}, "a"), `{"data":{"v":"meddled"}}`)
			next := &corev1.Secret{}
			f.meddle(f.deployed(next, "t"), `{"stringData":{"password":"meddled"}}`)
			require.NoError(t, f.platform.Await(f.ctx, next, func() bool { return string(next.Data["password"]) == "top-secret" }))
			f.awaitDrifted(metav1.ConditionFalse, "/t")
			assert.Equal(t, "meddled", f.configMap("a")["v"], "what is ignored stays")
			assert.Error(t, f.get("s", &corev1.Secret{}), "what left the chart is not missed")
		})
	}
}

// nextDrifting is the next version of what deployDrifting creates: with another Secret and value, and a field whose drift is ignored.
func (f *fixture) nextDrifting(isRelease bool) config {
	return config{
		"chart":  raw(archive(f, "1.0.1", map[string]string{"templates/all.yaml": strings.Replace(driftTemplates, "name: s", "name: t", 1)})),
		"values": config{"v": "two"}, "helmDeployment": isRelease,
		"driftDetection": config{"mode": "enabled", "ignore": []any{config{"paths": []string{"/data/v"}, "target": config{"kind": "ConfigMap"}}}},
	}
}

// TestAnElementThatHelmLosesIsDrift has two ports of one number, which Helm's merge takes for one.
func TestAnElementThatHelmLosesIsDrift(t *testing.T) {
	service := func(more string) map[string]string {
		return map[string]string{"templates/all.yaml": `{apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {ports: [{name: tcp, port: 53}` + more + `]}}`}
	}
	for mode, want := range map[string]int{"warn": 1, "enabled": 2} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.serve()
			content := config{"chart": raw(archive(f, "1.0.0", service(""))), "driftDetection": config{"mode": mode}}
			f.createItem(content, testTimeout)
			f.request()
			require.Equal(t, v1alpha1.PhaseSucceeded, f.finish().Phase)

			content["chart"] = raw(archive(f, "1.1.0", service(", {name: udp, port: 53, protocol: UDP}")))
			f.edit(func() { f.configure(content) })
			live := &corev1.Service{}
			require.NoError(t, f.get("dns", live))
			require.Eventually(t, func() bool { return time.Since(live.CreationTimestamp.Time) > 2*time.Second }, time.Minute, 50*time.Millisecond,
				"two writes in one second look like those of somebody else")
			f.request()
			require.Equal(t, v1alpha1.PhaseSucceeded, f.finish().Phase)

			if mode == "warn" {
				f.awaitDrifted(metav1.ConditionTrue, "Service "+f.namespace+"/dns /spec/ports/")
			}
			require.NoError(t, f.platform.Await(f.ctx, f.deployed(live, "dns"), func() bool { return len(live.Spec.Ports) == want }))
		})
	}
}

// writers returns in whose name the deployer wrote objects of the namespace of the test on its target since a time.
func (f *fixture) writers(since time.Time, resources ...string) map[string]bool {
	f.Helper()
	requests, err := f.platform.Requests(f.ctx, since)
	require.NoError(f, err)
	names := map[string]bool{}
	for _, request := range requests {
		if request.Namespace == f.namespace && request.Writes() && slices.Contains(resources, request.Resource) &&
			request.Code < 300 && !strings.HasPrefix(request.User, "system:serviceaccount:kube-system") && request.UserAgent == "flux-landscaper" {
			names[request.Impersonated] = true
		}
	}
	return names
}

// TestAReleaseIsKeptRolledBackAndCorrectedAsTheServiceAccount breaks an upgrade, so that it is rolled back.
func TestAReleaseIsKeptRolledBackAndCorrectedAsTheServiceAccount(t *testing.T) {
	f := newFixture(t)
	f.serve()
	account := "system:serviceaccount:" + f.namespace + ":strong"
	require.NoError(t, f.platform.Client().Create(f.ctx, &rbacv1.RoleBinding{
		ObjectMeta: f.meta("strong"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: f.namespace, Name: "strong"}},
	}))
	content := func(value, more string) config {
		return config{
			"chart":  raw(archive(t, "1.0.0", map[string]string{"templates/all.yaml": driftTemplates + more})),
			"values": config{"v": value}, "driftDetection": config{"mode": "enabled"},
			"helmDeploymentConfig": config{"upgrade": config{"atomic": true, "timeout": "10s"}},
		}
	}
	since := time.Now()
	f.createItem(content("one", ""), 30*time.Second)
	f.edit(func() { f.item.Spec.ServiceAccountName = "strong" })
	f.request()
	require.Equal(t, v1alpha1.PhaseSucceeded, f.finish().Phase)

	f.meddle(f.deployed(&corev1.ConfigMap{}, "a"), `{"data":{"v":"meddled"}}`)
	f.awaitDrifted(metav1.ConditionFalse, "Corrected")

	f.configure(content("two", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not-A-Name}\n"))
	broken := f.item.Spec.Configuration
	f.edit(func() { f.item.Spec.Configuration = broken })
	f.request()
	require.Equal(t, v1alpha1.PhaseFailed, f.finish().Phase)
	assert.Equal(t, "one", f.configMap("a")["v"], "it is rolled back")

	assert.Equal(t, map[string]bool{account: true}, f.writers(since, "secrets", "configmaps"))
	var owned []string
	secrets := &corev1.SecretList{}
	require.NoError(t, f.platform.Client().List(f.ctx, secrets, client.InNamespace(f.namespace), client.MatchingLabels{"owner": "helm"}))
	for i := range secrets.Items {
		owned = append(owned, secrets.Items[i].Labels["status"])
	}
	assert.Contains(t, owned, "deployed")
}

// edit changes the spec of the item.
func (f *fixture) edit(change func()) {
	f.Helper()
	require.NoError(f, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := f.platform.Client().Get(f.ctx, client.ObjectKeyFromObject(f.item), f.item); err != nil {
			return err
		}
		change()
		return f.platform.Client().Update(f.ctx, f.item)
	}))
}
