// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

const (
	// goneHost does not exist in the DNS of the tests; of troubledHost the DNS says that it cannot tell.
	goneHost     = "gone.example.test"
	troubledHost = "troubled.example.test"
)

// serveNames makes the names of the tests those of this process.
var serveNames = sync.OnceValue(func() error {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go answerNames(server)
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	return nil
})

// answerNames answers each question of RFC 1035 with a response code: 3 (no such name), and 2 (failure) for troubledHost.
func answerNames(server net.PacketConn) {
	packet := make([]byte, 1500)
	for {
		n, from, err := server.ReadFrom(packet)
		if err != nil {
			return
		}
		end := 12 + bytes.IndexByte(packet[12:n], 0) + 5 // name, type and class of the question
		answer := append([]byte{}, packet[:end]...)
		answer[2], answer[3] = 0x81, 0x83
		if bytes.Contains(answer, []byte("troubled")) {
			answer[3] = 0x82
		}
		copy(answer[6:12], make([]byte, 6)) // nothing but the question
		_, _ = server.WriteTo(answer, from)
	}
}

// keeping is a planning deployer whose items are deployed where the test says.
type keeping struct {
	planning
	sites []managedresource.Site
}

func (k keeping) Sites(*v1alpha1.DeployItem) ([]managedresource.Site, bool) { return k.sites, true }

// leaving is a stage whose items cannot be uninstalled.
type leaving struct {
	*stage
	events *record.FakeRecorder
	uid    types.UID
}

var errNoUninstall = errors.New("nothing is uninstalled")

// newLeaving starts a deployer with one ConfigMap at a place that there returns for the UID of the cluster.
func newLeaving(t *testing.T, there func(uid types.UID) managedresource.ClusterReference) *leaving {
	t.Helper()
	require.NoError(t, serveNames())
	identity, err := platformCluster(t).Identity(t.Context())
	require.NoError(t, err)
	deployer := &scripted{remove: func(context.Context, *Item) (Outcome, error) { return Outcome{}, errNoUninstall }}
	l := &leaving{events: record.NewFakeRecorder(100), uid: identity.UID}
	site := managedresource.Site{Cluster: there(identity.UID), Resources: []managedresource.ManagedResourceStatus{
		{Resource: managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "prices"}},
	}}
	l.stage = newStageOf(t, deployer, keeping{planning{scripted: deployer}, []managedresource.Site{site}}, Options{Recorder: l.events})
	return l
}

// leadTo makes the Target "cluster" lead to a host; empty means the platform's own cluster.
func (l *leaving) leadTo(host string) { l.lead("cluster", host) }

// lead makes a Target lead to a host.
func (l *leaving) lead(name, host string) {
	l.t.Helper()
	config := rest.CopyConfig(l.p.RestConfig)
	if host != "" {
		config.Host = "https://" + host
	}
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(l.t, err)
	raw, err := json.Marshal(map[string]string{"kubeconfig": string(kubeconfig)})
	require.NoError(l.t, err)
	object := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
	present := l.client().Get(l.t.Context(), client.ObjectKeyFromObject(object), object) == nil
	object.Spec = v1alpha1.TargetSpec{Type: v1alpha1.KubernetesClusterTargetType, Configuration: &v1alpha1.AnyJSON{RawMessage: raw}}
	if present {
		require.NoError(l.t, l.client().Update(l.t.Context(), object))
		return
	}
	require.NoError(l.t, l.client().Create(l.t.Context(), object))
}

// delete begins the deletion of a new item that has been gone since a moment; zero is not yet.
func (l *leaving) delete(after time.Duration, since time.Time) *v1alpha1.DeployItem {
	l.t.Helper()
	item := l.create("item", named("cluster"), func(item *v1alpha1.DeployItem) {
		if after > 0 {
			item.Spec.OnDelete = &v1alpha1.OnDeleteConfig{TargetGone: &v1alpha1.TargetGone{After: metav1.Duration{Duration: after}}}
		}
	})
	if !since.IsZero() {
		l.change(item, func() { item.Status.TargetGoneSince = &metav1.Time{Time: since} })
	}
	l.remove(item)
	return item
}

func (l *leaving) told(reason string) (found []string) {
	for len(l.events.Events) > 0 {
		if event := <-l.events.Events; strings.Contains(event, reason) {
			found = append(found, event)
		}
	}
	return found
}

// nowhere is a reached cluster without UID and address that any Target may lead to.
func nowhere(types.UID) managedresource.ClusterReference {
	return managedresource.ClusterReference{Target: "cluster"}
}

func another(types.UID) managedresource.ClusterReference {
	return managedresource.ClusterReference{Target: "cluster", UID: "of-before"}
}

