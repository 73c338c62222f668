// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// podProcess is a Pod that runs as a process.
type podProcess struct {
	node  *ProcessNode
	pod   *corev1.Pod
	once  sync.Once
	ended chan struct{}

	mu      sync.Mutex
	process *programs.Process
	failure error
}

func (p *podProcess) end() { p.once.Do(func() { close(p.ended) }) }

func (p *podProcess) current() *programs.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process
}

func (p *podProcess) folder(names ...string) string {
	return filepath.Join(append([]string{p.node.dir, string(p.pod.UID)}, names...)...)
}

// run keeps the process running until the Pod is deleted, then takes the Pod away.
func (p *podProcess) run() {
	defer p.stop()
	health, restarts := "", int32(0)
	for first := true; p.wait(first); first = false {
		if err := p.writeFiles(); err != nil {
			continue // a Secret that is not there yet
		}
		process := p.current()
		switch {
		case process == nil:
			health = p.start()
		case !process.Running():
			restarts++
			if health == "" || process.Restart() != nil {
				health = p.start()
			}
		}
		p.report(p.isReady(health), restarts)
	}
}

// wait returns false at the end of the Pod.
func (p *podProcess) wait(first bool) bool {
	pause := podTick
	if first {
		pause = 0
	}
	select {
	case <-p.ended:
		return false
	case <-p.node.ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

func (p *podProcess) stop() {
	if process := p.current(); process != nil {
		p.failure = process.Stop(20 * time.Second)
	}
	if p.node.ctx.Err() != nil {
		return
	}
	now := int64(0)
	_ = p.node.kube.CoreV1().Pods(p.pod.Namespace).Delete(p.node.ctx, p.pod.Name,
		metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(p.pod.UID))})
}

// writeFiles writes what the volumes of the Pod hold, where it has changed.
func (p *podProcess) writeFiles() error {
	for _, volume := range p.pod.Spec.Volumes {
		files, err := p.content(volume)
		if err != nil {
			return err
		}
		if err := writeChanged(p.folder("volumes", volume.Name), files); err != nil {
			return err
		}
	}
	return nil
}

func (p *podProcess) content(volume corev1.Volume) (map[string][]byte, error) {
	switch {
	case volume.Secret != nil:
		secret := &corev1.Secret{}
		err := p.node.cluster.client.Get(p.node.ctx, client.ObjectKey{Namespace: p.pod.Namespace, Name: volume.Secret.SecretName}, secret)
		return secret.Data, err
	case volume.ConfigMap != nil:
		config := &corev1.ConfigMap{}
		err := p.node.cluster.client.Get(p.node.ctx, client.ObjectKey{Namespace: p.pod.Namespace, Name: volume.ConfigMap.Name}, config)
		files := map[string][]byte{}
		for name, text := range config.Data {
			files[name] = []byte(text)
		}
		return files, err
	}
	return nil, nil
}

// writeChanged replaces files at once, as the kubelet does.
func writeChanged(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, content) {
			continue
		}
		if err := os.WriteFile(path+".new", content, 0o600); err != nil {
			return err
		}
		if err := os.Rename(path+".new", path); err != nil {
			return err
		}
	}
	return nil
}

// start starts the process and returns where it says that it is ready; "" when it cannot be started.
func (p *podProcess) start() (health string) {
	addresses, err := programs.FreeAddresses(2)
	if err != nil {
		return ""
	}
	env, err := p.environment()
	if err != nil {
		return ""
	}
	args := make([]string, 0, len(p.pod.Spec.Containers[0].Args)+2)
	mounts := p.mounts()
	for _, arg := range p.pod.Spec.Containers[0].Args {
		args = append(args, mounts.Replace(arg))
	}
	// All Pods share one network, so they cannot have the default addresses.
	process, err := p.node.cluster.runPod(programs.Command{
		Name: p.pod.Name, Path: p.node.program, Dir: p.folder(), Env: env,
		Args: append(args, "--metrics-addr="+addresses[0], "--health-addr="+addresses[1]),
	})
	if err != nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.process = process
	return addresses[1]
}

// runPod starts a process of a Pod, which the ProcessNode stops.
func (c *Cluster) runPod(command programs.Command) (*programs.Process, error) {
	command.Network = c.options.Network
	return programs.Start(command)
}

