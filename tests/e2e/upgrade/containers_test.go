// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// A door is what containers ask with name, version and operation of their unit before they end. It answers when it is open for them, and knows how often each has asked.
type door struct {
	server *httptest.Server

	mu     sync.Mutex
	asked  map[string]int
	closed map[string]chan struct{}
}

func newDoor(t *testing.T) *door {
	t.Helper()
	d := &door{asked: map[string]int{}, closed: map[string]chan struct{}{}}
	d.server = httptest.NewServer(d)
	t.Cleanup(func() {
		d.server.CloseClientConnections()
		d.server.Close()
	})
	return d
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who := strings.Trim(path.Clean(r.URL.Path), "/")
	d.mu.Lock()
	d.asked[who]++
	closed := d.closed[who]
	d.mu.Unlock()
	if strings.HasPrefix(who, "fails-") && !strings.HasSuffix(who, "DELETE") {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	if closed != nil {
		select {
		case <-closed:
		case <-r.Context().Done():
		}
	}
}

func (d *door) close(who string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed[who] = make(chan struct{})
}

func (d *door) open(who string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.closed[who])
	delete(d.closed, who)
}

func (d *door) count(who string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[who]
}

func (d *door) await(t *testing.T, who string) {
	t.Helper()
	require.Eventually(t, func() bool { return d.count(who) > 0 }, landscape.Patience, 50*time.Millisecond, "%s has not asked", who)
}

// Containers of all states live through an upgrade and back: each runs once, also where its Pod runs at that moment. So do releases that are kept in ConfigMaps.
func TestContainersAndReleasesInConfigMapsAreUpgradedAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, platform.Options{Node: true})
	before, now := bothReleases(w.Ctx, t)
	w.target, w.door = "containers", newDoor(t)
	require.NoError(t, w.Apply(w.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.target}}))
	shell, err := platform.ShellImage()
	require.NoError(t, err)
	w.image, err = w.Registry.PushImage(w.Ctx, "shell", "1", shell)
	require.NoError(t, err)
	sidecars := map[string]string{}
	for tag, r := range map[string]release{"before": before, "now": now} {
		image, err := containerimage.Landscaper(r.program, v1.Platform{}, containerimage.Release{})
		require.NoError(t, err)
		sidecars[r.name], err = w.Registry.PushImage(w.Ctx, "landscaper", tag, image)
		require.NoError(t, err)
	}
	w.flags = func(r release, name string) []string {
		switch name {
		case rig.Controller:
			return nil
		case rig.HelmDeployer:
			return []string{"--helm-driver=configmap"}
		}
		return []string{"--host-namespace=" + w.target, "--sidecar-image=" + sidecars[r.name]}
	}
	programs := []string{rig.Controller, rig.ContainerDeployer, rig.HelmDeployer}
	w.run(before, programs...)
	w.Target("cluster")
	w.number("count", 7)
	release := unit{name: "release", item: "helm"}
	rests, running := unit{name: "container", item: "container"}, unit{name: "runs-container", item: "container"}
	fails, goes := unit{name: "fails-container", item: "container"}, unit{name: "goes-container", item: "container"}
	// asks begins a job of the running unit, which waits.
	asks := func(version string) {
		w.door.close(running.name + "/" + version + "/RECONCILE")
		w.put(running, version)
		w.door.await(t, running.name+"/"+version+"/RECONCILE")
	}
	// ends lets that job end, which has to be one with one run of the container.
	ends := func(version string) {
		job := w.running(running.name).Status.JobID
		w.door.open(running.name + "/" + version + "/RECONCILE")
		assert.Equal(t, job, w.Succeeded(running.name).Status.JobIDFinished)
		assert.Equal(t, 1, w.door.count(running.name+"/"+version+"/RECONCILE"), "runs in version %s", version)
	}
	for _, u := range []unit{rests, fails, goes, release} {
		w.put(u, "v1")
	}
	w.Succeeded(release.name)
	asks("v1")
	w.Succeeded(rests.name)
	w.Failed(fails.name)
	w.Succeeded(goes.name)
	w.door.close(goes.name + "/v1/DELETE")
	w.Delete(w.Installation(goes.name))
	w.door.await(t, goes.name+"/v1/DELETE")

	w.replace(now, programs)

	ends("v1")
	w.door.open(goes.name + "/v1/DELETE")
	w.Gone(w.Installation(goes.name))
	w.put(rests, "v2")
	w.Succeeded(rests.name)
	w.update([]unit{release}, "v2")
	asks("v2")

	w.replace(before, programs)

	ends("v2")
	w.put(rests, "v3")
	w.Succeeded(rests.name)
	w.update([]unit{release}, "v3")
	asks("v3")

	w.replace(now, programs)

	ends("v3")
	records := &corev1.ConfigMapList{}
	require.NoError(t, w.Client().List(w.Ctx, records, client.InNamespace(deployed), client.MatchingLabels{"owner": "helm", "name": release.name}))
	assert.Len(t, records.Items, 3, "a revision for each version, in ConfigMaps")
	for _, u := range []unit{rests, running, fails, release} {
		w.Delete(w.Installation(u.name))
		w.Gone(w.Installation(u.name))
	}
	for who, times := range w.door.asked {
		assert.Equal(t, 1, times, who)
	}
	require.NoError(t, w.Client().List(w.Ctx, records, client.InNamespace(deployed)))
	assert.Len(t, records.Items, 1, "that of the authority of the cluster")
	require.Eventually(t, func() bool { return len(w.objects()) == 0 }, landscape.Patience, 100*time.Millisecond, "%v", w.objects())
}
