// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// hostile is the namespace of the tenant that does whatever it may.
type hostile struct {
	*landscape.Scene
	// many is how many objects most acts take.
	many int
	// hasty acts do not wait until they tell; effects are what tells, for later.
	hasty   bool
	effects []func() bool
	// until ends when the act does.
	until context.Context
	acts  sync.WaitGroup
	end   context.CancelFunc
}

func newHostile(t testing.TB, many int) *hostile {
	s := landscape.NewScene(t)
	s.NeverStands()
	h := &hostile{Scene: s, many: many}
	h.until, h.end = context.WithCancel(t.Context())
	t.Cleanup(func() { h.stop() })
	s.Target("cluster")
	return h
}

// stop ends what the act does by itself.
func (h *hostile) stop() {
	h.end()
	h.acts.Wait()
}

// meanwhile does something again and again until the act ends.
func (h *hostile) meanwhile(do func(i int)) {
	h.acts.Go(func() {
		for i := 0; h.until.Err() == nil; i++ {
			do(i)
		}
	})
}

// each does something for many names side by side.
func (h *hostile) each(count int, do func(i int, name string) error) {
	h.T.Helper()
	group := errgroup.Group{}
	group.SetLimit(8)
	for i := range count {
		group.Go(func() error { return do(i, fmt.Sprintf("hostile-%d", i)) })
	}
	require.NoError(h.T, group.Wait())
}

// install creates Installations with a blueprint. The imports are those of cluster, and what parts of the spec say.
func (h *hostile) install(count int, blueprint func(i int, name string) object, parts object) {
	h.T.Helper()
	h.each(count, func(i int, name string) error { return h.create(name, blueprint(i, name), parts) })
}

func (h *hostile) create(name string, blueprint, parts object) error {
	blueprint["imports"] = append([]any{
		object{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"},
	}, imports(parts)...)
	spec := object{
		"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": landscape.Blueprint(blueprint)}}},
		"imports":   object{"targets": []any{object{"name": "cluster", "target": "cluster"}}},
	}
	for key, value := range parts {
		spec[key] = value
	}
	raw, err := json.Marshal(object{"spec": spec})
	if err != nil {
		return err
	}
	inst := h.Installation(name)
	if err := json.Unmarshal(raw, inst); err != nil {
		return err
	}
	inst.ObjectMeta = h.Named(name)
	inst.Annotations = map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile}
	return h.Client().Create(h.Ctx, inst)
}

// imports declares the data imports of a spec for a blueprint.
func imports(parts object) (all []any) {
	given, _ := parts["imports"].(object)
	data, _ := given["data"].([]any)
	for _, one := range data {
		all = append(all, object{"name": one.(object)["name"], "type": "data", "schema": object{}})
	}
	return all
}

// serve runs a server that the Target "trap" names as its cluster, and returns how many requests it has had.
func (h *hostile) serve(handler http.HandlerFunc) *atomic.Int64 {
	h.T.Helper()
	config, requests := h.cluster(handler)
	h.TargetOf("trap", config)
	return requests
}

// listen runs a listener that the Target "trap" names as its cluster; what is accepted is never answered. It returns how many came.
func (h *hostile) listen() *atomic.Int64 {
	h.T.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(h.T, err)
	accepted := &atomic.Int64{}
	h.acts.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			context.AfterFunc(h.until, func() { _ = conn.Close() })
		}
	})
	context.AfterFunc(h.until, func() { _ = listener.Close() })
	h.TargetOf("trap", &rest.Config{Host: "https://" + listener.Addr().String(), TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	return accepted
}

// bites waits until an act has begun to tell.
func (h *hostile) bites(does func() bool) {
	h.T.Helper()
	if h.hasty {
		h.effects = append(h.effects, does)
		return
	}
	require.Eventually(h.T, does, landscape.Patience, landscape.Tick, "the act has no effect")
}

// started reports whether jobs of the hostile tenant have begun.
func (h *hostile) started() bool {
	list := &v1alpha1.InstallationList{}
	require.NoError(h.T, h.Client().List(h.Ctx, list, client.InNamespace(h.Namespace)))
	for i := range list.Items {
		if list.Items[i].Status.JobID != "" {
			return true
		}
	}
	return false
}

// leave ends the act and deletes everything of the hostile tenant; all has to go by itself.
func (h *hostile) leave() {
	h.T.Helper()
	begun := time.Now()
	h.stop()
	h.abandon()
	h.awaitGone(begun)
}

// abandon deletes everything of the hostile tenant.
func (h *hostile) abandon() {
	h.T.Helper()
	for _, kind := range []client.Object{&v1alpha1.Installation{}, &v1alpha1.Execution{}, &v1alpha1.DeployItem{}, &v1alpha1.TargetSync{}} {
		require.NoError(h.T, h.Client().DeleteAllOf(h.Ctx, kind, client.InNamespace(h.Namespace)))
	}
}

// awaitGone waits until nothing of the hostile tenant is left that began to leave at a time.
func (h *hostile) awaitGone(begun time.Time) {
	h.T.Helper()
	var left []string
	gone := func() bool {
		left = h.left()
		return len(left) == 0
	}
	if !assertEventually(gone, landscape.Patience) {
		require.Fail(h.T, "the hostile tenant cannot be removed", "left: %v", left)
	}
	h.T.Logf("after %s nothing is left of the hostile tenant", time.Since(begun).Round(10*time.Millisecond))
}

func assertEventually(condition func() bool, within time.Duration) bool {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(landscape.Tick) {
		if condition() {
			return true
		}
	}
	return condition()
}

// left are the objects of the hostile tenant that controllers have not let go, and the Targets that are not those of its Installations.
func (h *hostile) left() (all []string) {
	for _, list := range []client.ObjectList{
		&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}, &v1alpha1.TargetSyncList{}, &v1alpha1.TargetList{},
	} {
		require.NoError(h.T, h.Client().List(h.Ctx, list, client.InNamespace(h.Namespace)))
		require.NoError(h.T, meta.EachListItem(list, func(found runtime.Object) error {
			one := found.(client.Object)
			if _, isTarget := one.(*v1alpha1.Target); !isTarget || one.GetName() != "cluster" && !strings.HasPrefix(one.GetName(), "trap") {
				all = append(all, fmt.Sprintf("%T %s", one, one.GetName()))
			}
			return nil
		}))
	}
	return all[:min(len(all), 10)]
}
