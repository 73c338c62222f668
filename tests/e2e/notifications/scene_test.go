// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notifications

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// secret is in everything that tests keep in Secrets, and in no notification.
const secret = "correct-horse-battery-staple"

// probe is the name of the object that events are about that tests send to see that an Alert works.
const probe = "probe"

// Addresses of notification-controller, also after a restart.
var (
	eventsAddress    = landscape.FreeAddress()
	receiversAddress = landscape.FreeAddress()
	healthAddress    = landscape.FreeAddress()
)

// controller is notification-controller, which the first test that needs it starts.
var controller struct {
	once    sync.Once
	process *programs.Process
	err     error
}

// notified is a scene beside a running notification-controller, whose Alerts reach a server of the test.
type notified struct {
	*landscape.Scene
	t      *testing.T
	server *httptest.Server
	// probes is how many events the test has sent to see that Alerts work.
	probes int

	mu  sync.Mutex
	got map[string][]eventv1.Event // by the name of the Provider
}

func newNotified(t *testing.T) *notified {
	t.Helper()
	found := platform.NeedProgram(t, binaries.NotificationController)
	sources := platform.NeedProgram(t, binaries.SourceController).CRDDir(binaries.SourceController)
	require.NoError(t, platform.Shared(t).InstallCRDs(t.Context(), sources))
	s := &notified{Scene: landscape.NewScene(t), t: t, got: map[string][]eventv1.Event{}}
	require.NoError(t, s.ApplyYAML(s.Ctx, built(t, found.CRDDir(binaries.NotificationController), "components: [landscaper]\n")))
	controller.once.Do(func() {
		controller.process, controller.err = startController(s.Ctx, s.Cluster, found.Path(binaries.NotificationController))
	})
	require.NoError(t, controller.err)
	s.awaitController()
	s.server = httptest.NewServer(http.HandlerFunc(s.take))
	t.Cleanup(s.server.Close)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of notification-controller:\n%s", controller.process.LogTail(60))
		}
	})
	return s
}

// fluxRights are what Flux itself gives to notification-controller.
var fluxRights = []rbacv1.PolicyRule{
	{APIGroups: []string{notificationv1.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}},
	{APIGroups: []string{""}, Resources: []string{"namespaces", "secrets", "configmaps", "serviceaccounts"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
}

// startController starts notification-controller as its ServiceAccount of Flux, as a landscape of several tenants runs it.
func startController(ctx context.Context, c *platform.Cluster, path string) (*programs.Process, error) {
	// The rights of Flux are for the group of the program, so that tests can also see what our rights alone allow to its ServiceAccount.
	const user, group = "system:serviceaccount:flux-system:notification-controller", "flux-controllers"
	name := metav1.ObjectMeta{Name: "crd-controller"}
	err := c.Apply(ctx, &rbacv1.ClusterRole{ObjectMeta: name, Rules: fluxRights}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	})
	if err != nil {
		return nil, err
	}
	config, err := c.NewUser(user, "system:serviceaccounts", "system:serviceaccounts:flux-system", "system:authenticated", group)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := platform.KubeconfigFor(config)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(filepath.Dir(c.KubeconfigPath), "notification-controller")
	file := filepath.Join(dir, "kubeconfig")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(file, kubeconfig, 0o600)); err != nil {
		return nil, err
	}
	return programs.Start(programs.Command{
		Name: "notification-controller", Path: path, Dir: dir, Env: []string{"KUBECONFIG=" + file, "RUNTIME_NAMESPACE=flux-system"},
		Args: []string{
			"--events-addr=" + eventsAddress, "--receiverAddr=" + receiversAddress, "--health-addr=" + healthAddress, "--metrics-addr=0",
			"--enable-leader-election=false", "--no-cross-namespace-refs=true",
		},
	})
}

// awaitController waits until notification-controller takes events and calls.
func (s *notified) awaitController() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		for _, address := range []string{eventsAddress, receiversAddress} {
			connection, err := net.Dial("tcp", address)
			if err != nil {
				return false
			}
			_ = connection.Close()
		}
		answer, err := http.Get("http://" + healthAddress + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, landscape.Patience, landscape.Tick, "notification-controller does not start")
}

