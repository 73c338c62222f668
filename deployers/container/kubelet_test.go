// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/container/layout"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
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

// processes runs the Pods of a namespace as processes of this machine: it does what a scheduler and a kubelet do that matters here. Volumes are
// folders, paths in environment variables lead there, and the token of the wait container is a real one, with the rights of its Role alone.
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
	now := int64(0)
	err := k.clients.CoreV1().Pods(pod.Namespace).Delete(context.Background(), pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		assert.NoError(k.t, err)
	}
}

// podRun is one Pod as processes.
type podRun struct {
	*processes
	pod    *corev1.Pod
	root   string
	status corev1.PodStatus
}

func (k *processes) run(ctx context.Context, pod *corev1.Pod) error {
	r := &podRun{processes: k, pod: pod, root: filepath.Join(k.dir, string(pod.UID))}
	main := &pod.Spec.Containers[0]
	if main.Image == nowhereImage {
		r.status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient cpu."}}}
		return r.write(ctx)
	}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: testNode}}
	if err := k.clients.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := r.mountAll(ctx); err != nil {
		return err
	}
	r.status = corev1.PodStatus{Phase: corev1.PodPending}
	code, log := r.exec(ctx, &pod.Spec.InitContainers[0])
	r.status.InitContainerStatuses = []corev1.ContainerStatus{exited(&pod.Spec.InitContainers[0], code, log)}
	if code != 0 {
		r.status.Phase = corev1.PodFailed
		return r.write(ctx)
	}
	if main.Image == brokenImage || main.Image == refusedImage {
		problem := "no such host"
		if main.Image == refusedImage {
			problem = "denied: " + r.login(ctx)
		}
		r.status.ContainerStatuses = []corev1.ContainerStatus{{Name: main.Name, Image: main.Image, State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "failed to resolve reference " + main.Image + ": " + problem}}}}
		if err := r.write(ctx); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	return r.runContainers(ctx, main, &pod.Spec.Containers[1])
}

// login returns what the kubelet has for registries, as one of them may repeat it.
func (r *podRun) login(ctx context.Context) string {
	secret, err := r.clients.CoreV1().Secrets(r.pod.Namespace).Get(ctx, r.pod.Spec.ImagePullSecrets[0].Name, metav1.GetOptions{})
	assert.NoError(r.t, err)
	var config struct {
		Auths map[string]struct{ Username, Password string }
	}
	assert.NoError(r.t, json.Unmarshal(secret.Data[corev1.DockerConfigJsonKey], &config))
	said := ""
	for host, login := range config.Auths {
		basic := base64.StdEncoding.EncodeToString([]byte(login.Username + ":" + login.Password))
		said += fmt.Sprintf("%s refuses %s with password %s: Authorization: Basic %s;", host, login.Username, login.Password, basic)
	}
	return said
}

func (r *podRun) runContainers(ctx context.Context, main, wait *corev1.Container) error {
	running := func(c *corev1.Container) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}
	}
	r.status.Phase, r.status.ContainerStatuses = corev1.PodRunning, []corev1.ContainerStatus{running(main), running(wait)}
	if err := r.write(ctx); err != nil {
		return err
	}
	type end struct {
		code int32
		log  string
	}
	waited := make(chan end, 1)
	go func() {
		code, log := r.exec(ctx, wait)
		waited <- end{code, log}
	}()
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-ctx.Done():
		}
	}
	mainCode, log := r.exec(ctx, main)
	if ctx.Err() == nil {
		r.status.ContainerStatuses[0] = exited(main, mainCode, log)
		if err := r.write(ctx); err != nil {
			return err
		}
	}
	ended := <-waited
	if ctx.Err() != nil {
		return nil
	}
	r.status.ContainerStatuses[1] = exited(wait, ended.code, ended.log)
	r.status.Phase = corev1.PodSucceeded
	if mainCode != 0 || ended.code != 0 {
		r.status.Phase = corev1.PodFailed
	}
	return r.write(ctx)
}

