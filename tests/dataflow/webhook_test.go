// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// silentWebhook registers a webhook for new objects of the scene at which nobody answers, and waits until the API server asks it.
func (s *scene) silentWebhook(resource string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	s.T.Helper()
	url, none := "https://127.0.0.1:1/", admissionregistrationv1.SideEffectClassNone
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "silent-" + s.Namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "silent.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &url},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.Namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{v1alpha1.GroupName}, APIVersions: []string{"*"}, Resources: []string{resource},
				},
			}},
		}},
	}
	require.NoError(s.T, s.Client().Create(s.Ctx, config))
	s.T.Cleanup(func() { _ = s.Client().Delete(s.Ctx, config) }) // the test deletes it earlier when it gets there
	require.Eventually(s.T, func() bool {
		probe := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: s.Namespace}}
		return apierrors.IsInternalError(s.Client().Create(s.Ctx, probe, client.DryRunAll))
	}, landscapePatience, tick, "the API server asks the webhook")
	return config
}

func TestAWebhookThatIsDownIsWaitedFor(t *testing.T) {
	s := newScene(t)
	config := s.silentWebhook("executions")
	s.install("root", object{"blueprint": inline(object{"deployExecutions": goTemplate("deployItems:\n" + mockItem("item", "{}"))})})
	waiting := s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
		return inst.Status.LastError != nil && slices.Contains(inst.Status.LastError.Codes, v1alpha1.ErrorWebhook)
	})
	assert.False(t, waiting.Status.Phase.IsFinal(), "the job goes on")
	assert.Contains(t, waiting.Status.LastError.Message, "silent.example.com")

	require.NoError(t, s.Client().Delete(s.Ctx, config))
	assert.Nil(t, s.succeeded("root").Status.LastError)
	s.RequireJobs(1, "root")
}
