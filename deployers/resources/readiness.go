// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
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
type ReadinessChecks struct {
	Session *Session
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
	if IsCRD(object) {
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
func (c *ReadinessChecks) Default(ctx context.Context, subjects []Subject) ([]Subject, Progress, error) {
	var unready []Subject
	var progress Progress
	for i, subject := range subjects {
		ref := subject.Resource
		if err := c.Session.Step("deployer: during readiness check - resource %s of type %s", pathOf(ref), ref.Kind); err != nil {
			return append(unready, unread(subjects[i:])...), progress, err
		}
		subject, err := c.look(ctx, subject)
		if err != nil {
			return append(unready, unread(subjects[i:])...), progress, err
		}
		if subject.lack != "" {
			progress.Wait(subject.lack, append(subject.pods, Watched(c.Session.Cluster, ref))...)
			unready = append(unready, subject)
		}
	}
	return unready, progress, nil
}

// look returns a subject with what it lacks to be ready.
func (c *ReadinessChecks) look(ctx context.Context, subject Subject) (Subject, error) {
	s := c.Session
	seen := Subject{Resource: subject.Resource, GoesByItself: subject.GoesByItself}
	if subject.lack != "" && s.Changed != nil && !slices.ContainsFunc(append(subject.pods, Watched(s.Cluster, subject.Resource)), s.Changed) {
		return subject, nil
	}
	live, err := liveOf(ctx, s, subject)
	if err != nil && !IsGone(err) {
		return subject, err
	}
	if live == nil && subject.GoesByItself {
		return seen, nil
	}
	lack, err := c.Health.lack(ctx, subject.Resource, live)
	if live == nil || lack == "" && err == nil {
		seen.lack = foreign.Beginning(lack, MaxReason)
		return seen, err
	}
	why, pods := c.trouble(ctx, live)
	if why != "" {
		lack, err = lack+"; "+why, explained(err, why)
	}
	seen.lack, seen.pods = foreign.Beginning(lack, MaxReason), pods
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

func liveOf(ctx context.Context, s *Session, subject Subject) (*unstructured.Unstructured, error) {
	if subject.Live != nil {
		return subject.Live, nil
	}
	return s.Served.Get(ctx, s.Cluster, subject.Resource)
}

func pathOf(ref managedresource.ResourceReference) string {
	if ref.Namespace == "" {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}

func definitionReady(definition *unstructured.Unstructured) string {
	if HasCondition(definition, "Established", "True") {
		return ""
	}
	if refused := Condition(definition, "NamesAccepted"); refused["status"] == "False" {
		return fmt.Sprintf("its names are not accepted: %v", refused["message"])
	}
	return "it is not established yet"
}

func podReady(pod *unstructured.Unstructured) string {
	ready := Condition(pod, "Ready")
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
	if failed := Condition(object, "ReplicaFailure"); failed != nil && failed["status"] != "False" {
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

// reasonFailed says that an object will not become ready without a change.
const reasonFailed = "HealthCheckFailed"

// Health is which checks Checks.Default makes beside the built-in ones of spec/deployers.md §6.4. The zero value makes none.
type Health struct {
	checks map[schema.GroupKind]healthRules
	// byStatus asks kstatus about kinds without a built-in check, and which objects have failed.
	byStatus bool
	// onlyChecks switches everything but the checks of the user off.
	onlyChecks bool
}

// NewHealth reads a configuration. The error carries the code ERR_CONFIGURATION_PROBLEM and names the expressions that cannot be used.
func NewHealth(config *managedresource.ReadinessCheckConfiguration, strategy managedresource.UpdateStrategy) (Health, error) {
	checks, err := compileExpressions("readinessChecks.healthChecks", config.HealthChecks)
	if err != nil {
		return Health{}, Misconfigured("%w", err)
	}
	byStatus := strategy == managedresource.UpdateStrategyApply
	if config.KStatus != nil {
		byStatus = *config.KStatus
	}
	return Health{checks: checks, byStatus: byStatus && !config.DisableDefault, onlyChecks: config.DisableDefault}, nil
}

// Asks reports whether more is asked of the objects of a kind than that they exist.
func (h Health) Asks(apiVersion, kind string) bool {
	return h.checks[schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()] != nil ||
		!h.onlyChecks && (h.byStatus || HasReadinessRule(apiVersion, kind))
}

// Asked returns the subjects that Checks.Default is to be asked about: all, or with disableDefault those that have a check of the user.
func (h Health) Asked(subjects []Subject) []Subject {
	if !h.onlyChecks {
		return subjects
	}
	return slices.DeleteFunc(slices.Clone(subjects), func(s Subject) bool { return !h.Asks(s.Resource.APIVersion, s.Resource.Kind) })
}

// lack returns what an object lacks to be ready, "" when nothing. The error says that it has failed.
func (h Health) lack(ctx context.Context, ref managedresource.ResourceReference, live *unstructured.Unstructured) (string, error) {
	if live == nil {
		return fmt.Sprintf("%s does not exist", ref), nil
	}
	kind := live.GroupVersionKind().GroupKind()
	if rules := h.checks[kind]; rules != nil {
		verdict, err := rules.of(ctx, live)
		if err != nil {
			return "", Misconfigured("%s: %w", ref, err)
		}
		return lackIn(ref, verdict)
	}
	lack := NotReady(live)
	switch hasRule := IsCRD(live) || readinessRules[kind] != nil; {
	case h.byStatus && !hasRule:
		return lackIn(ref, resultByStatus(ctx, live))
	case lack == "":
		return "", nil
	case h.byStatus:
		if verdict := resultByStatus(ctx, live); verdict.Status == status.FailedStatus {
			return lackIn(ref, verdict)
		}
	}
	return fmt.Sprintf("%s is not ready: %s", ref, lack), nil
}

// explained adds to the error of an object that has failed what its Pods say.
func explained(err error, why string) error {
	var failed *protocol.Failure
	if !errors.As(err, &failed) || failed.Reason != reasonFailed {
		return err
	}
	return &protocol.Failure{Kind: failed.Kind, Reason: failed.Reason, Err: fmt.Errorf("%w; %s", failed.Err, why)}
}

// ForgetFailedRuns takes from the records of Jobs that are not ready that they have run, when the error says that an object has failed: the next job
// runs them again.
func ForgetFailedRuns(records []managedresource.ManagedResourceStatus, unready []Subject, err error) {
	var failed *protocol.Failure
	if !errors.As(err, &failed) || failed.Reason != reasonFailed {
		return
	}
	for i := range records {
		if slices.ContainsFunc(unready, func(s Subject) bool { return IdentityOf(s.Resource) == IdentityOf(records[i].Resource) }) {
			records[i].Digest = ""
		}
	}
}

// lackIn words a verdict.
func lackIn(ref managedresource.ResourceReference, verdict *status.Result) (string, error) {
	switch verdict.Status {
	case status.CurrentStatus:
		return "", nil
	case status.FailedStatus:
		return "", &protocol.Failure{Kind: protocol.Stalled, Reason: reasonFailed, Err: fmt.Errorf("%s has failed: %s", ref, verdict.Message)}
	}
	return fmt.Sprintf("%s is not ready: %s", ref, verdict.Message), nil
}
