// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Times of the heartbeat.
const (
	beatInterval = 15 * time.Second
	// probeInterval is the time between two heartbeats while the landscaper cluster is not reached.
	probeInterval = 2 * time.Second
	// doubtInterval is the least time between two heartbeats that failed requests ask for.
	doubtInterval = time.Second
)

// pulse renews the Lease of the Environment, and tells by that whether the landscaper cluster is reached.
type pulse struct {
	link      *Link
	holder    *holder
	say       func(eventType, reason, message string)
	connected prometheus.Gauge
	// changed is called when the files of the link were read anew: the way to the landscaper cluster may be another one.
	changed func()
	// look looks for changes of the own cluster.
	look func()

	// due gets a value when a heartbeat is wanted before its time.
	due chan struct{}

	// told are the problems that were reported since all was well.
	told []string
	// known says that a heartbeat has got through once.
	known bool
	// unreadable says that the files of the link could not be read when they were last looked at.
	unreadable bool
}

// soon asks for a heartbeat before its time.
func (p *pulse) soon() {
	select {
	case p.due <- struct{}{}:
	default:
	}
}

// run beats until ctx ends. It closes held when the Lease is its own, and returns a *heldBy when another agent has taken it after that.
func (p *pulse) run(ctx context.Context, held chan<- struct{}) error {
	for isHeld := false; ; {
		p.reload()
		p.look()
		began := time.Now()
		err := p.holder.Renew(ctx)
		if ctx.Err() != nil {
			return nil
		}
		p.judge(err)
		var other *heldBy
		switch {
		case errors.As(err, &other) && isHeld:
			return other
		case err == nil && !isHeld:
			isHeld = true
			close(held)
		}
		if !p.pause(ctx, began, err) {
			return nil
		}
	}
}

// reload looks for new credentials. A file that cannot be read now leaves the ones that were.
func (p *pulse) reload() {
	changed, err := p.link.Reload()
	if err != nil && !p.unreadable {
		p.say(corev1.EventTypeWarning, "KubeconfigUnreadable", err.Error())
	}
	p.unreadable = err != nil
	if changed {
		p.changed()
	}
}

// judge opens or shuts the way for all other requests.
func (p *pulse) judge(err error) {
	var other *heldBy
	switch {
	case err == nil:
		p.connected.Set(1)
		p.link.up()
		if len(p.told) > 0 || !p.known {
			p.say(corev1.EventTypeNormal, "AgentConnected", "the landscaper cluster is reached")
		}
		p.told, p.known = nil, true
	case errors.As(err, &other):
		p.connected.Set(0)
		p.link.gate.shut()
		p.tell("AgentStandsBy", "", other.Error())
	default:
		p.connected.Set(0)
		p.link.down()
		cause, message := explained(err, p.link.renewal())
		p.tell("AgentDisconnected", cause, message)
	}
}

// tell reports each cause of a problem once until all is well again, not each time that it is met: the first failure may only be that of a connection
// that was cut, and not say why the next ones are refused. What a message says of addresses and times may differ.
func (p *pulse) tell(reason, cause, message string) {
	problem := reason + "/" + cause
	if slices.Contains(p.told, problem) {
		return
	}
	p.told = append(p.told, problem)
	p.say(corev1.EventTypeWarning, reason, message)
}

// isOfAnotherAuthority reports whether the certificate of the server was signed by nobody that is trusted.
func isOfAnotherAuthority(err error) bool {
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &unknown)
}

// explained returns which cause a problem has, and what to say of it. Renewal is how to get another credential.
func explained(err error, renewal string) (cause, message string) {
	switch {
	case isOfAnotherAuthority(err):
		return "authority", fmt.Sprintf("the certificate of the landscaper cluster is not of an authority in the kubeconfig of the agent; "+
			"put the authority that is valid now into its certificate-authority-data: %v", err)
	case apierrors.IsUnauthorized(err):
		return "credentials", "the landscaper cluster does not accept the credentials of the agent; " + renewal
	case apierrors.IsForbidden(err):
		return "rights", fmt.Sprintf("the credentials of the agent lack a right on the landscaper cluster: %v; %s", err, byLandscaper.cure)
	case apierrors.IsNotFound(err):
		return "namespace", fmt.Sprintf("the namespace of the Environment is missing on the landscaper cluster: %v; %s", err, byLandscaper.cure)
	}
	return "way", fmt.Sprintf("the landscaper cluster is not reached; deployments wait until it is: %v", err)
}

// pause waits for the next heartbeat, and returns false when ctx has ended.
func (p *pulse) pause(ctx context.Context, began time.Time, err error) bool {
	timer := time.NewTimer(intervalAfter(err) - time.Since(began))
	defer timer.Stop()
	doubts, due := p.link.suspect, p.due
	if err != nil {
		doubts, due = nil, nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	case <-due:
		return true
	case <-doubts:
	}
	soon := time.NewTimer(doubtInterval - time.Since(began))
	defer soon.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-soon.C:
		return true
	}
}

// intervalAfter is short while nobody answers, so that the work goes on soon after somebody does. Refusals are not asked about more often.
func intervalAfter(err error) time.Duration {
	var refused apierrors.APIStatus
	var other *heldBy
	switch {
	case err == nil, errors.As(err, &other):
		return beatInterval
	case errors.As(err, &refused) && refused.Status().Code >= 400 && refused.Status().Code < 429:
		return beatInterval
	}
	return probeInterval
}