func same(uid types.UID) managedresource.ClusterReference {
	return managedresource.ClusterReference{Target: "cluster", UID: uid}
}

func TestADeletionGivesUpAClusterThatIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		there func(types.UID) managedresource.ClusterReference
		host  string
	}{
		"no such name":      {nowhere, goneHost},
		"another in place":  {another, ""},
		"rebuilt elsewhere": {another, "localhost-of-the-platform"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeaving(t, tc.there)
			if tc.host == "localhost-of-the-platform" {
				tc.host = strings.TrimPrefix(l.p.RestConfig.Host, "https://")
			}
			l.leadTo(tc.host)
			item := l.delete(time.Hour, time.Now().Add(-2*time.Hour))
			require.NoError(t, l.p.AwaitGone(l.context(), item))
			told := l.told(reasonTargetGone)
			require.Len(t, told, 1)
			assert.Contains(t, told[0], "1 objects were there: ConfigMap shop/prices")
		})
	}
}

// TestATargetThatStillLeadsToADeadClusterSavesNoItem has what the import of an Installation leaves: a copy of the Target as it was.
func TestATargetThatStillLeadsToADeadClusterSavesNoItem(t *testing.T) {
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, refusing.Close())
	dead := refusing.Addr().String()
	l := newLeaving(t, func(types.UID) managedresource.ClusterReference {
		return managedresource.ClusterReference{Target: "cluster", UID: "of-before", Address: addressOf(t, dead)}
	})
	l.lead("copy", dead)
	l.leadTo("")
	item := l.delete(time.Hour, time.Now().Add(-2*time.Hour))
	require.NoError(t, l.p.AwaitGone(l.context(), item))
	assert.Len(t, l.told(reasonTargetGone), 1)
}

// addressOf returns the address of a cluster at a host.
func addressOf(t *testing.T, host string) string {
	t.Helper()
	config := rest.CopyConfig(platform.Shared(t).RestConfig)
	config.Host = "https://" + host
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(t, err)
	clients, err := target.New(target.Options{})
	require.NoError(t, err)
	cluster, err := clients.OpenKubeconfig("ns", kubeconfig)
	require.NoError(t, err)
	return cluster.Address()
}

func TestADeletionWaitsForAClusterThatIsGone(t *testing.T) {
	l := newLeaving(t, nowhere)
	l.leadTo(goneHost)
	began := time.Now()
	item := l.delete(time.Hour, time.Time{})
	l.underWay(item, func() bool {
		return item.Status.TargetGoneSince != nil && strings.Contains(l.shown(item), "has been gone since")
	})
	assert.WithinDuration(t, began, item.Status.TargetGoneSince.Time, patience)
	assert.Equal(t, v1alpha1.PhaseDeleting, item.Status.Phase)

	_, before := l.deployer.calls()
	version := item.ResourceVersion
	l.touchTarget()
	require.Eventually(t, func() bool { _, erased := l.deployer.calls(); return erased > before }, patience, 10*time.Millisecond)
	other := l.create("other")
	l.trigger(other)
	l.finished(other)
	require.NoError(t, l.client().Get(t.Context(), keyOfItem(item), item))
	assert.Equal(t, version, item.ResourceVersion, "nothing is written while nothing changes")
	assert.Empty(t, l.told(reasonTargetGone))
}

func TestTheClockOfAGoneClusterSurvivesARestart(t *testing.T) {
	l := newLeaving(t, nowhere)
	l.leadTo(goneHost)
	item := l.delete(time.Hour, time.Time{})
	l.underWay(item, func() bool { return item.Status.TargetGoneSince != nil })
	l.stop()
	l.change(item, func() { item.Status.TargetGoneSince = &metav1.Time{Time: time.Now().Add(-time.Hour)} })
	l.start(Options{Recorder: l.events})
	require.NoError(t, l.p.AwaitGone(l.context(), item))
}

func TestAClusterThatIsGoneSinceATimeToComeIsGoneSinceNow(t *testing.T) {
	l := newLeaving(t, nowhere)
	l.leadTo(goneHost)
	began := time.Now()
	item := l.delete(time.Hour, began.Add(1000*time.Hour))
	l.underWay(item, func() bool { return item.Status.TargetGoneSince.Time.Before(began.Add(time.Hour)) })
	assert.WithinDuration(t, began, item.Status.TargetGoneSince.Time, patience)
}

func TestTheClockIsResetWhenTheClusterIsBack(t *testing.T) {
	l := newLeaving(t, same)
	l.leadTo("")
	item := l.delete(time.Hour, time.Now().Add(-2*time.Hour))
	l.underWay(item, func() bool { return item.Status.TargetGoneSince == nil && item.Status.LastError != nil })
	assert.Equal(t, errNoUninstall.Error(), item.Status.LastError.Message)
	assert.Empty(t, l.told(reasonTargetGone))
}

