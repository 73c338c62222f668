// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package platform runs a real Kubernetes with Flux on one machine, without root (but for a Node), container engine or internet beyond the Go
// module proxy: etcd, kube-apiserver, kube-controller-manager, source-controller and kustomize-controller as processes,
// a Git server and an OCI registry inside the calling process, all on free ports of 127.0.0.1 and in one temporary folder.
//
// Suites share one platform per test binary:
//
//	func TestMain(m *testing.M) { os.Exit(platform.Main(m, platform.Options{Flux: true, Git: true})) }
//
//	func TestLandscape(t *testing.T) {
//		p := platform.Shared(t)
//		namespace := p.Namespace(t)
//		…
//	}
//
// Programs are taken from the user's cache folder, from KUBEBUILDER_ASSETS, from setup-envtest where the machine can
// download, or are built from the Go modules below tools; "go run ./tests/platform/cmd/prepare" does that ahead of time.
// Linux and macOS are supported; on Linux every process also ends when the calling process dies.
//
// With Options.Node there is a Node that runs Pods, for which Linux, root and some Debian packages are needed:
//
//	image, err := platform.LandscaperImage(ctx)
//	reference, err := p.Registry.PushImage(ctx, "landscaper", "test", image) // for a container's image
package platform
