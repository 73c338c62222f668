// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/podruns"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

const processNodeName = "processes"

// ProcessNode plays scheduler and Node without containers: it runs each Pod that has one container as a process of one program, whatever its
// image, with the arguments, environment, files and ServiceAccount that the Pod says. A Pod that is not restarted runs as package podruns says. Other
// Pods stay pending.
type ProcessNode struct {
	cluster *Cluster
	program string
	dir     string
	kube    kubernetes.Interface
	plain   *http.Client
	ctx     context.Context
	stop    context.CancelFunc

	running sync.WaitGroup
	mu      sync.Mutex
	pods    map[types.UID]*podProcess
	runs    map[types.UID]*podRun
	failed  []error
}

// podRun is a Pod that ends.
type podRun struct {
	podruns.Run
	end context.CancelFunc
}

// StartProcessNode starts a ProcessNode for one program. The cluster needs its controller-manager, without the controller that looks after the
// heartbeats of Nodes: ControllerManagerArgs NoHeartbeats.
func (c *Cluster) StartProcessNode(ctx context.Context, program string) (*ProcessNode, error) {
	kube, err := kubernetes.NewForConfig(c.RestConfig)
	if err != nil {
		return nil, err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: processNodeName}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "ProcessNode"}},
	}}
	if err := client.IgnoreAlreadyExists(c.client.Create(ctx, node)); err != nil {
		return nil, fmt.Errorf("cannot make a Node: %w", err)
	}
	n := &ProcessNode{cluster: c, program: program, dir: filepath.Join(c.dir, "pods"), kube: kube, plain: c.http, pods: map[types.UID]*podProcess{}, runs: map[types.UID]*podRun{}}
	n.ctx, n.stop = context.WithCancel(context.Background())
	pods := cache.NewListWatchFromClient(kube.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, fields.Everything())
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: pods, ObjectType: &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { n.see(o.(*corev1.Pod)) },
			UpdateFunc: func(_, o any) { n.see(o.(*corev1.Pod)) },
			DeleteFunc: n.forget,
		},
	})
	go informer.RunWithContext(n.ctx)
	return n, nil
}

// NoHeartbeats is the argument of kube-controller-manager with which nobody looks after the heartbeats of Nodes.
const NoHeartbeats = "--controllers=*,-node-lifecycle-controller"

// Process returns the process of the newest Pod whose name begins so, or nil.
func (n *ProcessNode) Process(prefix string) *programs.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found *podProcess
	for _, p := range n.pods {
		if len(p.pod.Name) >= len(prefix) && p.pod.Name[:len(prefix)] == prefix && (found == nil || found.pod.CreationTimestamp.Before(&p.pod.CreationTimestamp)) {
			found = p
		}
	}
	if found == nil {
		return nil
	}
	return found.current()
}

// Logs returns the last lines of all Pods that run.
func (n *ProcessNode) Logs(lines int) map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	logs := map[string]string{}
	for _, p := range n.pods {
		if process := p.current(); process != nil {
			logs[p.pod.Namespace+"/"+p.pod.Name] = process.LogTail(lines)
		}
	}
	return logs
}

// Tokens returns the tokens that Pods have, and those that have ended had, by their names.
func (n *ProcessNode) Tokens() (map[string]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	tokens := map[string]string{}
	for _, p := range n.pods {
		config, err := clientcmd.LoadFromFile(p.folder("kubeconfig"))
		if err != nil {
			return nil, err
		}
		tokens[p.pod.Name] = config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo].Token
	}
	for _, run := range n.runs {
		if token := run.Token(); token != "" {
			tokens[run.Pod.Name] = token
		}
	}
	return tokens, nil
}

// Stop ends all processes. Their Pods stay as they are.
func (n *ProcessNode) Stop() error {
	n.stop()
	n.running.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	failures := n.failed
	for _, p := range n.pods {
		failures = append(failures, p.failure)
	}
	return errors.Join(failures...)
}

func (n *ProcessNode) see(pod *corev1.Pod) {
	ends := pod.Spec.RestartPolicy == corev1.RestartPolicyNever
	if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && (ends || len(pod.Spec.Containers) == 1 && len(pod.Spec.InitContainers) == 0) {
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: processNodeName}}
		_ = n.kube.CoreV1().Pods(pod.Namespace).Bind(n.ctx, binding, metav1.CreateOptions{})
		return
	}
	if pod.Spec.NodeName != processNodeName || n.ctx.Err() != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if ends {
		n.runOnce(pod)
		return
	}
	p := n.pods[pod.UID]
	if p == nil {
		p = &podProcess{node: n, pod: pod, ended: make(chan struct{})}
		n.pods[pod.UID] = p
		n.running.Go(p.run)
	}
	if pod.DeletionTimestamp != nil {
		p.end()
	}
}

// runOnce runs a Pod that ends, or ends it when it is being deleted.
func (n *ProcessNode) runOnce(pod *corev1.Pod) {
	run := n.runs[pod.UID]
	if run == nil && pod.DeletionTimestamp == nil {
		ctx, end := context.WithCancel(n.ctx)
		run = &podRun{end: end, Run: podruns.Run{
			Pod: pod.DeepCopy(), Clients: n.kube, Program: n.program, Dir: filepath.Join(n.dir, string(pod.UID)), Network: n.cluster.options.Network,
			Kubeconfig: n.kubeconfig,
		}}
		n.runs[pod.UID] = run
		n.running.Go(func() { n.follow(ctx, run) })
	}
	if run != nil && pod.DeletionTimestamp != nil {
		run.end()
	}
}

// follow runs a Pod to its end, and takes it away where that was asked for before.
func (n *ProcessNode) follow(ctx context.Context, run *podRun) {
	goOn, err := run.Init(ctx)
	if err == nil && goOn {
		err = run.Containers(ctx, nil)
	}
	if ctx.Err() != nil {
		err = nil
		if n.ctx.Err() == nil {
			err = run.Remove(n.ctx)
		}
	}
	run.end()
	if err != nil && n.ctx.Err() == nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.failed = append(n.failed, fmt.Errorf("run Pod %s/%s: %w", run.Pod.Namespace, run.Pod.Name, err))
	}
}

// kubeconfig returns one for the cluster with a token.
func (n *ProcessNode) kubeconfig(token string) ([]byte, error) {
	return KubeconfigFor(&rest.Config{
		Host: n.cluster.RestConfig.Host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: n.cluster.RestConfig.CAData},
	})
}

func (n *ProcessNode) forget(o any) {
	if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = unknown.Obj
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	uid := o.(*corev1.Pod).UID
	if p := n.pods[uid]; p != nil {
		p.end()
		delete(n.pods, uid)
	}
	if run := n.runs[uid]; run != nil {
		run.end()
	}
}

// podTick is how often the files of a Pod are looked at, and its probe is asked.
const podTick = 200 * time.Millisecond
