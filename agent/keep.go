// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// Keep lets the requests of a link go while the landscaper cluster answers, until ctx ends; from then on none waits. It is for processes without a
// heartbeat: they ask only when they start, when a request has failed on its way, and when the files have changed. The error says that the link cannot be
// used.
func (l *Link) Keep(ctx context.Context) error {
	defer l.retire()
	asker, err := rest.HTTPClientFor(l.probeConfig())
	if err != nil {
		return fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	for pace := (&tempo{}); ctx.Err() == nil; {
		began := time.Now()
		if pace.within(ctx, func(ctx context.Context) error { return l.ask(ctx, asker) }) != nil {
			l.down()
			kit.Sleep(ctx, probeInterval-time.Since(began))
			l.refresh()
			continue
		}
		l.up()
		l.untilDoubt(ctx)
		kit.Sleep(ctx, doubtInterval-time.Since(began))
	}
	return nil
}

// ask fails where the landscaper cluster does not answer. What it says does not matter.
func (l *Link) ask(ctx context.Context, asker *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.line().base.JoinPath("version").String(), nil)
	if err != nil {
		return err
	}
	answer, err := asker.Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// untilDoubt returns when a request has failed on its way, or the files have changed.
func (l *Link) untilDoubt(ctx context.Context) {
	ticks := time.NewTicker(beatInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.suspect:
			return
		case <-ticks.C:
			if l.refresh() {
				return
			}
		}
	}
}

// refresh reads the files again; what cannot be read leaves the link as it was.
func (l *Link) refresh() bool {
	changed, err := l.Reload()
	if err != nil {
		ctrl.Log.WithName("link").Info("the kubeconfig is unusable, the last one is used on", "reason", err.Error())
	}
	return changed
}
