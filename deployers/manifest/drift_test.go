// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

// soon is how long a correction may take.
const soon = 3 * time.Second

// drifting is a ConfigMap and a Secret with drift detection in a mode.
func drifting(mode string) string {
	text := header + `manifests:
- {manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS}, data: {v: one, w: two}}}
- {manifest: {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: NS}, stringData: {password: top-secret}}}
`
	if mode != "" {
		text += "driftDetection: " + mode + "\n"
	}
	return text
}

func drifted(item *v1alpha1.DeployItem) *metav1.Condition {
	return meta.FindStatusCondition(item.Status.Conditions, v1alpha1.DriftedCondition)
}

// meddle changes an object as another manager.
func (s *served) meddle(object client.Object, patch string) {
	s.t.Helper()
	merge := client.RawPatch(types.MergePatchType, []byte(patch))
	require.NoError(s.t, s.p.Client().Patch(s.t.Context(), object, merge, client.FieldOwner("meddler")))
}

func (s *served) secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
}

// awaitDrifted waits until an item shows a status of the condition Drifted; an empty one means that it shows none.
func (s *served) awaitDrifted(item *v1alpha1.DeployItem, status metav1.ConditionStatus) *metav1.Condition {
	s.t.Helper()
	s.await(item, func() bool {
		shown := drifted(item)
		return shown == nil && status == "" || shown != nil && shown.Status == status
	})
	return drifted(item)
}

// targetRequests returns what the deployer sent to the target since a time, without watches.
func (s *served) targetRequests(since time.Time) []string {
	s.t.Helper()
	all, err := s.p.Requests(s.t.Context(), since)
	require.NoError(s.t, err)
	var sent []string
	for _, request := range all {
		if request.User == s.namespace && request.Verb != "watch" {
			sent = append(sent, request.Verb+" "+request.Path)
		}
	}
	return sent
}

func TestDriftIsShownByDefault(t *testing.T) {
	t.Parallel()
	s := serve(t)
	item := s.create(drifting(""))
	s.finish(item)
	job := item.Status.JobStatus.DeepCopy()

	s.meddle(s.configMap("a"), `{"data":{"v":"meddled"}}`)
	s.meddle(s.secret("s"), `{"stringData":{"password":"meddled"}}`)

	want := "Not as deployed: ConfigMap " + s.namespace + "/a /data/v, Secret " + s.namespace + "/s /data/password"
	s.await(item, func() bool { return drifted(item) != nil && drifted(item).Message == want })
	shown := drifted(item)
	assert.Equal(t, metav1.ConditionTrue, shown.Status)
	assert.Equal(t, "DriftDetected", shown.Reason)
	assert.Equal(t, job.JobID, item.Status.JobID)
	assert.Equal(t, job.Phase, item.Status.Phase)
	s.standsStill(item, s.namespace)

	s.meddle(s.configMap("a"), `{"data":{"v":"one"}}`)
	s.meddle(s.secret("s"), `{"stringData":{"password":"top-secret"}}`)
	s.awaitDrifted(item, "")

	s.meddle(s.configMap("a"), `{"data":{"v":"meddled"}}`)
	s.awaitDrifted(item, metav1.ConditionTrue)
	s.begin(item)
	s.finish(item)
	s.awaitDrifted(item, "") // a job ends drift
	s.standsStill(item, s.namespace)
}

