// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"maps"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Fault is something that a landscape needs and that breaks.
type Fault struct {
	// Resource is what cannot be written while it is broken.
	Resource schema.GroupVersionResource
	// Broken makes the objects that exist while it is broken: Quota, DeadWebhook or Policy.
	Broken func(s *Scene, resource schema.GroupVersionResource) []client.Object
}

// Resources that our processes write.
var (
	Installations = v1alpha1.GroupVersion.WithResource("installations")
	Executions    = v1alpha1.GroupVersion.WithResource("executions")
	DeployItems   = v1alpha1.GroupVersion.WithResource("deployitems")
	DataObjects   = v1alpha1.GroupVersion.WithResource("dataobjects")
	ConfigMaps    = corev1.SchemeGroupVersion.WithResource("configmaps")
)

// What the API server says when it refuses a write because of a fault.
const (
	QuotaMessage   = "exceeded quota"
	WebhookMessage = "failed calling webhook"
	PolicyMessage  = "none of these here"
)

// Quota forbids to create objects of the resource; of Installations it leaves room for one.
func Quota(s *Scene, resource schema.GroupVersionResource) []client.Object {
	limit := corev1.ResourceName("count/" + resource.GroupResource().String())
	allowed := "0"
	if resource == Installations {
		allowed = "1"
	}
	return []client.Object{&corev1.ResourceQuota{ObjectMeta: s.Named("none-more"), Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{limit: apiresource.MustParse(allowed)},
	}}}
}

// rules select all writes to the resource, except to its status.
func rules(resource schema.GroupVersionResource) admissionv1.RuleWithOperations {
	return admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
		Rule: admissionv1.Rule{
			APIGroups: []string{resource.Group}, APIVersions: []string{resource.Version}, Resources: []string{resource.Resource},
		},
	}
}

func (s *Scene) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.Namespace}}
}

// DeadWebhook judges writes to the resource, and does not answer.
func DeadWebhook(s *Scene, resource schema.GroupVersionResource) []client.Object {
	url, fail, none := "https://"+FreeAddress()+"/", admissionv1.Fail, admissionv1.SideEffectClassNone
	return []client.Object{&admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "dead.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: &url}, FailurePolicy: &fail, SideEffects: &none,
			AdmissionReviewVersions: []string{"v1"}, NamespaceSelector: s.selector(), Rules: []admissionv1.RuleWithOperations{rules(resource)},
		}},
	}}
}

// Policy refuses all writes to the resource.
func Policy(s *Scene, resource schema.GroupVersionResource) []client.Object {
	return []client.Object{
		&admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: s.Namespace, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		},
		&admissionv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: &admissionv1.MatchResources{
					NamespaceSelector: s.selector(), ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: rules(resource)}},
				},
				Validations: []admissionv1.Validation{{Expression: "false", Message: PolicyMessage}},
			},
		},
	}
}

// probes are valid objects of the resources that faults forbid.
var probes = map[schema.GroupVersionResource]map[string]any{
	Installations: {"kind": "Installation", "spec": map[string]any{"blueprint": map[string]any{"inline": map[string]any{"filesystem": map[string]any{}}}}},
	Executions:    {"kind": "Execution", "spec": map[string]any{}},
	DeployItems:   {"kind": "DeployItem", "spec": map[string]any{"type": "example.com/none"}},
	DataObjects:   {"kind": "DataObject", "data": "any"},
	ConfigMaps:    {"kind": "ConfigMap"},
}

// Begin makes the fault, waits until the API server acts on it, and returns what ends it.
func (f Fault) Begin(s *Scene) (mend func()) {
	s.T.Helper()
	objects := f.Broken(s, f.Resource)
	for _, one := range objects {
		require.NoError(s.T, s.Client().Create(s.Ctx, one))
	}
	remove := func() {
		for _, one := range objects {
			require.NoError(s.T, client.IgnoreNotFound(s.Client().Delete(context.WithoutCancel(s.Ctx), one)))
		}
	}
	s.T.Cleanup(remove)
	require.Eventually(s.T, func() bool { return counted(s, objects[0]) || f.refused(s) }, Patience, Tick, "the fault has no effect")
	return func() {
		remove()
		require.Eventually(s.T, func() bool { return !f.refused(s) }, Patience, Tick, "the fault does not end")
	}
}

// Tick is how often to ask where nothing can be watched.
const Tick = 100 * time.Millisecond

// counted reports whether the object is a quota that the API server has taken up.
func counted(s *Scene, object client.Object) bool {
	quota, ok := object.(*corev1.ResourceQuota)
	return ok && s.Client().Get(s.Ctx, client.ObjectKeyFromObject(quota), quota) == nil && len(quota.Status.Hard) > 0
}

// refused reports whether the API server acts on the fault. It asks, without writing, for an object of the resource.
func (f Fault) refused(s *Scene) bool {
	s.T.Helper()
	probe := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(probe.Object, probes[f.Resource])
	probe.SetAPIVersion(f.Resource.GroupVersion().String())
	probe.SetNamespace(s.Namespace)
	probe.SetName("probe")
	err := s.Client().Create(s.Ctx, probe, client.DryRunAll)
	return err != nil && !apierrors.IsAlreadyExists(err)
}
