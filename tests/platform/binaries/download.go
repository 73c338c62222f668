// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

const (
	setupEnvtest    = "sigs.k8s.io/controller-runtime/tools/setup-envtest@release-0.24"
	downloadTimeout = 15 * time.Second
)

// download asks setup-envtest for ready-made etcd and kube-apiserver and links them into the cache.
// Every failure only means that this machine cannot download: one line says so, and the caller builds instead.
func (s *store) download(ctx context.Context) error {
	if s.offline || os.Getenv("FLUX_LANDSCAPER_NO_DOWNLOAD") == "1" {
		return errors.New("downloads are off")
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	out, err := goTool(ctx, s.root, "run", setupEnvtest, "use", envtestVersion, "-p", "path")
	if err == nil {
		err = s.link(strings.TrimSpace(out))
	}
	if err != nil {
		s.offline = true
		s.sayf("setup-envtest cannot download here, building instead: %s", programs.LastLines(err.Error(), 1))
	}
	return err
}

// link makes the binaries of an envtest folder known to the cache.
func (s *store) link(assets string) error {
	for _, r := range recipes {
		from, to := filepath.Join(assets, string(r.component)), filepath.Join(s.dir(r), string(r.component))
		if !r.envtest || isExecutable(to) {
			continue
		}
		if !isExecutable(from) {
			return errors.New("setup-envtest has no " + string(r.component))
		}
		_ = os.Remove(to)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Symlink(from, to)); err != nil {
			return err
		}
	}
	return nil
}