func TestDriftIsCorrectedSoon(t *testing.T) {
	t.Parallel()
	s := serve(t)
	item := s.create(drifting("{mode: enabled}"))
	s.finish(item)
	job := item.Status.JobStatus.DeepCopy()

	changed := s.configMap("a")
	s.meddle(changed, `{"data":{"v":"meddled","other":"x"},"metadata":{"labels":{"other":"x"}}}`)
	since := time.Now()
	s.await(changed, func() bool { return changed.Data["v"] == "one" })
	assert.Less(t, time.Since(since), pace.Within(soon))
	assert.Equal(t, "x", changed.Data["other"], "fields of others stay")
	assert.Equal(t, "x", changed.Labels["other"])

	require.NoError(t, s.p.Client().Delete(t.Context(), s.secret("s")))
	since = time.Now()
	made := s.secret("s")
	s.await(made, func() bool { return string(made.Data["password"]) == "top-secret" })
	assert.Less(t, time.Since(since), pace.Within(soon))

	s.await(item, func() bool { return drifted(item) != nil && strings.Contains(drifted(item).Message, "is deleted") })
	assert.Equal(t, metav1.ConditionFalse, drifted(item).Status)
	assert.Equal(t, "DriftCorrected", drifted(item).Reason)
	assert.Equal(t, job.JobID, item.Status.JobID)
	assert.Equal(t, job.JobIDFinished, item.Status.JobIDFinished)
	assert.Equal(t, job.Phase, item.Status.Phase)
	s.standsStill(item, s.namespace)

	base := item.DeepCopy()
	metav1.SetMetaDataAnnotation(&item.ObjectMeta, v1alpha1.IgnoreAnnotation, "true")
	require.NoError(t, s.p.Client().Patch(t.Context(), item, client.MergeFrom(base)))
	s.standsStill(item, "none") // the deployer learns it
	s.meddle(changed, `{"data":{"v":"meddled"}}`)
	s.standsStill(item, s.namespace)
	require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(changed), changed))
	assert.Equal(t, "meddled", changed.Data["v"], "a suspended item is not corrected")
}

func TestWhatIsNoDriftCostsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	item := s.create(drifting("{mode: enabled}"))
	s.finish(item)
	disabled := item.DeepCopy()
	disabled.ObjectMeta = metav1.ObjectMeta{Namespace: s.namespace, Name: "disabled"}
	disabled.Spec.Configuration = s.config(strings.ReplaceAll(strings.ReplaceAll(drifting("{mode: disabled}"), "name: a", "name: b"), "name: s", "name: t"))
	require.NoError(t, s.p.Client().Create(t.Context(), disabled))
	s.begin(disabled)
	s.finish(disabled)
	s.standsStill(item, "none") // whatever the jobs have to tell is told
	since := time.Now()

	s.meddle(s.configMap("b"), `{"data":{"v":"meddled"}}`)
	require.NoError(t, s.p.Client().Delete(t.Context(), s.secret("t")))
	s.standsStill(item, "none")

	assert.Empty(t, s.targetRequests(since), "disabled")
	require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(disabled), disabled))
	assert.Nil(t, drifted(disabled))
}

func TestIgnoredDriftStays(t *testing.T) {
	t.Parallel()
	s := serve(t)
	item := s.create(drifting(`{mode: enabled, ignore: [{paths: [/data/v], target: {kind: ConfigMap, name: "a.*"}}]}`))
	s.finish(item)

	changed := s.configMap("a")
	s.meddle(changed, `{"data":{"v":"meddled","w":"meddled"}}`)

	s.await(changed, func() bool { return changed.Data["w"] == "two" })
	assert.Equal(t, "meddled", changed.Data["v"])
	shown := s.awaitDrifted(item, metav1.ConditionFalse)
	assert.Contains(t, shown.Message, "/data/w")
	assert.NotContains(t, shown.Message, "/data/v")
	s.standsStill(item, s.namespace)
}

func TestAFightIsPaced(t *testing.T) {
	t.Parallel()
	s := serve(t)
	item := s.create(drifting("{mode: enabled}"))
	s.finish(item)
	ctx, stop := context.WithTimeout(t.Context(), 12*time.Second)
	defer stop()
	rounds := 0
	for changed := s.configMap("a"); ctx.Err() == nil && rounds < 50; rounds++ {
		s.meddle(changed, `{"data":{"v":"meddled"}}`)
		if s.p.Await(ctx, changed, func() bool { return changed.Data["v"] == "one" }) != nil {
			break
		}
	}
	assert.LessOrEqual(t, rounds, 3)
	shown := s.awaitDrifted(item, metav1.ConditionTrue)
	assert.Equal(t, "DriftFought", shown.Reason)
	assert.Contains(t, shown.Message, "ConfigMap "+s.namespace+"/a")
	assert.Contains(t, shown.Message, `by "meddler"`)
}