func exited(c *corev1.Container, code int32, log string) corev1.ContainerStatus {
	end := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed", FinishedAt: metav1.Now()}
	if code != 0 {
		end.Reason, end.Message = "Error", log
	}
	return corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image + "@sha256:0", State: corev1.ContainerState{Terminated: end}}
}

// write replaces the status of the Pod.
func (r *podRun) write(ctx context.Context) error {
	for ctx.Err() == nil {
		pod, err := r.clients.CoreV1().Pods(r.pod.Namespace).Get(ctx, r.pod.Name, metav1.GetOptions{})
		if err != nil || pod.UID != r.pod.UID {
			return client.IgnoreNotFound(err)
		}
		pod.Status = r.status
		if _, err = r.clients.CoreV1().Pods(r.pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
	}
	return nil
}

// exec runs a container as a process and returns its exit code with the end of its output.
func (r *podRun) exec(ctx context.Context, c *corev1.Container) (int32, string) {
	program, args := r.program, c.Args
	if len(c.Command) > 0 {
		program, args = c.Command[0], append(c.Command[1:len(c.Command):len(c.Command)], c.Args...)
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = r.root
	command.Env = []string{"PATH=" + os.Getenv("PATH")}
	for _, variable := range c.Env {
		command.Env = append(command.Env, variable.Name+"="+r.value(c, variable))
	}
	if c.Name == layout.WaitContainer {
		command.Env = append(command.Env, "KUBECONFIG="+r.volume("token")+"/kubeconfig")
	}
	var output bytes.Buffer
	command.Stdout, command.Stderr, command.WaitDelay = &output, &output, time.Second
	err := command.Run()
	log := output.String()
	if len(log) > 2048 {
		log = log[len(log)-2048:]
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, log
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return int32(exit.ExitCode()), log
	}
	return 137, log + err.Error()
}

// value returns the value of a variable, with paths that lead to the folders of the volumes.
func (r *podRun) value(c *corev1.Container, variable corev1.EnvVar) string {
	if from := variable.ValueFrom; from != nil {
		return map[string]string{"metadata.name": r.pod.Name, "metadata.namespace": r.pod.Namespace, "metadata.uid": string(r.pod.UID)}[from.FieldRef.FieldPath]
	}
	if !strings.HasPrefix(variable.Value, layout.Base+"/") {
		return variable.Value
	}
	for _, mounted := range c.VolumeMounts {
		if rest, below := strings.CutPrefix(variable.Value, mounted.MountPath); below {
			return r.volume(mounted.Name) + rest
		}
	}
	return filepath.Join(r.root, "absent", variable.Value)
}

func (r *podRun) volume(name string) string { return filepath.Join(r.root, "volumes", name) }

func (r *podRun) mountAll(ctx context.Context) error {
	for _, volume := range r.pod.Spec.Volumes {
		dir := r.volume(volume.Name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if err := r.mount(ctx, dir, source); err != nil {
				return fmt.Errorf("volume %s: %w", volume.Name, err)
			}
		}
	}
	return nil
}

func (r *podRun) mount(ctx context.Context, dir string, source corev1.VolumeProjection) error {
	switch {
	case source.Secret != nil:
		secret, err := r.clients.CoreV1().Secrets(r.pod.Namespace).Get(ctx, source.Secret.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, item := range source.Secret.Items {
			content, found := secret.Data[item.Key]
			if !found {
				return fmt.Errorf("secret %s has no key %s", secret.Name, item.Key)
			}
			if err := os.WriteFile(filepath.Join(dir, item.Path), content, 0o440); err != nil {
				return err
			}
		}
	case source.ServiceAccountToken != nil:
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: source.ServiceAccountToken.ExpirationSeconds,
			BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: r.pod.Name, UID: r.pod.UID},
		}}
		token, err := r.clients.CoreV1().ServiceAccounts(r.pod.Namespace).CreateToken(ctx, r.pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		config := rest.AnonymousClientConfig(r.p.RestConfig)
		config.BearerToken = token.Status.Token
		kubeconfig, err := platform.KubeconfigFor(config)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "kubeconfig"), kubeconfig, 0o600)
	}
	return nil
}
