// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notifications

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

type object = map[string]any

// blueprintFrom offers a blueprint with one mock item as an ExternalArtifact of revision v1, and returns the reference to it.
func (s *notified) blueprintFrom(name, item string) object {
	s.t.Helper()
	content := landscape.Blueprint(object{"deployExecutions": items(item)})
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	require.NoError(s.t, archive.WriteHeader(&tar.Header{Name: "blueprint.yaml", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))}))
	_, err := archive.Write([]byte(content))
	require.NoError(s.t, err)
	require.NoError(s.t, archive.Close())
	require.NoError(s.t, zipped.Close())
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(packed.Bytes()))
	s.Offer(name, digest, packed.Len(), func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed.Bytes()) })
	return object{"sourceRef": object{"kind": sourcev1.ExternalArtifactKind, "name": name}}
}

// install makes an Installation whose changes start jobs.
func (s *notified) install(name string, labels map[string]string, spec object) {
	s.t.Helper()
	s.Put("Installation", name, object{"spec": spec, "metadata": object{
		"labels": labels, "annotations": object{v1alpha1.ReconcileIfChangedAnnotation: "true"},
	}})
}

// inline is a blueprint of these parts.
func inline(parts object) object {
	return object{"inline": object{"filesystem": object{"blueprint.yaml": landscape.Blueprint(parts)}}}
}

// items are the executions of a blueprint with one item.
func items(item string) []any { return landscape.GoTemplate("deployItems:\n" + item) }

// again asks an object to reconcile.
func (s *notified) again(of client.Object) {
	s.t.Helper()
	s.Annotate(of, meta.ReconcileRequestAnnotation, time.Now().Format(time.RFC3339Nano))
}

func TestAlertsTellTheEndOfEachJob(t *testing.T) {
	t.Parallel()
	s := newNotified(t)
	s.alert("chat", source("Installation"))

	s.install("good", nil, object{"blueprint": s.blueprintFrom("good", landscape.MockItem("one", "export: {a: b}"))})
	good := s.Succeeded("good")
	s.install("bad", nil, object{"blueprint": s.blueprintFrom("bad", landscape.MockItem("one", "phase: Failed"))})
	failure := s.Failed("bad")

	told := s.arrived(1, "chat", "Installation", "good")[0]
	assert.Equal(t, eventv1.EventSeverityInfo, told.Severity)
	assert.Equal(t, meta.ReconciliationSucceededReason, told.Reason)
	assert.Equal(t, map[string]string{"revision": "v1"}, told.Metadata, "notification-controller keeps the token to itself")
	assert.Equal(t, v1alpha1.GroupVersion.String(), told.InvolvedObject.APIVersion)
	told = s.arrived(1, "chat", "Installation", "bad")[0]
	assert.Equal(t, eventv1.EventSeverityError, told.Severity)
	assert.Equal(t, failure.Reason, told.Reason)
	assert.Equal(t, failure.Message, told.Message)
	assert.Equal(t, map[string]string{"revision": "v1"}, told.Metadata)

	s.again(good)
	s.Ran("good", good.Status.JobID, v1alpha1.PhaseSucceeded)
	both := s.arrived(2, "chat", "Installation", "good")
	for _, told := range both {
		assert.Regexp(t, `^Deployed v1: 1 item in [0-9.]+m?s$`, told.Message, "another job of the same revision is told of")
	}
	assert.Len(t, s.all("chat"), 3)
}

// What the test sends here is what notification-controller drops of our events.
func TestNotificationControllerDropsWhatItHasToldOf(t *testing.T) {
	t.Parallel()
	s := newNotified(t)
	event := eventv1.Event{
		InvolvedObject: corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation", Namespace: s.Namespace, Name: "a"},
		Severity:       eventv1.EventSeverityInfo, Message: "fine", Reason: "Fine", Timestamp: metav1.Now(),
		Metadata: map[string]string{v1alpha1.GroupName + "/revision": "v1", v1alpha1.GroupName + "/token": "1"},
	}

	assert.Equal(t, http.StatusAccepted, s.post(event))
	assert.Equal(t, http.StatusTooManyRequests, s.post(event), "the same")
	event.Metadata[v1alpha1.GroupName+"/token"] = "2"
	assert.Equal(t, http.StatusAccepted, s.post(event), "another job")
}

func TestAlertsTellOfEachKind(t *testing.T) {
	t.Parallel()
	s := newNotified(t)
	mine := func(kind string, labels map[string]string) notificationv1.CrossNamespaceObjectReference {
		return notificationv1.CrossNamespaceObjectReference{Kind: kind, Name: "*", MatchLabels: labels}
	}
	team := map[string]string{"team": "shop"}
	s.alert("chat", source("Execution"), mine("DeployItem", map[string]string{v1alpha1.ExecutionManagedByLabel: "bad"}), mine("Target", team), mine("TargetSync", team))

	s.install("bad", nil, object{"blueprint": inline(object{"deployExecutions": items(landscape.MockItem("one", "phase: Failed"))})})
	s.Failed("bad")
	list := &v1alpha1.DeployItemList{}
	require.NoError(t, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace)))
	require.Len(t, list.Items, 1)
	item := list.Items[0].Name
	s.arrived(1, "chat", "Execution", "bad")
	s.arrived(1, "chat", "DeployItem", item)

	bad := s.Installation("bad")
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(bad), bad))
	s.again(bad)
	s.Ran("bad", bad.Status.JobID, v1alpha1.PhaseFailed)
	s.arrived(2, "chat", "Execution", "bad")
	s.arrived(2, "chat", "DeployItem", item)
}

