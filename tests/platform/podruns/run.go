// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package podruns runs Pods that end, as processes of this machine: it does what a scheduler and a kubelet do that matters to the container deployer.
// Volumes are folders, paths in environment variables lead there, and the token of a container is a real one, with the rights of the Pod's
// ServiceAccount alone.
package podruns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// Run is one Pod.
type Run struct {
	// Pod as it was created.
	Pod *corev1.Pod
	// Clients reach the cluster of the Pod.
	Clients kubernetes.Interface
	// Program runs in containers that name no command, whatever their image.
	Program string
	// Dir is a folder for this Pod alone.
	Dir string
	// Network is where the processes run; nil is the network of this process.
	Network *programs.Network
	// Kubeconfig returns a kubeconfig with a token of the Pod's ServiceAccount.
	Kubeconfig func(token string) ([]byte, error)

	// Status is what Write makes the status of the Pod.
	Status corev1.PodStatus

	token atomic.Pointer[string]
}

// Token is the one that the Pod has, empty before it has one.
func (r *Run) Token() string {
	if token := r.token.Load(); token != nil {
		return *token
	}
	return ""
}

// Bind says that the Pod is on a node.
func (r *Run) Bind(ctx context.Context, node string) error {
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: r.Pod.Name, UID: r.Pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	return r.Clients.CoreV1().Pods(r.Pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
}

// Init mounts the volumes and runs the init containers, one after the other. It reports whether all have ended well; otherwise the Pod has failed.
func (r *Run) Init(ctx context.Context) (bool, error) {
	if err := r.mountAll(ctx); err != nil {
		return false, err
	}
	r.Status = corev1.PodStatus{Phase: corev1.PodPending}
	for i := range r.Pod.Spec.InitContainers {
		container := &r.Pod.Spec.InitContainers[i]
		code, log := r.exec(ctx, container)
		r.Status.InitContainerStatuses = append(r.Status.InitContainerStatuses, exited(container, code, log))
		if code != 0 {
			r.Status.Phase = corev1.PodFailed
			return false, r.Write(ctx)
		}
	}
	return true, nil
}

// Containers runs all containers beside each other, until the last has ended or ctx does. The first one begins when hold is closed; nil holds nothing.
func (r *Run) Containers(ctx context.Context, hold <-chan struct{}) error {
	r.Status.Phase, r.Status.ContainerStatuses = corev1.PodRunning, nil
	for i := range r.Pod.Spec.Containers {
		container := &r.Pod.Spec.Containers[i]
		r.Status.ContainerStatuses = append(r.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		})
	}
	if err := r.Write(ctx); err != nil {
		return err
	}
	type end struct {
		at   int
		code int32
		log  string
	}
	ends := make(chan end)
	for i := range r.Pod.Spec.Containers {
		go func() {
			if i == 0 && hold != nil {
				select {
				case <-hold:
				case <-ctx.Done():
				}
			}
			code, log := r.exec(ctx, &r.Pod.Spec.Containers[i])
			ends <- end{i, code, log}
		}()
	}
	phase := corev1.PodSucceeded
	for left := len(r.Pod.Spec.Containers); left > 0; left-- {
		ended := <-ends
		r.Status.ContainerStatuses[ended.at] = exited(&r.Pod.Spec.Containers[ended.at], ended.code, ended.log)
		if ended.code != 0 {
			phase = corev1.PodFailed
		}
		if left == 1 {
			r.Status.Phase = phase
		}
		if ctx.Err() != nil {
			continue
		}
		if err := r.Write(ctx); err != nil {
			return err
		}
	}
	return nil
}

func exited(c *corev1.Container, code int32, log string) corev1.ContainerStatus {
	end := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed", FinishedAt: metav1.Now()}
	if code != 0 {
		end.Reason, end.Message = "Error", log
	}
	return corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image + "@sha256:0", State: corev1.ContainerState{Terminated: end}}
}

