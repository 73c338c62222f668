// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"slices"
	"time"
)

// Component names one program of the platform; its value is the file name of the binary.
type Component string

// The programs that the platform can run.
const (
	Etcd                Component = "etcd"
	APIServer           Component = "kube-apiserver"
	ControllerManager   Component = "kube-controller-manager"
	Scheduler           Component = "kube-scheduler"
	Kubelet             Component = "kubelet"
	Containerd          Component = "containerd" // the distribution's: InstallNode
	SourceController    Component = "source-controller"
	KustomizeController Component = "kustomize-controller"
	Kubectl             Component = "kubectl" // for tests that follow pages
	// No platform starts these two, but the tests and benchmarks that are about them. Where their modules cannot be downloaded, Tools returns
	// ErrNotDownloaded.
	HelmController         Component = "helm-controller"
	NotificationController Component = "notification-controller"
)

// NodeComponents are what a platform with a node needs beside the others.
var NodeComponents = []Component{Scheduler, Kubelet}

// RareComponents are what few tests need, and not every machine can download.
var RareComponents = []Component{HelmController, NotificationController}

// byName are components that are built only for who names them.
var byName = slices.Concat(NodeComponents, RareComponents, []Component{Kubectl})

// Kubernetes calls itself this version; without it a server built from modules reports a version that clients refuse.
const (
	kubernetesVersion = "v1.36.4"
	envtestVersion    = "1.36.x"
	versionFlag       = "-X k8s.io/component-base/version.gitVersion=" + kubernetesVersion
)

// A recipe says how one component is built from one of the modules below tools.
type recipe struct {
	component Component
	module    string        // folder below tools that holds go.mod and go.sum
	pkg       string        // main package
	crds      string        // module whose config/crd/bases belongs to the component, empty for none
	ldflags   string        // linker flags
	envtest   bool          // setup-envtest and KUBEBUILDER_ASSETS have it ready-made
	cold      time.Duration // measured with an empty build cache on two cores
}

// The modules that programs are built from. They require the same versions, the ones of this repository where it has them, so that each package
// is compiled once for all.
const (
	serversModule = "servers"
	rareModule    = "rare"
)

// recipes is in the order that builds fastest: what the first test needs comes first.
var recipes = []recipe{
	{component: Etcd, module: serversModule, pkg: "go.etcd.io/etcd/server/v3", ldflags: "-s -w", envtest: true, cold: 40 * time.Second},
	{component: APIServer, module: serversModule, pkg: "k8s.io/kubernetes/cmd/kube-apiserver",
		ldflags: "-s -w " + versionFlag, envtest: true, cold: 7 * time.Minute},
	{component: ControllerManager, module: serversModule, pkg: "k8s.io/kubernetes/cmd/kube-controller-manager",
		ldflags: "-s -w " + versionFlag, cold: 2 * time.Minute},
	{component: Scheduler, module: serversModule, pkg: "k8s.io/kubernetes/cmd/kube-scheduler",
		ldflags: "-s -w " + versionFlag, cold: 30 * time.Second},
	{component: Kubelet, module: serversModule, pkg: "k8s.io/kubernetes/cmd/kubelet",
		ldflags: "-s -w " + versionFlag, cold: 90 * time.Second},
	{component: Kubectl, module: serversModule, pkg: "k8s.io/kubernetes/cmd/kubectl", ldflags: "-s -w " + versionFlag, cold: 45 * time.Second},
	{component: KustomizeController, module: serversModule, pkg: "github.com/fluxcd/kustomize-controller",
		crds: "github.com/fluxcd/kustomize-controller", ldflags: "-s -w", cold: 150 * time.Second},
	{component: SourceController, module: serversModule, pkg: "github.com/fluxcd/source-controller",
		crds: "github.com/fluxcd/source-controller", ldflags: "-s -w", cold: 3 * time.Minute},
	{component: HelmController, module: rareModule, pkg: "github.com/fluxcd/helm-controller",
		crds: "github.com/fluxcd/helm-controller", ldflags: "-s -w", cold: 90 * time.Second},
	{component: NotificationController, module: rareModule, pkg: "github.com/fluxcd/notification-controller",
		crds: "github.com/fluxcd/notification-controller", ldflags: "-s -w", cold: 90 * time.Second},
}

// rare reports whether not every module proxy has the component. Nobody waits for its build but who names it.
func (r recipe) rare() bool { return slices.Contains(RareComponents, r.component) }
