// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package liveness

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/lease"
)

// Times of the Lease of a deployer.
const (
	// DefaultInterval is the time between two renewals.
	DefaultInterval = 20 * time.Second
	// renewals is how many of them a Lease outlives.
	renewals = 3
)

// Options of a Holder.
type Options struct {
	// Namespace of the Lease in the landscaper cluster: that of the controller, or it does not count. Required.
	Namespace string
	// Namespaces are those that the deployer watches; none means all.
	Namespaces []string
	// LabelSelector selects the DeployItems that the deployer watches; empty selects all.
	LabelSelector string
	// Interval is the time between two renewals; 0 means 20 s.
	Interval time.Duration
}

// Holder renews the Lease of one deployer.
type Holder struct {
	keeper   lease.Keeper
	identity string
	serves   string
	interval time.Duration
	// told says that a failure was logged.
	told bool
}

// New returns the Holder of a deployer. Config leads to the landscaper cluster.
func New(config *rest.Config, options Options, claim Claim) (*Holder, error) {
	if options.Namespace == "" {
		return nil, errors.New("the Lease of the deployer has no namespace; set Options.Liveness.Namespace")
	}
	claim.Namespaces, claim.LabelSelector = options.Namespaces, options.LabelSelector
	serves, err := json.Marshal(claim)
	if err != nil {
		return nil, fmt.Errorf("write what the deployer carries out: %w", err)
	}
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	h := &Holder{identity: claim.Identity, serves: string(serves), interval: cmp.Or(options.Interval, DefaultInterval)}
	h.keeper = lease.Keeper{Leases: client.Leases(options.Namespace), Name: nameOf(serves), Fill: h.fill}
	return h, nil
}

// nameOf returns the name of the Lease for what a deployer says in it. Deployers that carry out other DeployItems have Leases of their own, also with
// one identity; Pods of the same deployer share theirs.
func nameOf(serves []byte) string {
	sum := sha256.Sum256(serves)
	return v1alpha1.DeployerLeasePrefix + hex.EncodeToString(sum[:8])
}

// Run renews the Lease until ctx ends. It always returns nil: a deployer works without its Lease, too.
func (h *Holder) Run(ctx context.Context) error {
	beat := time.NewTicker(h.interval)
	defer beat.Stop()
	for {
		h.note(h.renew(ctx))
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
		}
	}
}

// note logs the first of several failures.
func (h *Holder) note(err error) {
	if err != nil && !h.told {
		ctrl.Log.WithName("liveness").Info("the deployer cannot renew its Lease: DeployItems that wait for it fail after the pickup timeout; "+
			"let it get, create and update Leases in this namespace", "lease", h.keeper.Name, "problem", err.Error())
	}
	h.told = err != nil
}

func (h *Holder) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.interval)
	defer cancel()
	return h.keeper.Renew(ctx)
}

func (h *Holder) fill(of *coordinationv1.Lease) {
	now, seconds := metav1.NowMicro(), int32((renewals * h.interval).Seconds())
	of.Spec.HolderIdentity, of.Spec.LeaseDurationSeconds, of.Spec.RenewTime = &h.identity, new(max(seconds, 1)), &now
	metav1.SetMetaDataLabel(&of.ObjectMeta, v1alpha1.DeployerLeaseLabel, "true")
	metav1.SetMetaDataAnnotation(&of.ObjectMeta, v1alpha1.DeployerServesAnnotation, h.serves)
}
