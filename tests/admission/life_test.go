// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// traffic offers good and bad objects without a pause until the test says stop, and remembers every answer that is not the webhooks'.
type traffic struct {
	stop   context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	wrong  []string
	served int
}

func (s *site) traffic() *traffic {
	ctx, cancel := context.WithCancel(context.Background())
	load := &traffic{stop: cancel}
	for range 2 {
		load.done.Go(func() {
			for ctx.Err() == nil {
				good, bad := s.try(goodTarget(metav1.NamespaceDefault, "good")), s.try(badTarget(metav1.NamespaceDefault, "bad"))
				load.note(good == nil, message(good))
				load.note(deniedBy(bad, "targets"), "accepted, or refused by another: "+message(bad))
			}
		})
	}
	s.t.Cleanup(func() { cancel(); load.done.Wait() })
	return load
}

func (l *traffic) note(right bool, said string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.served++
	if !right {
		l.wrong = append(l.wrong, time.Now().Format(time.StampMilli)+" "+said)
	}
}

// count is how many answers there have been.
func (l *traffic) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.served
}

// requireNoneLost ends the traffic.
func (l *traffic) requireNoneLost(t *testing.T) {
	t.Helper()
	l.stop()
	l.done.Wait()
	require.Empty(t, l.wrong)
	t.Logf("%d answers, all of them right", l.served)
}

// flows waits until so many more answers have come.
func (l *traffic) flows(t *testing.T, more int) {
	t.Helper()
	goal := l.count() + more
	require.Eventually(t, func() bool { return l.count() >= goal }, patience, 10*time.Millisecond)
}

// awaitServing waits until a replica answers at its own address.
func (r *replica) awaitServing(t *testing.T) {
	t.Helper()
	unverified := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	require.Eventually(t, func() bool {
		answer, err := unverified.Get("https://" + r.address + "/healthz")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return err == nil && answer.StatusCode == http.StatusOK && string(body) == "Ok"
	}, patience, 20*time.Millisecond, "GET /healthz")
}

// certificate is what a replica serves a client that trusts a bundle, in a connection of its own; nil when the client refuses it.
func (r *replica) certificate(bundle []byte) (*x509.Certificate, error) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	connection, err := tls.Dial("tcp", r.address, &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"})
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0], nil
}

func (s *site) bundle() []byte { return s.registered().Webhooks[0].ClientConfig.CABundle }

// TestE2ECertificatesAreRenewed lets two replicas outlive three generations of certificates, under load. A client that connects anew, as an
// API server does after its start, accepts every replica at every moment.
func TestE2ECertificatesAreRenewed(t *testing.T) {
	s := newSite(t)
	replicas := []*replica{s.start("--certificate-lifetime=45s"), s.start("--certificate-lifetime=45s")}
	s.awaitEnforced()
	for _, r := range replicas {
		r.awaitServing(t)
	}
	load := s.traffic()
	served := []map[string]bool{{}, {}}
	bundles := map[string]bool{}
	deadline := time.Now().Add(2 * patience)
	for len(served[0]) < 3 || len(served[1]) < 3 {
		require.True(t, time.Now().Before(deadline), "certificates are renewed: %d and %d", len(served[0]), len(served[1]))
		bundle := s.bundle()
		bundles[string(bundle)] = true
		for i, r := range replicas {
			certificate, err := r.certificate(bundle)
			require.NoError(t, err, "replica %d", i)
			served[i][certificate.SerialNumber.String()] = true
		}
		load.flows(t, 4)
	}
	load.requireNoneLost(t)
	assert.Equal(t, served[0], served[1], "replicas share their certificates")
	assert.GreaterOrEqual(t, len(bundles), 3)
}

func TestReplicasComeAndGo(t *testing.T) {
	s := newSite(t)
	first := s.start()
	s.awaitEnforced()
	load := s.traffic()
	second := s.start()
	second.awaitServing(t)
	load.flows(t, 20)
	require.NoError(t, first.Stop(20*time.Second))
	load.flows(t, 20)
	third := s.start()
	third.awaitServing(t)
	require.NoError(t, second.Stop(20*time.Second))
	load.flows(t, 20)
	load.requireNoneLost(t)
	secret := &corev1.Secret{}
	require.NoError(t, s.Client().Get(t.Context(), client.ObjectKey{Namespace: home, Name: secretName}, secret))
	assert.Len(t, secret.Data, 3, "one generation for all: authority, certificate and key")
}

