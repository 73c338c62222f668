// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package steady

import (
	"context"
	"maps"
	"testing"
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
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// fault is something that a landscape needs and that breaks.
type fault struct {
	// resource is what cannot be written while it is broken.
	resource schema.GroupVersionResource
	// broken makes the objects that exist while it is broken.
	broken func(s *scene, resource schema.GroupVersionResource) []client.Object
}

var (
	installations = v1alpha1.GroupVersion.WithResource("installations")
	executions    = v1alpha1.GroupVersion.WithResource("executions")
	deployItems   = v1alpha1.GroupVersion.WithResource("deployitems")
	dataObjects   = v1alpha1.GroupVersion.WithResource("dataobjects")
	configMaps    = corev1.SchemeGroupVersion.WithResource("configmaps")
)

var installFaults = map[string]fault{
	"quota of sub-installations": {installations, quota},
	"quota of executions":        {executions, quota},
	"quota of items":             {deployItems, quota},
	"quota of data":              {dataObjects, quota},
	"quota in the target":        {configMaps, quota},
	"dead webhook of executions": {executions, deadWebhook},
	"dead webhook of items":      {deployItems, deadWebhook},
	"dead webhook of the target": {configMaps, deadWebhook},
	"policy against executions":  {executions, policy},
	"policy against items":       {deployItems, policy},
	"policy against data":        {dataObjects, policy},
	"policy in the target":       {configMaps, policy},
}

var deleteFaults = map[string]fault{
	"dead webhook of executions": {executions, deadWebhook},
	"dead webhook of items":      {deployItems, deadWebhook},
	"dead webhook of the target": {configMaps, deadWebhook},
	"policy against executions":  {executions, policy},
	"policy against items":       {deployItems, policy},
	"policy in the target":       {configMaps, policy},
}

// quota forbids objects of the resource beside the root.
func quota(s *scene, resource schema.GroupVersionResource) []client.Object {
	limit := corev1.ResourceName("count/" + resource.GroupResource().String())
	allowed := "0"
	if resource == installations {
		allowed = "1"
	}
	return []client.Object{&corev1.ResourceQuota{ObjectMeta: s.Named("none-more"), Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{limit: apiresource.MustParse(allowed)},
	}}}
}

// rules select all writes to the resource, its status included.
func rules(resource schema.GroupVersionResource) admissionv1.RuleWithOperations {
	return admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
		Rule: admissionv1.Rule{
			APIGroups: []string{resource.Group}, APIVersions: []string{resource.Version}, Resources: []string{resource.Resource},
		},
	}
}

func (s *scene) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.Namespace}}
}

// deadWebhook judges writes to the resource, and does not answer.
func deadWebhook(s *scene, resource schema.GroupVersionResource) []client.Object {
	url, fail, none := "https://"+landscape.FreeAddress()+"/", admissionv1.Fail, admissionv1.SideEffectClassNone
	return []client.Object{&admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "dead.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: &url}, FailurePolicy: &fail, SideEffects: &none,
			AdmissionReviewVersions: []string{"v1"}, NamespaceSelector: s.selector(), Rules: []admissionv1.RuleWithOperations{rules(resource)},
		}},
	}}
}

// policy refuses all writes to the resource.
func policy(s *scene, resource schema.GroupVersionResource) []client.Object {
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
				Validations: []admissionv1.Validation{{Expression: "false", Message: "none of these here"}},
			},
		},
	}
}

// probes are valid objects of the resources that faults forbid.
var probes = map[schema.GroupVersionResource]object{
	installations: {"kind": "Installation", "spec": object{"blueprint": object{"inline": object{"filesystem": object{}}}}},
	executions:    {"kind": "Execution", "spec": object{}},
	deployItems:   {"kind": "DeployItem", "spec": object{"type": "example.com/none"}},
	dataObjects:   {"kind": "DataObject", "data": "any"},
	configMaps:    {"kind": "ConfigMap"},
}

// begin makes the fault, waits until the API server acts on it, and returns what ends it.
func (f fault) begin(s *scene) (mend func()) {
	s.T.Helper()
	objects := f.broken(s, f.resource)
	for _, one := range objects {
		require.NoError(s.T, s.Client().Create(s.Ctx, one))
	}
	remove := func() {
		for _, one := range objects {
			require.NoError(s.T, client.IgnoreNotFound(s.Client().Delete(context.WithoutCancel(s.Ctx), one)))
		}
	}
	s.T.Cleanup(remove)
	require.Eventually(s.T, func() bool { return counted(s, objects[0]) || f.refused(s) }, landscape.Patience, tick, "the fault has no effect")
	return func() {
		remove()
		require.Eventually(s.T, func() bool { return !f.refused(s) }, landscape.Patience, tick, "the fault does not end")
	}
}

// tick is how often to ask where nothing can be watched.
const tick = 100 * time.Millisecond

// counted reports whether the object is a quota that the API server has taken up.
func counted(s *scene, object client.Object) bool {
	quota, ok := object.(*corev1.ResourceQuota)
	return ok && s.Client().Get(s.Ctx, client.ObjectKeyFromObject(quota), quota) == nil && len(quota.Status.Hard) > 0
}

// refused reports whether the API server acts on the fault. It asks, without writing, for an object of the resource.
func (f fault) refused(s *scene) bool {
	s.T.Helper()
	probe := &unstructured.Unstructured{Object: object{}}
	maps.Copy(probe.Object, probes[f.resource])
	probe.SetAPIVersion(f.resource.GroupVersion().String())
	probe.SetNamespace(s.Namespace)
	probe.SetName("probe")
	err := s.Client().Create(s.Ctx, probe, client.DryRunAll)
	return err != nil && !apierrors.IsAlreadyExists(err)
}

func TestFailedInstallStandsStill(t *testing.T) {
	for name, f := range installFaults {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Target("cluster")
			mend := f.begin(s)
			s.install("first")
			s.awaitTrouble()
			s.RequireStandstill()
			mend()
			s.healthy("first")
			s.Delete(s.Installation("root"))
			s.gone()
		})
	}
}

func TestFailedDeletionStandsStill(t *testing.T) {
	for name, f := range deleteFaults {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Target("cluster")
			s.install("first")
			s.healthy("first")
			mend := f.begin(s)
			s.Delete(s.Installation("root"))
			s.awaitTrouble()
			s.RequireStandstill()
			mend()
			s.gone()
		})
	}
}

// TestFailedUpdateOfADeadTargetStandsStill closes the API of the target while something changes, and opens it again.
func TestFailedUpdateOfADeadTargetStandsStill(t *testing.T) {
	s := newScene(t)
	door := s.targetBehindDoor()
	s.install("first")
	s.healthy("first")
	door.Close()
	s.install("second")
	s.awaitTrouble()
	s.RequireStandstill()
	require.NoError(t, door.Open())
	s.healthy("second")
	door.Close()
	s.Delete(s.Installation("root"))
	s.awaitTrouble()
	s.RequireStandstill()
	require.NoError(t, door.Open())
	s.gone()
}

// TestRevokedRightsStandStill takes away a right of the user that the Target names.
func TestRevokedRightsStandStill(t *testing.T) {
	s := newScene(t)
	revoke := s.targetWithRights("configmaps", "secrets")
	s.install("first")
	s.healthy("first")
	grant := revoke()
	s.install("second")
	s.awaitTrouble()
	s.RequireStandstill()
	grant()
	s.healthy("second")
	grant = revoke()
	s.Delete(s.Installation("root"))
	s.awaitTrouble()
	s.RequireStandstill()
	grant()
	s.gone()
}
