// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
)

// Subject is an object whose readiness is asked for.
type Subject struct {
	// Resource names it.
	Resource managedresource.ResourceReference
	// Live is the object when it was just read or written; nil makes Checks.Default read it.
	Live *unstructured.Unstructured
	// GoesByItself says that it is a Job that Kubernetes deletes once it has ended.
	GoesByItself bool
	// lack is what the object lacked when Checks.Default last read it; empty means that it has to be read.
	lack string
	// pods are those that told why.
	pods []contract.Watched
}

// GoesByItself reports whether an object is a Job that Kubernetes deletes once it has ended, so that its absence says nothing.
func GoesByItself(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind().GroupKind()
	ttl, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "ttlSecondsAfterFinished")
	return ttl != nil && kind.Group == "batch" && kind.Kind == "Job"
}

// Checks asks for the readiness of objects on the target of a session.
type Checks struct {
	Session *resources.Session
	// Health adds checks to those of the kinds.
	Health Health
	// Confidential returns texts that no message may show. Without it nothing is shown of the logs of Pods.
	Confidential func() []string
}

// readinessRule returns what an object lacks to be ready, "" when nothing.
type readinessRule func(object *unstructured.Unstructured) string

var readinessRules = map[schema.GroupKind]readinessRule{
	{Kind: "Pod"}:                        podReady,
	{Kind: "ReplicationController"}:      replicasReady,
	{Group: "apps", Kind: "ReplicaSet"}:  replicasReady,
	{Group: "apps", Kind: "Deployment"}:  deploymentReady,
	{Group: "apps", Kind: "StatefulSet"}: statefulSetReady,
	{Group: "apps", Kind: "DaemonSet"}:   daemonSetReady,
}

// HasReadinessRule reports whether the objects of a kind run workloads, so that the default readiness check asks for more than that they exist.
func HasReadinessRule(apiVersion, kind string) bool {
	_, found := readinessRules[schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()]
	return found
}

// NotReady returns what an object lacks to be ready by the default check of its kind, "" when it is ready. A CustomResourceDefinition is ready
// when it is established, so that whoever comes next can use its kind. Kinds without a rule are ready when they exist.
func NotReady(object *unstructured.Unstructured) string {
	if objects.IsCRD(object) {
		return definitionReady(object)
	}
	rule, found := readinessRules[object.GroupVersionKind().GroupKind()]
	if !found {
		return ""
	}
	return rule(object)
}

// Default asks whether objects exist and are ready by the default check of their kind (spec/deployers.md §6.4) and by Health. It
// returns those that are not, to be read again by the next call if they may have changed, together with what they lack. The error of an
// object that has failed for good ends the job.
func (c *Checks) Default(ctx context.Context, subjects []Subject) ([]Subject, resources.Progress, error) {
	var unready []Subject
	var progress resources.Progress
	for i, subject := range subjects {
		ref := subject.Resource
		if err := c.Session.Step("deployer: during readiness check - resource %s of type %s", path(ref), ref.Kind); err != nil {
			return append(unready, unread(subjects[i:])...), progress, err
		}
		subject, err := c.look(ctx, subject)
		if err != nil {
			return append(unready, unread(subjects[i:])...), progress, err
		}
		if subject.lack != "" {
			progress.Wait(subject.lack, append(subject.pods, objects.Watched(c.Session.Cluster, ref))...)
			unready = append(unready, subject)
		}
	}
	return unready, progress, nil
}

// look returns a subject with what it lacks to be ready.
func (c *Checks) look(ctx context.Context, subject Subject) (Subject, error) {
	s := c.Session
	seen := Subject{Resource: subject.Resource, GoesByItself: subject.GoesByItself}
	if subject.lack != "" && s.Changed != nil && !slices.ContainsFunc(append(subject.pods, objects.Watched(s.Cluster, subject.Resource)), s.Changed) {
		return subject, nil
	}
	live, err := liveOf(ctx, s, subject)
	if err != nil && !objects.IsGone(err) {
		return subject, err
	}
	if live == nil && subject.GoesByItself {
		return seen, nil
	}
	lack, err := c.Health.lack(ctx, subject.Resource, live)
	if live == nil || lack == "" && err == nil {
		seen.lack = foreign.Beginning(lack, resources.MaxReason)
		return seen, err
	}
	why, pods := c.trouble(ctx, live)
	if why != "" {
		lack, err = lack+"; "+why, explained(err, why)
	}
	seen.lack, seen.pods = foreign.Beginning(lack, resources.MaxReason), pods
	return seen, err
}

