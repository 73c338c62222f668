// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
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

// leaseDuration is how long an agent counts as alive after its last renewal.
const leaseDuration = 45 * time.Second

// holder holds the Lease of an Environment for one agent. Of several agents for one Environment only the one that holds it works.
type holder struct {
	notify.LeaseKeeper
	// instance is what this agent writes as holder.
	instance, version string
	now               func() time.Time
	// tempo is how long each answer may take.
	tempo tempo

	// seen is the renewal of another agent, and seenAt when it was noticed: the clocks of the two may differ.
	seen   coordinationv1.LeaseSpec
	seenAt time.Time
}

// newHolder returns the holder of the Lease of a name.
func newHolder(leases coordinationclient.LeaseInterface, name, instance, version string, now func() time.Time) *holder {
	h := &holder{instance: instance, version: version, now: now}
	h.LeaseKeeper = notify.LeaseKeeper{Leases: leases, Name: name, Fill: h.fill, Admit: h.admit, Within: h.tempo.within}
	return h
}

// heldBy says that another agent holds the Lease.
type heldBy struct{ instance string }

// Error returns the message.
func (h *heldBy) Error() string {
	return fmt.Sprintf("another agent, %q, holds the Environment; stop one of the two, or give each its own name", h.instance)
}

// admit refuses with a *heldBy to take the Lease that another agent still holds.
func (h *holder) admit(found *coordinationv1.Lease) error {
	if other := ptr.Deref(found.Spec.HolderIdentity, ""); other != "" && other != h.instance && !h.isOver(&found.Spec) {
		return &heldBy{other}
	}
	return nil
}

// isOver reports whether the agent that holds the Lease has not renewed it for as long as it said.
func (h *holder) isOver(spec *coordinationv1.LeaseSpec) bool {
	same := ptr.Deref(h.seen.HolderIdentity, "") == ptr.Deref(spec.HolderIdentity, "") && h.seen.RenewTime.Equal(spec.RenewTime)
	if !same {
		h.seen, h.seenAt = *spec, h.now()
		return false
	}
	length := time.Duration(cmp.Or(ptr.Deref(spec.LeaseDurationSeconds, 0), int32(leaseDuration.Seconds()))) * time.Second
	return h.now().Sub(h.seenAt) > length
}

func (h *holder) fill(of *coordinationv1.Lease) {
	now, seconds := metav1.NewMicroTime(h.now()), int32(leaseDuration.Seconds())
	if ptr.Deref(of.Spec.HolderIdentity, "") != h.instance {
		transitions := ptr.Deref(of.Spec.LeaseTransitions, 0) + 1
		of.Spec.AcquireTime, of.Spec.LeaseTransitions = &now, &transitions
	}
	of.Spec.HolderIdentity, of.Spec.LeaseDurationSeconds, of.Spec.RenewTime = &h.instance, &seconds, &now
	metav1.SetMetaDataLabel(&of.ObjectMeta, v1alpha1.DeployerEnvironmentLabel, strings.TrimPrefix(h.Name, v1alpha1.AgentLeasePrefix))
	if of.Annotations == nil {
		of.Annotations = map[string]string{}
	}
	of.Annotations[v1alpha1.AgentVersionAnnotation] = h.version
}

// release lets the next agent take the Lease at once. The last renewal stays, so that the Environment does not look left in between.
func (h *holder) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.tempo.usual())
	defer cancel()
	return h.Release(ctx)
}

// Bounds of the time that one answer of the landscaper cluster may take.
const (
	minAnswer = 5 * time.Second
	maxAnswer = 12 * time.Second
	// answerSlack is how often longer than the last one the next answer may take.
	answerSlack = 3
)

// tempo is how long the answer to one request may take before the landscaper cluster counts as not reached. It follows how long answers do take: a
// slow way is no partition. The zero value is ready to use; it is for one goroutine.
type tempo struct {
	last   time.Duration
	misses int
}

// usual is the time for an answer where the last one came.
func (t *tempo) usual() time.Duration { return min(max(minAnswer, answerSlack*t.last), maxAnswer) }

// limit is the time for the next answer. It grows while none comes: over a slow way the first one takes longest.
func (t *tempo) limit() time.Duration {
	limit := t.usual()
	for range t.misses {
		limit = min(2*limit, maxAnswer)
	}
	return limit
}

// within sends one request, ends it when its time is over, and learns from it. A refusal is an answer, too.
func (t *tempo) within(ctx context.Context, send func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, t.limit())
	defer cancel()
	began := time.Now()
	err := send(limited)
	var answer apierrors.APIStatus
	switch {
	case err == nil || errors.As(err, &answer):
		t.last, t.misses = time.Since(began), 0
	case limited.Err() != nil && ctx.Err() == nil:
		t.misses = min(t.misses+1, 2)
	}
	return err
}
