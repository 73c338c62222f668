// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Binaries says where the programs of the platform and the CRDs of the Flux controllers lie on this machine.
type Binaries struct {
	paths map[Component]string
	crds  map[Component]string
}

// Path returns the absolute path of the component's binary, or "" if Tools was not asked for it.
func (b *Binaries) Path(component Component) string { return b.paths[component] }

// CRDDir returns the folder with the CRD manifests of a Flux controller, or "" if the component brings none.
func (b *Binaries) CRDDir(component Component) string { return b.crds[component] }

// Tools finds or makes the named components, or if none is named all that every suite needs, and reports progress to log.
// Sources in order: the cache folder, KUBEBUILDER_ASSETS, setup-envtest (off with FLUX_LANDSCAPER_NO_DOWNLOAD=1), a build
// from the modules below tools. Parallel callers, also in other processes, wait for one builder.
func Tools(ctx context.Context, log io.Writer, components ...Component) (*Binaries, error) {
	store, err := openStore(log)
	if err != nil {
		return nil, err
	}
	found := &Binaries{paths: map[Component]string{}, crds: map[Component]string{}}
	for _, r := range recipes {
		if !r.wanted(components) {
			continue
		}
		if err := store.provide(ctx, r, found); err != nil {
			return nil, fmt.Errorf("cannot provide %s: %w", r.component, err)
		}
	}
	return found, nil
}

// CRDs returns the folder with the CRD manifests of a Flux controller, for which nothing is built.
func CRDs(ctx context.Context, log io.Writer, component Component) (string, error) {
	at := slices.IndexFunc(recipes, func(r recipe) bool { return r.component == component && r.crds != "" })
	if at < 0 {
		return "", fmt.Errorf("%s brings no CRDs", component)
	}
	store, err := openStore(log)
	if err != nil {
		return "", err
	}
	folder, err := store.definitions(ctx, recipes[at])
	if err != nil {
		return "", fmt.Errorf("cannot provide the CRDs of %s: %w", component, err)
	}
	return folder, nil
}

// wanted reports whether the component is one of those that were asked for.
func (r recipe) wanted(components []Component) bool {
	if len(components) == 0 {
		return !slices.Contains(byName, r.component)
	}
	return slices.Contains(components, r.component)
}

// provide enters the component into found, from the first source that has it.
func (s *store) provide(ctx context.Context, r recipe, found *Binaries) error {
	path, ok := s.cached(r)
	if !ok {
		path, ok = fromAssets(r)
	}
	if !ok {
		var err error
		if path, err = s.obtain(ctx, r); err != nil {
			return err
		}
	}
	found.paths[r.component] = path
	if r.crds != "" {
		found.crds[r.component] = s.crdDir(r)
	}
	return nil
}

// obtain downloads or builds the component while holding the lock of the cache folder.
func (s *store) obtain(ctx context.Context, r recipe) (string, error) {
	release, err := s.lockFor(ctx, r)
	if err != nil {
		return "", err
	}
	defer release()
	if path, ok := s.cached(r); ok {
		return path, nil
	}
	if r.envtest && s.download(ctx) == nil {
		if path, ok := s.cached(r); ok {
			return path, nil
		}
	}
	return s.build(ctx, r)
}

// fromAssets looks into the folder that KUBEBUILDER_ASSETS names.
func fromAssets(r recipe) (string, bool) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" || !r.envtest {
		return "", false
	}
	path, err := filepath.Abs(filepath.Join(assets, string(r.component)))
	return path, err == nil && isExecutable(path)
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
