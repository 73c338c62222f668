// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// profile begins to save CPU profiles of a phase, if they are wanted. The returned function waits for them and adds the profiles that
// are one look at a moment.
func (r *run) profile(ctx context.Context, phase string) func() error {
	if options.profiles == "" {
		return func() error { return nil }
	}
	group := &errgroup.Group{}
	for name, from := range r.profiled() {
		group.Go(func() error {
			return r.saveProfile(ctx, from, fmt.Sprintf("/debug/pprof/profile?seconds=%d", int(options.profileTime.Seconds())), name, phase, "cpu")
		})
	}
	return func() error {
		if err := group.Wait(); err != nil {
			return err
		}
		for name, from := range r.profiled() {
			for _, kind := range []string{"heap", "allocs", "mutex", "block", "goroutine"} {
				if err := r.saveProfile(ctx, from, "/debug/pprof/"+kind, name, phase, kind); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// profiled are the servers that profiles are taken from.
func (r *run) profiled() map[string]getter {
	servers := map[string]getter{"kube-apiserver": r.getFromAPIServer}
	for _, program := range r.programs {
		servers[program.Name] = program.Get
	}
	return servers
}

func (r *run) saveProfile(ctx context.Context, from getter, path, name, phase, kind string) error {
	if err := os.MkdirAll(options.profiles, 0o755); err != nil {
		return err
	}
	body, err := from(ctx, path)
	if err != nil {
		return err
	}
	defer body.Close()
	file := fmt.Sprintf("%s-%s-%s-%s.pprof", strings.ReplaceAll(r.name, "/", "-"), phase, name, kind)
	out, err := os.Create(filepath.Join(options.profiles, file))
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, body); err != nil {
		return fmt.Errorf("cannot save profile %s: %w", file, err)
	}
	return out.Close()
}
