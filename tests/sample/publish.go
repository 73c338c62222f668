// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package sample publishes the sample landscape of config/samples and makes Flux apply it, for the demo and for tests of an installed system.
package sample

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// What the sample landscape is called and where it lies.
const (
	// Namespace of the landscape, and the name of its Kustomization.
	Namespace = "shop"
	// BlueprintPath is the repository of its blueprint in the registry, and the folder of it in Git.
	BlueprintPath = "blueprints/frontend"
	chartPath     = "charts/frontend"
	firstVersion  = "1.0.0"
	syncFile      = "sync.yaml"
)

// files returns the sample landscape as it lies in a Git repository. sync.yaml holds the placeholders ${clone_url} and ${registry}; below installations,
// Flux itself fills in ${registry} (host:port of an OCI registry).
func files() (fs.FS, error) {
	root, err := binaries.RepositoryRoot()
	if err != nil {
		return nil, err
	}
	return os.DirFS(filepath.Join(root, "config", "samples", "landscape")), nil
}

// Publish commits the sample landscape and pushes the blueprint and the chart that it takes from the registry.
func Publish(ctx context.Context, p *platform.Platform) (*servers.GitRepo, error) {
	landscape, err := files()
	if err != nil {
		return nil, err
	}
	if err := pushArtifacts(ctx, p.Registry, landscape); err != nil {
		return nil, err
	}
	repository, err := p.Git.CreateRepository(ctx, Namespace)
	if err != nil {
		return nil, err
	}
	all, err := readAll(landscape)
	if err != nil {
		return nil, err
	}
	_, err = repository.Commit(ctx, "Begin the landscape", all)
	return repository, err
}

func pushArtifacts(ctx context.Context, registry *servers.Registry, landscape fs.FS) error {
	blueprint, err := fs.Sub(landscape, BlueprintPath)
	if err != nil {
		return err
	}
	if _, err := registry.PushFluxArtifact(ctx, BlueprintPath, firstVersion, blueprint); err != nil {
		return err
	}
	chart, err := fs.Sub(landscape, chartPath)
	if err != nil {
		return err
	}
	packed, err := servers.PackageChart(chart)
	if err != nil {
		return err
	}
	_, err = registry.PushHelmChart(ctx, chartPath, firstVersion, packed)
	return err
}

func readAll(files fs.FS) (map[string][]byte, error) {
	all := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		all[path], err = fs.ReadFile(files, path)
		return err
	})
	return all, err
}

// Sync makes Flux apply the landscape: the only thing that is applied by hand, beside the Secret that is not for Git.
func Sync(ctx context.Context, p *platform.Platform, repository *servers.GitRepo) error {
	kubeconfig, err := Kubeconfig(p.Cluster, "landscape-"+Namespace)
	if err != nil {
		return err
	}
	landscape, err := files()
	if err != nil {
		return err
	}
	manifests, err := fs.ReadFile(landscape, syncFile)
	if err != nil {
		return err
	}
	filled := strings.NewReplacer("${clone_url}", repository.CloneURL, "${registry}", p.Registry.Host).Replace(string(manifests))
	first, rest, _ := strings.Cut(filled, "\n---\n")
	if err := p.ApplyYAML(ctx, first); err != nil {
		return fmt.Errorf("cannot make the namespace: %w", err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster", Namespace: Namespace},
		Data:       map[string][]byte{"kubeconfig": kubeconfig},
	}
	if err := p.Apply(ctx, secret); err != nil {
		return fmt.Errorf("cannot make the Secret of the Target: %w", err)
	}
	return p.ApplyYAML(ctx, rest)
}

// Kubeconfig returns a kubeconfig of an administrator with the name user.
func Kubeconfig(cluster *platform.Cluster, user string) ([]byte, error) {
	access, err := cluster.NewUser(user, "system:masters")
	if err != nil {
		return nil, fmt.Errorf("cannot make user %s: %w", user, err)
	}
	return platform.KubeconfigFor(access)
}
