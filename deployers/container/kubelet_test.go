// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/podruns"
)

const (
	testNode = "process-node"
	// brokenImage cannot be pulled.
	brokenImage = "registry.invalid/broken:1"
	// refusedImage is one whose registry refuses a login and repeats it.
	refusedImage = "registry.invalid/refused:1"
	// nowhereImage is that of Pods that no node takes.
	nowhereImage = "registry.invalid/nowhere:1"
)

// processes runs the Pods of a namespace as processes of this machine.
type processes struct {
	t         *testing.T
	p         *platform.Platform
	clients   kubernetes.Interface
	namespace string
	program   string
	dir       string
	// hold makes the kubelet wait before it starts the user's program, as long as it is open.
	hold chan struct{}
	// ignore makes it leave new Pods alone.
	ignore bool

	mu   sync.Mutex
	seen map[types.UID]context.CancelFunc
	work sync.WaitGroup
}

// runPods starts to run the Pods of a namespace.
func runPods(t *testing.T, p *platform.Platform, namespace string) *processes {
	t.Helper()
	program, err := binaries.BuildLandscaper(t.Context())
	require.NoError(t, err)
	clients, err := kubernetes.NewForConfig(p.RestConfig)
	require.NoError(t, err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: testNode}}
	require.NoError(t, client.IgnoreAlreadyExists(p.Client().Create(t.Context(), node)))
	k := &processes{t: t, p: p, clients: clients, namespace: namespace, program: program, dir: t.TempDir(), seen: map[types.UID]context.CancelFunc{}}
	watcher, err := clients.CoreV1().Pods(namespace).Watch(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	k.work.Go(func() {
		for event := range watcher.ResultChan() {
			if pod, isPod := event.Object.(*corev1.Pod); isPod {
				k.handle(ctx, event.Type, pod)
			}
		}
	})
	t.Cleanup(func() {
		stop()
		watcher.Stop()
		k.work.Wait()
	})
	return k
}

func (k *processes) handle(ctx context.Context, kind watch.EventType, pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	end, known := k.seen[pod.UID]
	switch {
	case kind == watch.Deleted, known && pod.DeletionTimestamp != nil:
		if known {
			end()
		}
	case !known && !k.ignore && pod.DeletionTimestamp == nil:
		running, cancel := context.WithCancel(ctx)
		k.seen[pod.UID] = cancel
		k.work.Go(func() {
			defer cancel()
			if err := k.run(running, pod.DeepCopy()); err != nil && running.Err() == nil {
				assert.NoError(k.t, err, "the test kubelet")
			}
			if running.Err() != nil && ctx.Err() == nil {
				k.remove(pod)
			}
		})
	}
}

// remove takes an ended Pod away, as a kubelet does.
func (k *processes) remove(pod *corev1.Pod) {
	assert.NoError(k.t, (&podruns.Run{Pod: pod, Clients: k.clients}).Remove(context.Background()))
}

// kubeconfig returns one for the platform with a token.
func (k *processes) kubeconfig(token string) ([]byte, error) {
	config := rest.AnonymousClientConfig(k.p.RestConfig)
	config.BearerToken = token
	return platform.KubeconfigFor(config)
}

func (k *processes) run(ctx context.Context, pod *corev1.Pod) error {
	r := &podruns.Run{Pod: pod, Clients: k.clients, Program: k.program, Dir: filepath.Join(k.dir, string(pod.UID)), Kubeconfig: k.kubeconfig}
	main := &pod.Spec.Containers[0]
	if main.Image == nowhereImage {
		r.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient cpu."}}}
		return r.Write(ctx)
	}
	if err := r.Bind(ctx, testNode); err != nil {
		return client.IgnoreNotFound(err)
	}
	if goOn, err := r.Init(ctx); err != nil || !goOn {
		return err
	}
	if main.Image == brokenImage || main.Image == refusedImage {
		problem := "no such host"
		if main.Image == refusedImage {
			problem = "denied: " + k.login(ctx, pod)
		}
		r.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: main.Name, Image: main.Image, State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "failed to resolve reference " + main.Image + ": " + problem}}}}
		if err := r.Write(ctx); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	return r.Containers(ctx, k.hold)
}

// login returns what the kubelet has for registries, as one of them may repeat it.
func (k *processes) login(ctx context.Context, pod *corev1.Pod) string {
	secret, err := k.clients.CoreV1().Secrets(pod.Namespace).Get(ctx, pod.Spec.ImagePullSecrets[0].Name, metav1.GetOptions{})
	assert.NoError(k.t, err)
	var config struct {
		Auths map[string]struct{ Username, Password string }
	}
	assert.NoError(k.t, json.Unmarshal(secret.Data[corev1.DockerConfigJsonKey], &config))
	said := ""
	for host, login := range config.Auths {
		basic := base64.StdEncoding.EncodeToString([]byte(login.Username + ":" + login.Password))
		said += fmt.Sprintf("%s refuses %s with password %s: Authorization: Basic %s;", host, login.Username, login.Password, basic)
	}
	return said
}
