// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bytes"
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// ConfigurationName is the name of the ValidatingWebhookConfiguration.
const ConfigurationName = "landscaper-validation-webhook"

// callTimeout is how long the API server waits for an answer, in seconds.
const callTimeout = 15

// registration says to the API server which webhooks there are. The process declares them once; afterwards it only keeps the authorities
// up to date. So two releases that run side by side during an update do not fight, and who removes the configuration has removed it.
type registration struct {
	client   client.Client
	live     client.Reader
	kinds    []Kind
	endpoint Endpoint
	declared bool
}

// publish makes the API server call the webhooks and trust the authorities, given as PEM.
func (r *registration) publish(ctx context.Context, authorities []byte) error {
	current := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	err := r.live.Get(ctx, client.ObjectKey{Name: ConfigurationName}, current)
	switch {
	case apierrors.IsNotFound(err) && r.declared:
		ctrl.LoggerFrom(ctx).Info("somebody has removed the webhook configuration: nothing is validated until a process starts anew",
			"name", ConfigurationName)
		return nil
	case apierrors.IsNotFound(err):
		current.Name, current.Webhooks = ConfigurationName, r.webhooks(authorities)
		err = r.client.Create(ctx, current)
	case err == nil:
		err = r.update(ctx, current, authorities)
	}
	if err != nil {
		return fmt.Errorf("register the webhooks in ValidatingWebhookConfiguration %s: %w", ConfigurationName, err)
	}
	r.declared = true
	return nil
}

func (r *registration) update(ctx context.Context, current *admissionregistrationv1.ValidatingWebhookConfiguration, authorities []byte) error {
	changed := false
	if wanted := r.webhooks(authorities); !r.declared && !equality.Semantic.DeepEqual(current.Webhooks, wanted) {
		current.Webhooks, changed = wanted, true
	}
	for i := range current.Webhooks {
		trusted := &current.Webhooks[i].ClientConfig
		if !bytes.Equal(trusted.CABundle, authorities) {
			trusted.CABundle, changed = authorities, true
		}
	}
	if !changed {
		return nil
	}
	return r.client.Update(ctx, current)
}

// remove makes the API server call no webhook.
func (r *registration) remove(ctx context.Context) error {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: ConfigurationName}}
	if err := r.client.Delete(ctx, configuration); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove ValidatingWebhookConfiguration %s: %w", ConfigurationName, err)
	}
	return nil
}

func (r *registration) webhooks(authorities []byte) []admissionregistrationv1.ValidatingWebhook {
	var webhooks []admissionregistrationv1.ValidatingWebhook
	for i := range r.kinds {
		webhooks = append(webhooks, described(&r.kinds[i], r.endpoint, authorities))
	}
	return webhooks
}

// described returns the webhook of a kind, with every field that the API server would fill in.
func described(kind *Kind, endpoint Endpoint, authorities []byte) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name:         kind.webhook(),
		ClientConfig: endpoint.client(kind.path(), authorities),
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{v1alpha1.GroupName}, APIVersions: []string{v1alpha1.GroupVersion.Version},
				Resources: []string{kind.plural}, Scope: new(admissionregistrationv1.AllScopes),
			},
		}},
		FailurePolicy:     new(admissionregistrationv1.Fail),
		MatchPolicy:       new(admissionregistrationv1.Equivalent),
		NamespaceSelector: &metav1.LabelSelector{},
		ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: v1alpha1.SkipValidationLabel, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"true"}},
		}},
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          new(int32(callTimeout)),
		AdmissionReviewVersions: []string{"v1"},
		MatchConditions:         conditions(kind),
	}
}

// conditions keep the API server from calling for updates that are let through anyway: so finalizers and annotations can be written, and
// deletions end, while no webhook server runs.
func conditions(kind *Kind) []admissionregistrationv1.MatchCondition {
	changed := "request.operation == 'CREATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"
	if kind.owned {
		changed += " || has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, o.kind == 'Installation' && " +
			"!(has(oldObject.metadata.ownerReferences) && o in oldObject.metadata.ownerReferences))"
	}
	return []admissionregistrationv1.MatchCondition{
		{Name: "not-in-deletion", Expression: "request.operation == 'CREATE' || !has(object.metadata.deletionTimestamp)"},
		{Name: "new-spec", Expression: changed},
	}
}