// TestReplicasStartTogether has them race for the first certificate and the registration.
func TestReplicasStartTogether(t *testing.T) {
	s := newSite(t)
	var replicas []*replica
	for range 4 {
		replicas = append(replicas, s.start())
	}
	s.awaitEnforced()
	for _, r := range replicas {
		r.awaitServing(t)
		_, err := r.certificate(s.bundle())
		assert.NoError(t, err)
	}
}

func TestRestartWritesNothing(t *testing.T) {
	s := newSite(t)
	r := s.start()
	s.awaitEnforced()
	certificate, err := r.certificate(s.bundle())
	require.NoError(t, err)
	restarted := time.Now()
	require.NoError(t, r.Restart())
	r.awaitServing(t)
	after, err := r.certificate(s.bundle())
	require.NoError(t, err)
	assert.Equal(t, certificate.SerialNumber, after.SerialNumber)
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(s.mine(restarted), func(r platform.Request) bool { return r.Verb == "get" && r.Name == configuration })
	}, patience, 50*time.Millisecond, "the process looks at its registration")
	for _, request := range s.mine(restarted) {
		assert.False(t, request.Writes(), "%+v", request)
	}
}

// mine are the requests of the processes since a moment.
func (s *site) mine(since time.Time) []platform.Request {
	s.t.Helper()
	requests, err := s.Requests(context.Background(), since)
	require.NoError(s.t, err)
	return slices.DeleteFunc(requests, func(request platform.Request) bool { return request.User != account })
}

// TestDeletionEndsWithoutServer is the promise of the match conditions: while nobody validates, new objects are refused, and old ones can
// be annotated and deleted.
func TestDeletionEndsWithoutServer(t *testing.T) {
	s := newSite(t)
	r := s.start()
	s.awaitEnforced()
	old := goodTarget(metav1.NamespaceDefault, "old")
	old.SetFinalizers([]string{"example.com/finalizer"})
	require.NoError(t, s.Client().Create(t.Context(), old))
	require.NoError(t, r.Kill9())
	err := s.try(goodTarget(metav1.NamespaceDefault, "new"))
	require.ErrorContains(t, err, "failed calling webhook")
	s.merge(old, `{"metadata":{"annotations":{"a":"b"}}}`)
	require.NoError(t, s.Client().Delete(t.Context(), old))
	s.merge(old, `{"metadata":{"finalizers":null}}`)
	require.NoError(t, s.AwaitGone(t.Context(), old))
}

func TestDisabledKindsAreNotValidated(t *testing.T) {
	s := newSite(t)
	s.start("--disable-webhooks=installation,deployitems")
	s.awaitEnforced()
	var names []string
	for _, webhook := range s.registered().Webhooks {
		names = append(names, webhook.Name)
	}
	assert.ElementsMatch(t, []string{
		"executions.validation.landscaper.gardener.cloud", "targets.validation.landscaper.gardener.cloud",
	}, names)
	assert.NoError(t, s.try(installation(metav1.NamespaceDefault, "bad", fields{"blueprint": fields{}})))
}

// awaitRemoved waits until nothing is registered.
func (s *site) awaitRemoved() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	gone := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: configuration}}
	require.NoError(s.t, s.AwaitGone(ctx, gone))
}

// TestAllDisabledRemovesTheRegistration also while a replica of before still runs, as in the update of a Deployment.
func TestAllDisabledRemovesTheRegistration(t *testing.T) {
	s := newSite(t)
	before := s.start()
	s.awaitEnforced()
	began := time.Now()
	none := s.launch("--disable-webhooks=all")
	s.awaitRemoved()
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(s.mine(began), func(r platform.Request) bool {
			return r.Verb == "get" && r.Name == configuration && r.Code == http.StatusNotFound
		})
	}, patience, 50*time.Millisecond, "the replica notices that its registration is gone")
	require.Eventually(t, func() bool { return s.try(badTarget(metav1.NamespaceDefault, "bad")) == nil }, patience, 20*time.Millisecond)
	assert.False(t, slices.ContainsFunc(s.mine(began), func(r platform.Request) bool { return r.Verb == "create" }), "and leaves it so")
	assert.True(t, before.Running() && none.Running())
	require.NoError(t, none.Stop(20*time.Second))
	require.NoError(t, before.Restart())
	s.awaitEnforced()
}

