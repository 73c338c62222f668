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

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// FluxNamespace is the namespace that the Flux controllers call their own.
const FluxNamespace = "flux-system"

// fluxControllers are those of one cluster.
type fluxControllers struct{ cluster *Cluster }

// start makes the namespace and the CRDs of the Flux controllers, then starts both side by side.
func (f fluxControllers) start(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: FluxNamespace}}
	if err := client.IgnoreAlreadyExists(f.cluster.client.Create(ctx, namespace)); err != nil {
		return fmt.Errorf("cannot create namespace %s: %w", FluxNamespace, err)
	}
	err := f.cluster.InstallCRDs(ctx, f.cluster.binaries.CRDDir(binaries.SourceController), f.cluster.binaries.CRDDir(binaries.KustomizeController))
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.startSource(ctx) })
	group.Go(func() error { return f.startKustomize(ctx) })
	return group.Wait()
}

// env gives a Flux controller a user of its own, so that its requests can be told apart.
func (f fluxControllers) env(component binaries.Component) ([]string, error) {
	kubeconfig, err := f.cluster.userKubeconfig(string(component))
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

func (f fluxControllers) startSource(ctx context.Context) error {
	storage := filepath.Join(f.cluster.dir, "source-storage")
	if err := os.MkdirAll(storage, 0o700); err != nil {
		return err
	}
	env, err := f.env(binaries.SourceController)
	if err != nil {
		return err
	}
	return f.cluster.serve(ctx, service{
		component: binaries.SourceController,
		ports:     3,
		env:       env,
		args: func(addresses []string) ([]string, error) {
			own := []string{"--storage-path=" + storage, "--storage-addr=" + addresses[2], "--storage-adv-addr=" + addresses[2]}
			return append(append(fluxArgs(addresses), own...), f.cluster.options.SourceControllerArgs...), nil
		},
		ready: func(addresses []string) probe {
			return allOf(answers(f.cluster.http, "http://"+addresses[1]+"/readyz"), f.servesFolder(addresses[2], storage))
		},
	})
}

// servesFolder returns a probe for a file server of dir. source-controller lives on when it cannot listen on its storage
// address, so the probe leaves a token in the folder to see that the right server answers.
func (f fluxControllers) servesFolder(address, dir string) probe {
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
		response, err := f.cluster.http.Do(request)
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

func (f fluxControllers) startKustomize(ctx context.Context) error {
	env, err := f.env(binaries.KustomizeController)
	if err != nil {
		return err
	}
	return f.cluster.serve(ctx, service{
		component: binaries.KustomizeController,
		ports:     2,
		env:       env,
		args: func(addresses []string) ([]string, error) {
			// A fix does not wait for a broken revision, as docs/quick-start.md has it.
			own := []string{"--requeue-dependency=5s", "--feature-gates=CancelHealthCheckOnNewRevision=true"}
			return append(append(fluxArgs(addresses), own...), f.cluster.options.KustomizeControllerArgs...), nil
		},
		ready: func(addresses []string) probe { return answers(f.cluster.http, "http://"+addresses[1]+"/readyz") },
	})
}