// Write replaces the status of the Pod.
func (r *Run) Write(ctx context.Context) error {
	for ctx.Err() == nil {
		pod, err := r.Clients.CoreV1().Pods(r.Pod.Namespace).Get(ctx, r.Pod.Name, metav1.GetOptions{})
		if err != nil || pod.UID != r.Pod.UID {
			return client.IgnoreNotFound(err)
		}
		pod.Status = r.Status
		if _, err = r.Clients.CoreV1().Pods(r.Pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
	}
	return nil
}

// Remove takes the Pod away when it has ended, as a kubelet does.
func (r *Run) Remove(ctx context.Context) error {
	now := int64(0)
	err := r.Clients.CoreV1().Pods(r.Pod.Namespace).Delete(ctx, r.Pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &r.Pod.UID},
	})
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

// lastWords is how much of its output a container that fails leaves, in bytes.
const lastWords = 2048

// exec runs a container as a process and returns its exit code with the end of its output.
func (r *Run) exec(ctx context.Context, c *corev1.Container) (int32, string) {
	program, args := r.Program, c.Args
	if len(c.Command) > 0 {
		program, args = c.Command[0], append(c.Command[1:len(c.Command):len(c.Command)], c.Args...)
	}
	var env []string
	for _, variable := range c.Env {
		env = append(env, variable.Name+"="+r.value(c, variable))
	}
	for _, mounted := range c.VolumeMounts {
		if path := filepath.Join(r.volume(mounted.Name), kubeconfigFile); isFile(path) {
			env = append(env, "KUBECONFIG="+path)
		}
	}
	log := filepath.Join(r.Dir, c.Name+".log")
	process, err := programs.Start(programs.Command{Name: c.Name, Path: program, Args: args, Env: env, Dir: r.Dir, Log: log, Network: r.Network})
	if err != nil {
		return 128, err.Error()
	}
	select {
	case <-process.Exited():
	case <-ctx.Done():
		_ = process.Kill9()
	}
	output, _ := os.ReadFile(log)
	said := string(output[max(0, len(output)-lastWords):])
	var exit *exec.ExitError
	switch err := process.Err(); {
	case err == nil:
		return 0, said
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return int32(exit.ExitCode()), said
	default:
		return 137, said + err.Error()
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// value returns the value of a variable, with paths that lead to the folders of the volumes.
func (r *Run) value(c *corev1.Container, variable corev1.EnvVar) string {
	if from := variable.ValueFrom; from != nil {
		return map[string]string{"metadata.name": r.Pod.Name, "metadata.namespace": r.Pod.Namespace, "metadata.uid": string(r.Pod.UID)}[from.FieldRef.FieldPath]
	}
	for _, mounted := range c.VolumeMounts {
		if rest, below := strings.CutPrefix(variable.Value, mounted.MountPath); below && (rest == "" || rest[0] == '/') {
			return r.volume(mounted.Name) + rest
		}
	}
	if strings.HasPrefix(variable.Value, "/") {
		return filepath.Join(r.Dir, "absent", variable.Value)
	}
	return variable.Value
}

func (r *Run) volume(name string) string { return filepath.Join(r.Dir, "volumes", name) }

func (r *Run) mountAll(ctx context.Context) error {
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return err
	}
	for _, volume := range r.Pod.Spec.Volumes {
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

// kubeconfigFile is in the folder of a volume with a token.
const kubeconfigFile = "kubeconfig"

func (r *Run) mount(ctx context.Context, dir string, source corev1.VolumeProjection) error {
	switch {
	case source.Secret != nil:
		secret, err := r.Clients.CoreV1().Secrets(r.Pod.Namespace).Get(ctx, source.Secret.Name, metav1.GetOptions{})
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
			BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: r.Pod.Name, UID: r.Pod.UID},
		}}
		issued, err := r.Clients.CoreV1().ServiceAccounts(r.Pod.Namespace).CreateToken(ctx, r.Pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		r.token.Store(&issued.Status.Token)
		kubeconfig, err := r.Kubeconfig(issued.Status.Token)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, kubeconfigFile), kubeconfig, 0o600)
	}
	return nil
}