// unread returns the subjects without what was read of them, which is old by the next call.
func unread(subjects []Subject) []Subject {
	plain := make([]Subject, len(subjects))
	for i, subject := range subjects {
		plain[i].Resource, plain[i].GoesByItself = subject.Resource, subject.GoesByItself
	}
	return plain
}

func liveOf(ctx context.Context, s *resources.Session, subject Subject) (*unstructured.Unstructured, error) {
	if subject.Live != nil {
		return subject.Live, nil
	}
	return s.Served.Get(ctx, s.Cluster, subject.Resource)
}

func path(ref managedresource.ResourceReference) string {
	if ref.Namespace == "" {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}

func definitionReady(definition *unstructured.Unstructured) string {
	if objects.HasCondition(definition, "Established", "True") {
		return ""
	}
	if refused := objects.Condition(definition, "NamesAccepted"); refused["status"] == "False" {
		return fmt.Sprintf("its names are not accepted: %v", refused["message"])
	}
	return "it is not established yet"
}

func podReady(pod *unstructured.Unstructured) string {
	ready := objects.Condition(pod, "Ready")
	if ready["status"] == "True" || ready["reason"] == "PodCompleted" {
		return ""
	}
	if message, _ := ready["message"].(string); message != "" {
		return message
	}
	return "condition Ready is not True"
}

func deploymentReady(object *unstructured.Unstructured) string {
	if lack := unobserved(object); lack != "" {
		return lack
	}
	want := number(object, 0, "spec", "replicas")
	for _, field := range []string{"replicas", "updatedReplicas", "availableReplicas"} {
		if have := number(object, 0, "status", field); have != want {
			return fmt.Sprintf("status.%s is %d, wanted %d", field, have, want)
		}
	}
	return ""
}

func statefulSetReady(object *unstructured.Unstructured) string {
	if lack := unobserved(object); lack != "" {
		return lack
	}
	return atLeast(object, number(object, 1, "spec", "replicas"), "updatedReplicas", "availableReplicas")
}

func replicasReady(object *unstructured.Unstructured) string {
	if lack := unobserved(object); lack != "" {
		return lack
	}
	if failed := objects.Condition(object, "ReplicaFailure"); failed != nil && failed["status"] != "False" {
		return fmt.Sprintf("replicas fail: %v", failed["message"])
	}
	return atLeast(object, number(object, 1, "spec", "replicas"), "readyReplicas")
}

func daemonSetReady(object *unstructured.Unstructured) string {
	if lack := unobserved(object); lack != "" {
		return lack
	}
	want := number(object, 0, "status", "desiredNumberScheduled")
	return atLeast(object, want-maxUnavailable(object, want), "currentNumberScheduled")
}

// maxUnavailable returns how many Pods of a DaemonSet may be missing while it is rolled out; percentages are rounded down.
func maxUnavailable(object *unstructured.Unstructured, want int64) int64 {
	if kind, _, _ := unstructured.NestedString(object.Object, "spec", "updateStrategy", "type"); kind != "RollingUpdate" {
		return 0
	}
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
	limit := intstr.Parse(fmt.Sprint(value))
	if _, isNumber := value.(int64); !isNumber && !strings.HasSuffix(limit.StrVal, "%") {
		return 0
	}
	scaled, err := intstr.GetScaledValueFromIntOrPercent(&limit, int(want), false)
	if err != nil {
		return 0
	}
	return int64(scaled)
}

func unobserved(object *unstructured.Unstructured) string {
	if number(object, 0, "status", "observedGeneration") < object.GetGeneration() {
		return "its controller has not seen generation " + strconv.FormatInt(object.GetGeneration(), 10) + " yet"
	}
	return ""
}

func atLeast(object *unstructured.Unstructured, want int64, fields ...string) string {
	for _, field := range fields {
		if have := number(object, 0, "status", field); have < want {
			return fmt.Sprintf("status.%s is %d, wanted at least %d", field, have, want)
		}
	}
	return ""
}

func number(object *unstructured.Unstructured, absent int64, path ...string) int64 {
	value, found, err := unstructured.NestedInt64(object.Object, path...)
	if err != nil || !found {
		return absent
	}
	return value
}