func TestARestartFindsWhatHappenedMeanwhile(t *testing.T) {
	t.Parallel()
	s := serve(t)
	item := s.create(drifting(""))
	s.finish(item)
	s.stop()
	s.meddle(s.configMap("a"), `{"data":{"v":"meddled"}}`)
	require.NoError(t, s.p.Client().Delete(t.Context(), s.secret("s")))

	s.start()
	s.await(item, func() bool { return drifted(item) != nil && strings.Contains(drifted(item).Message, "is deleted") })
	s.await(item, func() bool { return strings.Contains(drifted(item).Message, "/data/v") })

	s.stop()
	s.standsStill(item, s.namespace)
	since := time.Now()
	s.start()
	s.standsStill(item, s.namespace)
	assert.LessOrEqual(t, len(s.targetRequests(since)), 30, "%v", s.targetRequests(since))

	s.stop()
	s.meddle(s.configMap("a"), `{"data":{"v":"one"}}`)
	s.start()
	s.await(item, func() bool { return drifted(item) != nil && !strings.Contains(drifted(item).Message, "/data/v") })
}

func TestARestartWithoutDriftListsEachKindOnce(t *testing.T) {
	t.Parallel()
	s := serve(t)
	item := s.create(drifting(""))
	s.finish(item)
	s.standsStill(item, s.namespace)
	s.stop()
	since := time.Now()
	s.start()
	s.standsStill(item, s.namespace)

	var lists []string
	for _, request := range s.targetRequests(since) {
		if strings.HasPrefix(request, "list ") {
			lists = append(lists, request)
			continue
		}
		isDiscovery := strings.Contains(request, "/api") && !strings.Contains(request, "namespaces/"+s.namespace)
		assert.True(t, isDiscovery, "%s", request)
	}
	assert.Len(t, lists, 2, "%v", lists)
}

// namespaceRights let a user do everything with ConfigMaps and Secrets of one namespace, NS, but watch Secrets.
const namespaceRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: TARGET, namespace: TARGET}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: ["*"]}
- {apiGroups: [""], resources: [secrets], verbs: [get, create, update, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: TARGET, namespace: TARGET}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: TARGET}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: TARGET}]`

func TestRightsToWatch(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.raise(namespaceRights, s.namespace)
	s.useUser(s.namespace)
	item := s.create(drifting("{mode: enabled}"))
	s.finish(item)

	shown := s.awaitDrifted(item, metav1.ConditionUnknown)
	assert.Equal(t, "Objects of kind Secret may not be listed and watched with the credentials of the Target", shown.Message)
	assert.Equal(t, "WatchFailed", shown.Reason)

	changed := s.configMap("a")
	s.meddle(changed, `{"data":{"v":"meddled"}}`)
	s.await(changed, func() bool { return changed.Data["v"] == "one" })
	since := time.Now()
	s.standsStill(item, s.namespace)
	assert.LessOrEqual(t, len(s.targetRequests(since)), 6, "no loop: %v", s.targetRequests(since))
}

func TestTwoTenantsOnOneTarget(t *testing.T) {
	t.Parallel()
	one, two := serve(t), serve(t)
	var items []*v1alpha1.DeployItem
	for _, s := range []*served{one, two} {
		item := s.create(drifting("{mode: enabled}"))
		s.finish(item)
		items = append(items, item)
	}
	for _, s := range []*served{one, two} {
		changed := s.configMap("a")
		s.meddle(changed, `{"data":{"v":"meddled"}}`)
		s.await(changed, func() bool { return changed.Data["v"] == "one" })
	}
	for i, s := range []*served{one, two} {
		shown := s.awaitDrifted(items[i], metav1.ConditionFalse)
		assert.Equal(t, "Corrected: ConfigMap "+s.namespace+"/a /data/v", shown.Message)
	}
}

func TestTheStatusIsNoDrift(t *testing.T) {
	t.Parallel()
	s := serve(t)
	item := s.create(header + `manifests:
- manifest: {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: NS}, spec: {replicas: 0, serviceName: a, selector: {matchLabels: {a: b}},
    template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: example.com/c}]}}}}
`)
	s.finish(item)
	s.standsStill(item, s.namespace)
	since := time.Now()
	object := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a"}}
	merge := client.RawPatch(types.MergePatchType, []byte(`{"status":{"currentRevision":"x"}}`))
	require.NoError(t, s.p.Client().Status().Patch(t.Context(), object, merge, client.FieldOwner("meddler")))
	s.standsStill(item, s.namespace)
	assert.Empty(t, s.targetRequests(since))
}