// bind gives the processes their rights by a binding of another name, and returns it.
func (s *site) bind(name string) *rbacv1.ClusterRoleBinding {
	s.t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "landscaper:webhooks"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: home, Name: "landscaper-webhooks"}},
	}
	require.NoError(s.t, s.Client().Create(s.t.Context(), binding))
	return binding
}

// TestTheRegistrationGoesWithTheRights is what remains of webhooks that are uninstalled: nothing that refuses.
func TestTheRegistrationGoesWithTheRights(t *testing.T) {
	s := newSite(t)
	ofFlux := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "landscaper-webhooks-webhooks"}}
	r := s.start()
	s.awaitEnforced()
	for _, binding := range []*rbacv1.ClusterRoleBinding{ofFlux, nil} {
		if binding == nil {
			binding = s.bind("landscaper:webhooks") // as the chart does
			require.NoError(t, r.Restart())
			s.awaitEnforced()
		}
		require.NoError(t, r.Stop(20*time.Second))
		require.ErrorContains(t, s.try(goodTarget(metav1.NamespaceDefault, "refused")), "failed calling webhook")
		require.NoError(t, s.Client().Delete(t.Context(), binding))
		s.awaitRemoved()
		require.Eventually(t, func() bool { return s.try(goodTarget(metav1.NamespaceDefault, "accepted")) == nil }, patience, 20*time.Millisecond)
	}
}

// TestReplacedRightsKeepTheRegistration is about a binding that somebody deletes and makes again: the registration does not stay away.
func TestReplacedRightsKeepTheRegistration(t *testing.T) {
	s := newSite(t)
	s.start()
	s.awaitEnforced()
	require.NoError(t, s.Client().Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "landscaper-webhooks-webhooks"}}))
	replaced := s.bind("landscaper-webhooks-webhooks")
	require.Eventually(t, func() bool {
		found := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		return s.Client().Get(t.Context(), client.ObjectKey{Name: configuration}, found) == nil &&
			len(found.OwnerReferences) == 1 && found.OwnerReferences[0].UID == replaced.UID
	}, patience, 50*time.Millisecond)
	s.awaitEnforced()
}

func TestLostSecretIsMadeAnew(t *testing.T) {
	s := newSite(t)
	r := s.start()
	s.awaitEnforced()
	before := s.bundle()
	require.NoError(t, s.Client().Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: secretName}}))
	require.Eventually(t, func() bool {
		_, err := r.certificate(s.bundle())
		return err == nil && !bytes.Equal(before, s.bundle())
	}, patience, 20*time.Millisecond)
	s.awaitEnforced()
}

// TestEditedRegistrationIsDeclaredAtStart is about what an older release or a person has left.
func TestEditedRegistrationIsDeclaredAtStart(t *testing.T) {
	s := newSite(t)
	r := s.start()
	s.awaitEnforced()
	edited := s.registered()
	edited.Webhooks = edited.Webhooks[:1]
	edited.Webhooks[0].Rules[0].Operations = []admissionregistrationv1.OperationType{"DELETE"}
	require.NoError(t, s.Client().Update(t.Context(), edited))
	require.NoError(t, r.Restart())
	s.awaitEnforced()
	assert.Len(t, s.registered().Webhooks, 4)
}

// TestRightsSuffice checks that no request of the processes, which run with the rights of flux/webhooks, is forbidden: from the first
// start over a lost Secret to the removal.
func TestRightsSuffice(t *testing.T) {
	s := newSite(t)
	began := time.Now()
	s.start()
	s.awaitEnforced()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: secretName}}
	require.NoError(t, s.Client().Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", []byte(`{"data":null}`))))
	require.NoError(t, s.Await(t.Context(), secret, func() bool { return len(secret.Data) == 3 }))
	s.launch("--disable-webhooks=all")
	s.awaitRemoved()
	requests := s.mine(began)
	require.NotEmpty(t, requests)
	for _, request := range requests {
		assert.NotEqual(t, http.StatusForbidden, request.Code, "%+v", request)
	}
	config, err := s.NewUser(account)
	require.NoError(t, err)
	process, err := client.New(config, client.Options{Scheme: s.Client().Scheme()})
	require.NoError(t, err)
	err = process.Get(t.Context(), client.ObjectKey{Namespace: home, Name: "another"}, &corev1.Secret{})
	assert.True(t, apierrors.IsForbidden(err), "other Secrets are out of reach: %v", err)
}