func TestAlertsTellOfTargetsThatComeAndGo(t *testing.T) {
	t.Parallel()
	s := newNotified(t)
	s.alert("chat", source("Target"))
	config, err := s.NewUser(s.Deployer(), landscape.AllRights...)
	require.NoError(t, err)
	access := func(config *rest.Config) string {
		kubeconfig, err := platform.KubeconfigFor(config)
		require.NoError(t, err)
		return string(kubeconfig)
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	well, gone := access(config), access(&rest.Config{Host: closed.URL, BearerToken: secret})
	key := &corev1.Secret{ObjectMeta: s.Named("cluster"), Data: map[string][]byte{"kubeconfig": []byte(well)}}
	require.NoError(t, s.Client().Create(s.Ctx, key))
	s.Put("Target", "cluster", object{"spec": object{
		"type": v1alpha1.KubernetesClusterTargetType, "secretRef": object{"name": "cluster", "key": "kubeconfig"}, "healthCheck": object{"interval": "24h"},
	}})
	target := &v1alpha1.Target{ObjectMeta: s.Named("cluster")}

	for i, content := range []string{well, gone, well, gone} {
		key.Data["kubeconfig"] = []byte(content)
		require.NoError(t, s.Client().Update(s.Ctx, key))
		s.again(target)
		told := s.arrived(i+1, "chat", "Target", "cluster")[i]
		want := eventv1.EventSeverityInfo
		if content == gone {
			want = eventv1.EventSeverityError
		}
		assert.Equal(t, want, told.Severity)
	}
}

func TestAlertsTellOfEachSynchronisation(t *testing.T) {
	t.Parallel()
	s := newNotified(t)
	s.alert("chat", source("TargetSync"))
	kubeconfig := s.DeployerAccess()
	require.NoError(t, s.Client().Create(s.Ctx, &corev1.Secret{ObjectMeta: s.Named("access"), Data: map[string][]byte{"kubeconfig": []byte(kubeconfig)}}))
	other := s.Landscape.Namespace(t)
	s.Put("TargetSync", "clusters", object{"spec": object{
		"sourceNamespace": other, "secretRef": object{"name": "access", "key": "kubeconfig"}, "secretNameExpression": "^cluster-",
	}})
	sync := &v1alpha1.TargetSync{ObjectMeta: s.Named("clusters")}
	require.NoError(t, s.AwaitReady(s.Ctx, sync))

	for i := range 2 {
		name := fmt.Sprintf("cluster-%d", i)
		require.NoError(t, s.Client().Create(s.Ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: name}, Data: map[string][]byte{"kubeconfig": []byte(kubeconfig)},
		}))
		s.again(sync)
		s.arrived(i+1, "chat", "TargetSync", "clusters")
	}
}

func TestAlertsHoldNothingOfSecrets(t *testing.T) {
	t.Parallel()
	s := newNotified(t)
	s.alert("chat", source("Installation"), source("Execution"), source("DeployItem"))
	require.NoError(t, s.Client().Create(s.Ctx, &corev1.Secret{ObjectMeta: s.Named("login"), Data: map[string][]byte{"password": []byte(secret)}}))
	imports := func(schema object, item string) object {
		return object{
			"imports": object{"data": []any{object{"name": "password", "secretRef": object{"name": "login", "key": "password"}}}},
			"blueprint": inline(object{
				"imports": []any{object{"name": "password", "type": "data", "schema": schema}}, "deployExecutions": items(item),
			}),
		}
	}
	s.install("schema", nil, imports(object{"type": "integer"}, landscape.MockItem("one", "phase: Failed")))
	s.install("template", nil, imports(object{}, landscape.MockItem("one", `phase: {{ fail .imports.password }}`)))

	for _, name := range []string{"schema", "template"} {
		s.Failed(name)
		told := s.arrived(1, "chat", "Installation", name)[0]
		assert.Equal(t, eventv1.EventSeverityError, told.Severity)
		assert.NotContains(t, told.Message, secret)
	}
}

func TestAlertsKeepTenantsApart(t *testing.T) {
	t.Parallel()
	s, stranger := newNotified(t), newNotified(t)
	s.alert("chat", source("Installation"))
	stranger.alert("own", source("Installation"))
	foreign := source("Installation")
	foreign.Namespace = s.Namespace
	stranger.alert("foreign", foreign)

	s.install("good", nil, object{"blueprint": s.blueprintFrom("good", landscape.MockItem("one", "export: {a: b}"))})
	s.Succeeded("good")
	s.arrived(1, "chat", "Installation", "good")
	refused := func() bool {
		list := &corev1.EventList{}
		require.NoError(t, s.Client().List(s.Ctx, list, client.InNamespace(stranger.Namespace), client.MatchingFields{"involvedObject.name": "foreign"}))
		return len(list.Items) > 0
	}
	require.Eventually(t, refused, landscape.Patience, landscape.Tick, "notification-controller says that it refuses the reference")

	assert.Empty(t, stranger.all("own"), "an Alert that names its own namespace")
	assert.Empty(t, stranger.all("foreign"), "references to other namespaces are not allowed")
}
