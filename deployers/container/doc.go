// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package container is the deployer of DeployItems of type landscaper.gardener.cloud/container: it runs a person's image as a Pod of the
// host cluster, once per job.
//
// Everything that needs registries, Flux sources or the landscaper cluster is done here, so that the Pod needs no credentials for them:
// its init container only unpacks Secrets (sidecar.Init), and its wait container may only watch its own Pod and apply Secrets of fixed names
// (sidecar.Wait). The user's container has no credentials at all.
//
// The way of a job:
//
//	prepare.go   configuration, target, component, content      → what the Pod gets
//	objects.go   that                                           → Secrets, identity and rights on the host cluster
//	pod.go       that                                           → the Pod
//	run.go       the Pod as the kubelet shows it                → wait, failure or success with exports
//	delete.go    the same with OPERATION=DELETE, then all objects go
//	cleanup.go   what jobs that are over and items that are gone left on the host cluster → gone
//
// All names are made from namespace and name of the item, so that a job that is repeated after a crash finds what it made before. A Pod
// belongs to the job in its annotation; its finalizer keeps it until the end of the job is recorded.
package container