// take takes a notification. No notification holds anything of a Secret.
func (s *notified) take(_ http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	assert.NoError(s.t, err)
	assert.NotContains(s.t, string(raw), secret)
	var event eventv1.Event
	assert.NoError(s.t, json.Unmarshal(raw, &event))
	s.mu.Lock()
	defer s.mu.Unlock()
	provider := strings.Trim(r.URL.Path, "/")
	s.got[provider] = append(s.got[provider], event)
}

// provider makes a Provider that sends to an address, by default to the test.
func (s *notified) provider(name, address string) {
	s.t.Helper()
	if address == "" {
		address = s.server.URL + "/" + name
	}
	require.NoError(s.t, s.Client().Create(s.Ctx, &notificationv1beta3.Provider{ObjectMeta: s.Named(name), Spec: notificationv1beta3.ProviderSpec{
		Type: notificationv1beta3.GenericProvider, Address: address, Timeout: &metav1.Duration{Duration: 10 * time.Second},
	}}))
}

// source is a reference of an Alert to all objects of a kind in its namespace.
func source(kind string) notificationv1.CrossNamespaceObjectReference {
	return notificationv1.CrossNamespaceObjectReference{Kind: kind, Name: "*"}
}

// alert makes an Alert for a Provider of the test of the same name, and waits until it works.
func (s *notified) alert(name string, sources ...notificationv1.CrossNamespaceObjectReference) {
	s.t.Helper()
	s.provider(name, "")
	s.alertTo(name, name, sources...)
	s.awaitAlert(name)
}

func (s *notified) alertTo(name, provider string, sources ...notificationv1.CrossNamespaceObjectReference) {
	s.t.Helper()
	require.NoError(s.t, s.Client().Create(s.Ctx, &notificationv1beta3.Alert{ObjectMeta: s.Named(name), Spec: notificationv1beta3.AlertSpec{
		ProviderRef: meta.LocalObjectReference{Name: provider}, EventSources: append(slices.Clone(sources), source("Bucket")),
	}}))
}

// awaitAlert sends events about a Bucket until one arrives: notification-controller knows of an Alert a moment after the API server does.
func (s *notified) awaitAlert(provider string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		s.probes++
		s.post(eventv1.Event{
			InvolvedObject: corev1.ObjectReference{APIVersion: "source.toolkit.fluxcd.io/v1", Kind: "Bucket", Namespace: s.Namespace, Name: probe},
			Severity:       eventv1.EventSeverityInfo, Message: rand.Text(), Reason: "Probe", Timestamp: metav1.Now(),
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.got[provider]) > 0
	}, landscape.Patience, landscape.Tick, "the Alert does not work")
}

// post sends an event to notification-controller and returns the status of the answer.
func (s *notified) post(event eventv1.Event) int {
	s.t.Helper()
	raw, err := json.Marshal(event)
	require.NoError(s.t, err)
	answer, err := http.Post("http://"+eventsAddress+"/", "application/json", bytes.NewReader(raw))
	require.NoError(s.t, err)
	_ = answer.Body.Close()
	return answer.StatusCode
}

// notifications returns what has come through a Provider about an object.
func (s *notified) notifications(provider, kind, name string) (found []eventv1.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range s.got[provider] {
		if event.InvolvedObject.Kind == kind && event.InvolvedObject.Name == name {
			found = append(found, event)
		}
	}
	return found
}

// all returns what has come through a Provider, without what the test itself has sent.
func (s *notified) all(provider string) (found []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range s.got[provider] {
		if event.InvolvedObject.Name != probe {
			found = append(found, fmt.Sprintf("%s %s/%s %s: %s", event.InvolvedObject.Kind, event.InvolvedObject.Namespace, event.InvolvedObject.Name, event.Reason, event.Message))
		}
	}
	return found
}

// arrived waits until so many notifications about an object have come through a Provider, and returns them.
func (s *notified) arrived(count int, provider, kind, name string) []eventv1.Event {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return len(s.notifications(provider, kind, name)) >= count }, landscape.Patience, landscape.Tick,
		"%s %s: less than %d notifications", kind, name, count)
	found := s.notifications(provider, kind, name)
	require.Len(s.t, found, count, "%s %s", kind, name)
	return found
}