// mounts replaces the paths inside the Pod by those here, the longest first.
func (p *podProcess) mounts() *strings.Replacer {
	mounts := slices.Clone(p.pod.Spec.Containers[0].VolumeMounts)
	slices.SortFunc(mounts, func(a, b corev1.VolumeMount) int { return len(b.MountPath) - len(a.MountPath) })
	var pairs []string
	for _, mount := range mounts {
		pairs = append(pairs, mount.MountPath, p.folder("volumes", mount.Name))
	}
	return strings.NewReplacer(pairs...)
}

func (p *podProcess) environment() ([]string, error) {
	kubeconfig, err := p.kubeconfig()
	if err != nil {
		return nil, err
	}
	env, mounts := []string{"KUBECONFIG=" + kubeconfig}, p.mounts()
	for _, variable := range p.pod.Spec.Containers[0].Env {
		value, err := p.value(variable)
		if err != nil {
			return nil, err
		}
		env = append(env, variable.Name+"="+mounts.Replace(value))
	}
	return env, nil
}

func (p *podProcess) value(variable corev1.EnvVar) (string, error) {
	source := variable.ValueFrom
	switch {
	case source == nil:
		return variable.Value, nil
	case source.FieldRef != nil && source.FieldRef.FieldPath == "metadata.namespace":
		return p.pod.Namespace, nil
	case source.FieldRef != nil && source.FieldRef.FieldPath == "metadata.name":
		return p.pod.Name, nil
	case source.ResourceFieldRef != nil && source.ResourceFieldRef.Resource == "limits.memory":
		return strconv.FormatInt(p.pod.Spec.Containers[0].Resources.Limits.Memory().Value(), 10), nil
	}
	return "", fmt.Errorf("a ProcessNode cannot say what %s is", variable.Name)
}

// kubeconfig writes a kubeconfig with a token of the Pod's ServiceAccount, which ends with the Pod.
func (p *podProcess) kubeconfig() (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.pod.Name, UID: p.pod.UID},
	}}
	issued, err := p.node.kube.CoreV1().ServiceAccounts(p.pod.Namespace).CreateToken(p.node.ctx, p.pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	raw, err := p.node.kubeconfig(issued.Status.Token)
	if err != nil {
		return "", err
	}
	path := p.folder("kubeconfig")
	return path, os.WriteFile(path, raw, 0o600)
}

func (p *podProcess) isReady(health string) bool {
	probe := p.pod.Spec.Containers[0].ReadinessProbe
	if health == "" || probe == nil || probe.HTTPGet == nil {
		return health != ""
	}
	ctx, cancel := context.WithTimeout(p.node.ctx, time.Second)
	defer cancel()
	return answers(p.node.plain, "http://"+health+probe.HTTPGet.Path)(ctx) == nil
}

// report writes the status of the Pod where it has changed.
func (p *podProcess) report(ready bool, restarts int32) {
	status, now := corev1.ConditionFalse, metav1.Now()
	if ready {
		status = corev1.ConditionTrue
	}
	started := p.current() != nil
	state := corev1.ContainerStatus{
		Name: p.pod.Spec.Containers[0].Name, Image: p.pod.Spec.Containers[0].Image, Ready: ready, RestartCount: restarts, Started: &started,
	}
	shown := p.pod.Status
	if len(shown.ContainerStatuses) == 1 && shown.ContainerStatuses[0].Ready == ready && shown.ContainerStatuses[0].RestartCount == restarts {
		return
	}
	state.State.Running = &corev1.ContainerStateRunning{StartedAt: now}
	next := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, ContainerStatuses: []corev1.ContainerStatus{state}}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		condition := corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: now}
		if kind == corev1.PodScheduled || kind == corev1.PodInitialized {
			condition.Status = corev1.ConditionTrue
		}
		next.Conditions = append(next.Conditions, condition)
	}
	// A patch, so that the address that a test gives to a Pod stays.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.pod.UID}, "status": next})
	if err != nil {
		return
	}
	pods := p.node.kube.CoreV1().Pods(p.pod.Namespace)
	if written, err := pods.Patch(p.node.ctx, p.pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err == nil {
		p.pod.Status = written.Status
	}
}
