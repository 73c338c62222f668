// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// LivenessInterval is the time between two renewals. A Lease outlives three of them.
const LivenessInterval = 20 * time.Second

// DeployerClaim says which DeployItems a deployer carries out.
type DeployerClaim struct {
	// Deployer is its name, and Identity what it writes into the status of DeployItems.
	Deployer string `json:"deployer"`
	Identity string `json:"identity"`
	// Types are the types of DeployItems.
	Types []string `json:"types"`
	// TargetSelectors select the Targets of its DeployItems; none selects all.
	TargetSelectors []v1alpha1.TargetSelector `json:"targetSelectors,omitempty"`
	// TargetsOnly leaves DeployItems without Target to others.
	TargetsOnly bool `json:"targetsOnly,omitempty"`
	// Namespaces are those that it watches; none means all.
	Namespaces []string `json:"namespaces,omitempty"`
	// LabelSelector selects DeployItems by their labels; empty selects all.
	LabelSelector string `json:"labelSelector,omitempty"`
}

// DeployerClaimOf returns what a Lease says, and an error where that cannot be read.
func DeployerClaimOf(lease *coordinationv1.Lease) (claim DeployerClaim, err error) {
	if err = json.Unmarshal([]byte(lease.Annotations[v1alpha1.DeployerServesAnnotation]), &claim); err != nil {
		err = fmt.Errorf("annotation %s of Lease %s/%s is not a JSON object with types; let its deployer write it: %w",
			v1alpha1.DeployerServesAnnotation, lease.Namespace, lease.Name, err)
	}
	return claim, err
}

// Serves reports whether the deployer carries out an item. Its Target is nil where it names none, or one that does not exist.
func (c *DeployerClaim) Serves(item *v1alpha1.DeployItem, target *v1alpha1.Target) bool {
	selector, err := labels.Parse(c.LabelSelector)
	switch {
	case err != nil, !selector.Matches(labels.Set(item.Labels)), !slices.Contains(c.Types, item.Spec.Type),
		len(c.Namespaces) > 0 && !slices.Contains(c.Namespaces, item.Namespace):
		return false
	case item.Spec.Target == nil:
		return !c.TargetsOnly
	}
	return len(c.TargetSelectors) == 0 || target != nil && Selected(c.TargetSelectors, target)
}

// LivenessOptions of a Liveness.
type LivenessOptions struct {
	// Namespace of the Lease in the landscaper cluster: that of the controller, or it does not count. Required.
	Namespace string
	// Namespaces are those that the deployer watches; none means all.
	Namespaces []string
	// LabelSelector selects the DeployItems that the deployer watches; empty selects all.
	LabelSelector string
	// Interval is the time between two renewals; 0 means 20 s.
	Interval time.Duration
}

// Liveness renews the Lease of one deployer.
type Liveness struct {
	keeper   LeaseKeeper
	interval time.Duration
}

// NewLiveness returns the Liveness of a deployer. Config leads to the landscaper cluster. Deployers that carry out other DeployItems have Leases of their own, also
// with one identity; Pods of the same deployer share theirs.
func NewLiveness(config *rest.Config, options LivenessOptions, claim DeployerClaim) (*Liveness, error) {
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
	interval := cmp.Or(options.Interval, LivenessInterval)
	seconds, sum := max(int32((3*interval).Seconds()), 1), sha256.Sum256(serves)
	fill := func(of *coordinationv1.Lease) {
		now := metav1.NowMicro()
		of.Spec.HolderIdentity, of.Spec.LeaseDurationSeconds, of.Spec.RenewTime = &claim.Identity, &seconds, &now
		metav1.SetMetaDataLabel(&of.ObjectMeta, v1alpha1.DeployerLeaseLabel, "true")
		metav1.SetMetaDataAnnotation(&of.ObjectMeta, v1alpha1.DeployerServesAnnotation, string(serves))
	}
	name := fmt.Sprintf("%s%x", v1alpha1.DeployerLeasePrefix, sum[:8])
	return &Liveness{interval: interval, keeper: LeaseKeeper{Leases: client.Leases(options.Namespace), Name: name, Fill: fill}}, nil
}

// Run renews the Lease until ctx ends, and logs the first of several failures. It always returns nil: a deployer works without its Lease, too.
func (h *Liveness) Run(ctx context.Context) error {
	for told := false; ; {
		renewing, cancel := context.WithTimeout(ctx, h.interval)
		err := h.keeper.Renew(renewing)
		cancel()
		if err != nil && !told {
			ctrl.Log.WithName("liveness").Info("the deployer cannot renew its Lease: DeployItems that wait for it fail after the pickup timeout; "+
				"let it get, create and update Leases in this namespace", "lease", h.keeper.Name, "problem", err.Error())
		}
		told = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(h.interval):
		}
	}
}

// Selected reports whether any of the selectors selects the target.
func Selected(selectors []v1alpha1.TargetSelector, target *v1alpha1.Target) bool {
	return slices.ContainsFunc(selectors, func(selector v1alpha1.TargetSelector) bool {
		return names(selector.Targets, target) &&
			satisfies(target.GetAnnotations(), selector.Annotations) && satisfies(target.GetLabels(), selector.Labels)
	})
}

// names reports whether one of the references names the target; no references name every target.
func names(references []v1alpha1.ObjectReference, target *v1alpha1.Target) bool {
	return len(references) == 0 || slices.ContainsFunc(references, func(ref v1alpha1.ObjectReference) bool {
		return ref.Name == target.Name && (ref.Namespace == "" || ref.Namespace == target.Namespace)
	})
}

// satisfies reports whether a map of annotations or labels meets all requirements.
func satisfies(have map[string]string, requirements []v1alpha1.Requirement) bool {
	return !slices.ContainsFunc(requirements, func(requirement v1alpha1.Requirement) bool {
		value, has := have[requirement.Key]
		holds := operators[requirement.Operator]
		return holds == nil || !holds(value, has, requirement.Values)
	})
}

// IsOperator reports whether a requirement may have this operator.
func IsOperator(name string) bool { return operators[name] != nil }

// operators follow the label selectors of Kubernetes: != and notin also hold where the key is missing.
var operators = map[string]func(value string, has bool, wanted []string) bool{
	"=":      isIn,
	"==":     isIn,
	"in":     isIn,
	"!=":     isNotIn,
	"notin":  isNotIn,
	"exists": func(_ string, has bool, _ []string) bool { return has },
	"!":      func(_ string, has bool, _ []string) bool { return !has },
	"gt":     compares(func(have, want int64) bool { return have > want }),
	"lt":     compares(func(have, want int64) bool { return have < want }),
}

func isIn(value string, has bool, wanted []string) bool { return has && slices.Contains(wanted, value) }

func isNotIn(value string, has bool, wanted []string) bool { return !isIn(value, has, wanted) }

func compares(holds func(have, want int64) bool) func(string, bool, []string) bool {
	return func(value string, has bool, wanted []string) bool {
		if !has || len(wanted) != 1 {
			return false
		}
		have, errHave := strconv.ParseInt(value, 10, 64)
		want, errWant := strconv.ParseInt(wanted[0], 10, 64)
		return errHave == nil && errWant == nil && holds(have, want)
	}
}
