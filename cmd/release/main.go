// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command release makes images and releases out of a checkout and the programs that make has built from it; see make images and make release.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/flux-landscaper/flux-landscaper/publishing/release"
)

// settings are what the flags say.
type settings struct {
	options                release.Options
	dist, created, key, to string
	plainHTTP              bool
}

func main() {
	if err := root().ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	s := &settings{}
	command := &cobra.Command{Use: "release", SilenceUsage: true, SilenceErrors: true, PersistentPreRunE: func(*cobra.Command, []string) error {
		return s.complete()
	}}
	flags := command.PersistentFlags()
	flags.StringVar(&s.options.Source, "source", ".", "The checkout.")
	flags.StringVar(&s.dist, "dist", "dist", "The folder to write to.")
	flags.StringVar(&s.options.Programs, "programs", filepath.Join("dist", "bin"), "The folder of the programs, <command>_<os>_<architecture>.")
	flags.StringVar(&s.options.Release.Version, "version", "", "The version, e.g. v1.2.3.")
	flags.StringVar(&s.options.Release.Revision, "revision", "", "The commit.")
	flags.StringVar(&s.created, "created", "0", "The time of the commit in seconds since 1970.")
	flags.StringVar(&s.options.Repository, "repository", "ghcr.io/flux-landscaper/landscaper", "Where clusters find the images.")
	flags.StringVar(&s.to, "push", "", "A registry with a path to push to, as <push>/landscaper, <push>/manifests and <push>/charts/<chart>; nothing is pushed when empty.")
	flags.BoolVar(&s.plainHTTP, "plain-http", false, "The registry to push to has no TLS.")
	flags.StringVar(&s.key, "key", "", "A file with the private key, in PEM, that signs the checksums, and what is pushed.")
	command.AddCommand(
		&cobra.Command{Use: "images", Short: "Only the images", RunE: func(c *cobra.Command, _ []string) error { return s.images(c.Context()) }},
		&cobra.Command{Use: "charts", Short: "Only the charts", RunE: func(*cobra.Command, []string) error { return release.Charts(s.dist, s.options) }},
		&cobra.Command{Use: "all", Short: "Everything", RunE: func(c *cobra.Command, _ []string) error { return s.all(c.Context()) }},
	)
	return command
}

// complete reads what flags name.
func (s *settings) complete() error {
	seconds, err := strconv.ParseInt(s.created, 10, 64)
	if err != nil {
		return fmt.Errorf("--created %q is not a number of seconds", s.created)
	}
	if s.options.Release.Version == "" {
		return fmt.Errorf("--version is empty; give a version, e.g. v1.2.3")
	}
	s.options.Release.Created = time.Unix(seconds, 0)
	if s.to != "" {
		s.options.Repository = s.to + "/landscaper"
	}
	if s.key == "" {
		return nil
	}
	s.options.Key, err = os.ReadFile(s.key)
	return err
}

// images makes the images, and pushes them where that is wanted.
func (s *settings) images(ctx context.Context) error {
	set, err := release.Images(s.options.Programs, s.options.Release)
	if err != nil {
		return err
	}
	if err := set.WriteLayout(filepath.Join(s.dist, release.ImagesFolder), s.options.Release.Version); err != nil {
		return err
	}
	return s.pushImages(ctx, set)
}

func (s *settings) pushImages(ctx context.Context, set *release.Set) error {
	digest, err := set.Index.Digest()
	s.options.Digest = digest.String()
	if err == nil && s.to != "" {
		if err = set.Push(ctx, s.options.Repository, s.options.Release.Version, s.plainHTTP); err == nil {
			err = s.sign(ctx, s.options.Repository, digest)
		}
	}
	if err == nil {
		_, err = fmt.Printf("%s:%s@%s\n", s.options.Repository, s.options.Release.Version, digest)
	}
	return err
}

// sign signs what was pushed, where there is a key.
func (s *settings) sign(ctx context.Context, repository string, digest v1.Hash) error {
	if len(s.options.Key) == 0 {
		return nil
	}
	return release.Sign(ctx, repository, digest, s.options.Key, s.plainHTTP)
}

// all makes the whole release, and pushes images, manifests and charts where that is wanted.
func (s *settings) all(ctx context.Context) error {
	set, err := release.Make(s.dist, s.options)
	if err != nil {
		return err
	}
	if err := s.pushImages(ctx, set); err != nil || s.to == "" {
		return err
	}
	artifact, err := release.Artifact(filepath.Join(s.dist, release.ManifestsFolder), s.options.Release)
	if err != nil {
		return err
	}
	charts, err := release.ChartArtifacts(s.options)
	if err != nil {
		return err
	}
	// All at once, since each signature is looked for again after a pause. What they name, the images, is there.
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.push(ctx, "manifests", s.options.Release.Version, artifact) })
	for _, chart := range charts {
		group.Go(func() error { return s.push(ctx, "charts/"+chart.Name, chart.Tag, chart.Image) })
	}
	return group.Wait()
}

// push pushes an artifact to a repository, and signs it where there is a key.
func (s *settings) push(ctx context.Context, path, tag string, artifact v1.Image) error {
	digest, err := artifact.Digest()
	if err != nil {
		return err
	}
	pushed, err := release.PushArtifact(ctx, s.to+"/"+path, tag, artifact, s.plainHTTP)
	if err == nil {
		err = s.sign(ctx, s.to+"/"+path, digest)
	}
	if err == nil {
		_, err = fmt.Println(pushed)
	}
	return err
}
