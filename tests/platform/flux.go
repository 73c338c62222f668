// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FluxNamespace is the namespace that the Flux controllers call their own.
const FluxNamespace = "flux-system"

// startFlux makes the namespace and the CRDs of the Flux controllers, then starts both side by side.
func (c *Cluster) startFlux(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: FluxNamespace}}
	if err := client.IgnoreAlreadyExists(c.client.Create(ctx, namespace)); err != nil {
		return fmt.Errorf("cannot create namespace %s: %w", FluxNamespace, err)
	}
	err := c.InstallCRDs(ctx, c.binaries.CRDDir(SourceController), c.binaries.CRDDir(KustomizeController))
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.startSourceController(ctx) })
	group.Go(func() error { return c.startKustomizeController(ctx) })
	return group.Wait()
}

// fluxEnv gives a Flux controller a user of its own, so that its requests can be told apart.
func (c *Cluster) fluxEnv(component Component) ([]string, error) {
	kubeconfig, err := c.userKubeconfig(string(component))
	return []string{"RUNTIME_NAMESPACE=" + FluxNamespace, "KUBECONFIG=" + kubeconfig}, err
}

// fluxArgs are the flags of every Flux controller outside a pod; address 0 is for metrics, 1 for health.
func fluxArgs(addresses []string) []string {
	return []string{
		"--events-addr=",
		"--metrics-addr=" + addresses[0],
		"--health-addr=" + addresses[1],
		"--enable-leader-election=false",
	}
}

func (c *Cluster) startSourceController(ctx context.Context) error {
	storage := filepath.Join(c.dir, "source-storage")
	if err := os.MkdirAll(storage, 0o700); err != nil {
		return err
	}
	env, err := c.fluxEnv(SourceController)
	if err != nil {
		return err
	}
	return c.serve(ctx, service{
		component: SourceController,
		ports:     3,
		env:       env,
		args: func(addresses []string) ([]string, error) {
			own := []string{"--storage-path=" + storage, "--storage-addr=" + addresses[2], "--storage-adv-addr=" + addresses[2]}
			return append(append(fluxArgs(addresses), own...), c.options.SourceControllerArgs...), nil
		},
		ready: func(addresses []string) probe {
			return allOf(answers(c.http, "http://"+addresses[1]+"/readyz"), c.servesFolder(addresses[2], storage))
		},
	})
}

// servesFolder returns a probe for a file server of dir. source-controller lives on when it cannot listen on its storage
// address, so the probe leaves a token in the folder to see that the right server answers.
func (c *Cluster) servesFolder(address, dir string) probe {
	const file = "platform-probe"
	return func(ctx context.Context) error {
		token := rand.Text()
		if err := os.WriteFile(filepath.Join(dir, file), []byte(token), 0o600); err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/"+file, nil)
		if err != nil {
			return err
		}
		response, err := c.http.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		content, err := io.ReadAll(io.LimitReader(response.Body, 1024))
		if err == nil && string(content) != token {
			err = fmt.Errorf("another server listens on %s", address)
		}
		return err
	}
}

func (c *Cluster) startKustomizeController(ctx context.Context) error {
	env, err := c.fluxEnv(KustomizeController)
	if err != nil {
		return err
	}
	return c.serve(ctx, service{
		component: KustomizeController,
		ports:     2,
		env:       env,
		args: func(addresses []string) ([]string, error) {
			return append(append(fluxArgs(addresses), "--requeue-dependency=5s"), c.options.KustomizeControllerArgs...), nil
		},
		ready: func(addresses []string) probe { return answers(c.http, "http://"+addresses[1]+"/readyz") },
	})
}