// TestDeploymentFitsTheProgram checks what the tests do not run: the flags of the Deployment, its ports, and its privileges.
func TestDeploymentFitsTheProgram(t *testing.T) {
	binary, err := binaries.BuildLandscaper(t.Context())
	require.NoError(t, err)
	help, err := exec.CommandContext(t.Context(), binary, "webhooks", "--help").Output()
	require.NoError(t, err)
	pod := deployment(t).Spec.Template.Spec
	container := pod.Containers[0]
	require.Equal(t, "webhooks", container.Args[0])
	for _, arg := range container.Args[1:] {
		name, _, _ := strings.Cut(arg, "=")
		assert.Contains(t, string(help), name+" ")
	}
	assert.Contains(t, container.Args, "--webhook-service=$(RUNTIME_NAMESPACE)/landscaper-webhooks")
	assert.Contains(t, container.Ports, corev1.ContainerPort{Name: "webhooks", ContainerPort: 9443})
	assert.True(t, *pod.SecurityContext.RunAsNonRoot)
	assert.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
	assert.Equal(t, []corev1.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop)
	assert.Equal(t, account, "system:serviceaccount:"+home+":"+pod.ServiceAccountName)
}

// runs is an Installation in a namespace whose blueprint makes deploy items, given as YAML, which the mock deployer carries out.
func runs(namespace, name string, items ...string) *unstructured.Unstructured {
	text := "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n" +
		"deployExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    deployItems:\n"
	for _, item := range items {
		text += "    - {type: landscaper.gardener.cloud/mock, config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, " +
			"kind: ProviderConfiguration}, " + item + "}\n"
	}
	return installation(namespace, name, fields{"blueprint": fields{"inline": fields{"filesystem": fields{"blueprint.yaml": text}}}})
}

// ended waits for the end of the job of an Installation.
func (s *site) ended(object *unstructured.Unstructured) *v1alpha1.Installation {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}}
	require.NoError(s.t, s.Await(ctx, inst, func() bool { return inst.Status.JobID != "" && inst.Status.IsIdle() }))
	return inst
}

// TestProcessesWorkUnderWebhooks deploys and deletes with the webhooks on, and fails where they refuse what a blueprint makes.
func TestProcessesWorkUnderWebhooks(t *testing.T) {
	s := newSite(t)
	s.start()
	s.awaitEnforced()
	s.run("controller")
	s.run("deployer", "mock")
	namespace := s.Namespace(t)
	for phase, object := range map[v1alpha1.Phase]*unstructured.Unstructured{
		v1alpha1.PhaseSucceeded: runs(namespace, "good", "name: a"),
		v1alpha1.PhaseFailed:    runs(namespace, "bad", "name: a, dependsOn: [b]", "name: b, dependsOn: [a]"),
	} {
		object.SetAnnotations(map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile})
		require.NoError(t, s.Client().Create(t.Context(), object))
		inst := s.ended(object)
		assert.Equal(t, phase, inst.Status.Phase, "%+v", inst.Status.LastError)
		if phase == v1alpha1.PhaseFailed {
			assert.Contains(t, inst.Status.LastError.Message, "cycle")
		}
		require.NoError(t, s.Client().Delete(t.Context(), inst))
		require.NoError(t, s.AwaitGone(t.Context(), inst))
	}
}

// TestWorkGoesOnWhenTheServerReturns has a job begin while nobody validates what it makes.
func TestWorkGoesOnWhenTheServerReturns(t *testing.T) {
	s := newSite(t)
	r := s.start()
	s.awaitEnforced()
	s.run("controller")
	s.run("deployer", "mock")
	object := runs(s.Namespace(t), "patient", "name: a")
	require.NoError(t, s.Client().Create(t.Context(), object))
	require.NoError(t, r.Kill9())
	began := time.Now()
	s.merge(object, `{"metadata":{"annotations":{"landscaper.gardener.cloud/operation":"reconcile"}}}`)
	require.Eventually(t, func() bool {
		requests, err := s.Requests(t.Context(), began)
		require.NoError(t, err)
		return slices.ContainsFunc(requests, func(r platform.Request) bool {
			return r.Verb == "create" && r.Resource == "executions.landscaper.gardener.cloud" && r.Code >= http.StatusInternalServerError
		})
	}, patience, 50*time.Millisecond, "the controller tries to make the Execution")
	require.NoError(t, r.Restart())
	assert.Equal(t, v1alpha1.PhaseSucceeded, s.ended(object).Status.Phase)
}
