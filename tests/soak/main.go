// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command soak runs what takes too long for each change, one thing after the other on a machine that does nothing else: deaths at every write, hostile
// acts at their exact pace, random landscapes, fuzz targets, guards and benchmarks. It ends when its time is over, says which share of each kind it has
// done, and remembers where the next run goes on.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	lasting := flag.Duration("time", 3*time.Hour, "how long to go on; what has begun by then is finished")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := soak(ctx, *lasting); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func soak(ctx context.Context, lasting time.Duration) error {
	all, err := kinds(ctx)
	if err != nil {
		return err
	}
	file, err := memory()
	if err != nil {
		return err
	}
	first := map[string]int{} // of each kind, the part that the next run begins with
	if content, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(content, &first); err != nil {
			return fmt.Errorf("%s: %w; remove it", file, err)
		}
	}
	var failed []string
	for end := time.Now().Add(lasting); time.Now().Before(end) && ctx.Err() == nil; {
		k := leastDone(all)
		if k == nil {
			break
		}
		p := k.parts[(first[k.name]+k.done)%len(k.parts)]
		err := p.run(ctx, k.tells)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			failed = append(failed, p.name)
		}
		k.done++
	}
	for _, k := range all {
		first[k.name] = (first[k.name] + k.done) % len(k.parts)
		fmt.Printf("%-12s %3d of %3d; the next run goes on with %s\n", k.name, k.done, len(k.parts), k.parts[first[k.name]].name)
	}
	content, err := json.Marshal(first)
	if err != nil {
		return err
	}
	if len(failed) > 0 {
		err = fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	return errors.Join(err, os.WriteFile(file, content, 0o644), context.Cause(ctx))
}

// memory is the file that remembers where the next run goes on.
func memory() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "flux-landscaper")
	return filepath.Join(dir, "soak.json"), os.MkdirAll(dir, 0o755)
}

// leastDone returns the kind of which the smallest share is done, or nil when nothing is left.
func leastDone(all []*kind) *kind {
	var least *kind
	for _, k := range all {
		if k.done < len(k.parts) && (least == nil || k.done*len(least.parts) < least.done*len(k.parts)) {
			least = k
		}
	}
	return least
}

// part is what is done in one go.
type part struct {
	name    string
	env     []string
	command []string
}

func (p part) run(ctx context.Context, tells bool) error {
	fmt.Printf("==> %s: %s\n", p.name, strings.Join(p.command, " "))
	began := time.Now()
	cmd := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	out, err := cmd.CombinedOutput()
	verdict := "ok"
	if err != nil {
		verdict = err.Error()
	}
	if err != nil || tells {
		_, _ = os.Stdout.Write(out)
	}
	fmt.Printf("    %s after %s\n", verdict, time.Since(began).Round(time.Second))
	return err
}