func TestWithoutTargetGoneADeletionFailsAsEver(t *testing.T) {
	l := newLeaving(t, another)
	l.leadTo("")
	item := l.delete(0, time.Now().Add(-1000*time.Hour))
	l.underWay(item, func() bool { return item.Status.LastError != nil })
	assert.Equal(t, errNoUninstall.Error(), item.Status.LastError.Message)
}

// shown is what Ready says.
func (l *leaving) shown(item *v1alpha1.DeployItem) string {
	for _, condition := range item.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Message
		}
	}
	return ""
}

// touchTarget wakes the items of the Target.
func (l *leaving) touchTarget() {
	l.t.Helper()
	object := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "cluster"}}
	patch := fmt.Sprintf(`{"metadata":{"labels":{"touched":"%d"}}}`, time.Now().UnixNano())
	require.NoError(l.t, l.client().Patch(l.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func TestWhichClustersAreGone(t *testing.T) {
	require.NoError(t, serveNames())
	own := platform.Shared(t).RestConfig
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	refused := refusing.Addr().String()
	require.NoError(t, refusing.Close())
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	for name, tc := range map[string]struct {
		host, token string
		there       func(identity target.Identity, address string) managedresource.ClusterReference
		want        presence
	}{
		"same cluster":             {there: asKnown, want: clusterSeen},
		"another UID":              {there: withUID("other"), want: clusterGone},
		"no UID recorded":          {there: withUID(""), want: clusterSeen},
		"credentials are refused":  {token: "wrong", there: withUID("other"), want: clusterSeen},
		"connections are refused":  {host: refused, there: withUID("other"), want: clusterSeen},
		"no answer":                {host: silent.Addr().String(), there: withUID("other"), want: clusterUnknown},
		"no such name":             {host: goneHost, there: asKnown, want: clusterGone},
		"never reached":            {host: goneHost, there: func(target.Identity, string) managedresource.ClusterReference { return nowhere("") }, want: clusterGone},
		"no such name of another":  {host: goneHost, there: withAddress("other"), want: clusterUnknown},
		"nobody knows of the name": {host: troubledHost, there: asKnown, want: clusterUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := rest.CopyConfig(own)
			if tc.host != "" {
				config.Host = "https://" + tc.host
			}
			if tc.token != "" {
				config = rest.AnonymousClientConfig(config)
				config.BearerToken = tc.token
			}
			kubeconfig, err := platform.KubeconfigFor(config)
			require.NoError(t, err)
			clients, err := target.New(target.Options{})
			require.NoError(t, err)
			cluster, err := clients.OpenKubeconfig("ns", kubeconfig)
			require.NoError(t, err)
			known, err := platformCluster(t).Identity(t.Context())
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			if tc.host == silent.Addr().String() {
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
			}
			defer cancel()
			found, _ := askCluster(ctx, cluster, tc.there(known, cluster.Address()))
			assert.Equal(t, tc.want, found)
		})
	}
}

func asKnown(identity target.Identity, address string) managedresource.ClusterReference {
	return managedresource.ClusterReference{Target: "cluster", UID: identity.UID, Address: address}
}

func withUID(uid types.UID) func(target.Identity, string) managedresource.ClusterReference {
	return func(_ target.Identity, address string) managedresource.ClusterReference {
		return managedresource.ClusterReference{Target: "cluster", UID: uid, Address: address}
	}
}

func withAddress(address string) func(target.Identity, string) managedresource.ClusterReference {
	return func(identity target.Identity, _ string) managedresource.ClusterReference {
		return managedresource.ClusterReference{Target: "cluster", UID: identity.UID, Address: address}
	}
}

func TestStatusOfATargetWakesNobody(t *testing.T) {
	s := newStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) { return Outcome{Waiting: "for ever"}, nil }}, Options{})
	item, other := s.create("item", s.withTarget("cluster")), s.create("other", s.withTarget("second"))
	s.trigger(item)
	s.trigger(other)
	calls := func() int { ensured, _ := s.deployer.calls(); return ensured }
	require.Eventually(t, func() bool { return calls() == 2 }, patience, 10*time.Millisecond)
	patch := func(c client.SubResourceWriter, name, content string) {
		object := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
		require.NoError(t, c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(content))))
	}
	patch(s.client().Status(), "cluster", `{"status":{"version":"v1.36.3"}}`)
	second := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "second"}}
	require.NoError(t, s.client().Patch(t.Context(), second, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))))
	require.Eventually(t, func() bool { return calls() >= 3 }, patience, 10*time.Millisecond)
	s.stop()
	assert.Equal(t, 3, calls(), "events of Targets come in order")
}
