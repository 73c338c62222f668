// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
	"github.com/flux-landscaper/flux-landscaper/tests/sample"
)

// A demo is everything that runs.
type demo struct {
	screen     *landscape.Screen
	options    options
	started    time.Time
	dir        string // of this program: the command line and the file with the environment of people lie beside it
	binary     string
	platform   *platform.Platform
	programs   *started
	repository *servers.GitRepo
}

// run shows the landscape until ctx ends or, with --exit, until it is ready. It leaves no process and no file behind.
func run(ctx context.Context, opts options, screen *landscape.Screen) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	d := &demo{screen: screen, options: opts, started: time.Now(), dir: filepath.Dir(self)}
	removeScratch, err := useScratch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeScratch()) }()
	defer func() {
		err = errors.Join(err, d.stop())
	}()
	if err := d.start(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	cluster := d.platform.Cluster
	snapshots, err := landscape.Watch(watching, cluster.RestConfig, cluster.Client(), sample.Namespace)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	committed := time.Now()
	if err := sample.Sync(ctx, d.platform, d.repository); err != nil {
		return unlessStopped(ctx, err)
	}
	return d.follow(ctx, snapshots, committed)
}

// unlessStopped drops the errors that come of a person's Ctrl-C.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// start brings everything up and shows each step.
func (d *demo) start(ctx context.Context) error {
	steps := newSteps(d.screen)
	defer steps.end()
	d.screen.Say("A landscape that deploys itself from Git: Flux and flux-landscaper on a real Kubernetes, all on this machine.",
		"The first start builds Kubernetes and Flux and takes a while; later ones take seconds.", "")
	if err := d.prepare(ctx, steps); err != nil {
		return err
	}
	return steps.do("start controller and deployers, fill Git", func(io.Writer) (err error) {
		if d.programs, err = startPrograms(d.platform.Cluster, d.binary); err != nil {
			return err
		}
		if d.repository, err = sample.Publish(ctx, d.platform); err != nil {
			return err
		}
		return d.writeEnvironment()
	})
}

// prepare starts the platform and builds our programs side by side.
func (d *demo) prepare(ctx context.Context, steps *steps) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return steps.do("start Kubernetes, Flux, Git and a registry", func(progress io.Writer) (err error) {
			d.platform, err = platform.Start(ctx, platform.Options{
				ControllerManager: true, Flux: true, Git: true, Registry: true, LandscaperCRDs: true, Log: progress,
				AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
			})
			return err
		})
	})
	group.Go(func() error {
		return steps.do("build the landscaper", func(io.Writer) (err error) {
			if d.binary, err = binaries.BuildLandscaper(ctx); err != nil {
				return err
			}
			return buildCLI(ctx, d.dir)
		})
	})
	return group.Wait()
}

// follow shows what happens to the landscape.
func (d *demo) follow(ctx context.Context, snapshots <-chan *landscape.Snapshot, committed time.Time) error {
	report := newReport(d.screen, committed)
	deadline := time.NewTimer(d.options.timeout)
	defer deadline.Stop()
	frame := time.NewTicker(frameInterval)
	defer frame.Stop()
	for first := true; ; {
		select {
		case <-ctx.Done():
			report.leave()
			return nil
		case err := <-d.programs.died:
			report.leave()
			return err
		case <-deadline.C:
			if err := d.late(report); err != nil {
				return err
			}
		case <-frame.C:
			report.animate(time.Now())
		case snapshot := <-snapshots:
			if snapshot == nil || !report.take(snapshot, time.Now()) || !first {
				continue
			}
			first = false
			deadline.Stop()
			d.screen.Sayf("Landscape ready after %s (%s of them from the commit).", took(time.Since(d.started)), took(time.Since(committed)))
			if d.options.exit {
				report.leave()
				return nil
			}
			d.screen.Say(d.hints()...)
		}
	}
}

// late ends a demo that nobody looks at, and tells others to go on looking.
func (d *demo) late(report *report) error {
	late := fmt.Errorf("the landscape is not ready after %s (--timeout)", d.options.timeout)
	if d.options.exit {
		report.leave()
		return late
	}
	d.screen.Sayf("%s; see the reasons in the tree, and the logs in %s. Ctrl-C stops.", late, d.programs.dir)
	return nil
}

// stop ends every process and removes every file.
func (d *demo) stop() error {
	if d.platform == nil {
		return nil
	}
	d.screen.Show(nil)
	d.screen.Say("", "Stopping …")
	var failures []error
	if d.programs != nil {
		failures = append(failures, d.programs.stop())
	}
	failures = append(failures, d.platform.Stop(), d.removeEnvironment())
	if err := errors.Join(failures...); err != nil {
		return err
	}
	d.screen.Say("Every process has ended and every file is removed.")
	return nil
}
