// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Endpoint is where the API server reaches the webhooks: a Service or a URL.
type Endpoint struct {
	service types.NamespacedName
	port    int32
	url     *url.URL
}

// ParseEndpoint reads an endpoint from a Service as namespace/name with a port, or else from a URL that begins with https. It fails when
// neither or both are given.
func ParseEndpoint(service string, port int32, address string) (Endpoint, error) {
	switch {
	case service == "" && address == "":
		return Endpoint{}, errors.New("say where the API server reaches the webhooks: --webhook-service or --webhook-url")
	case service != "" && address != "":
		return Endpoint{}, errors.New("give --webhook-service or --webhook-url, not both")
	case service != "":
		return serviceEndpoint(service, port)
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "https" || parsed.Hostname() == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return Endpoint{}, errors.New("--webhook-url has to be https://host, with a port and a path if needed")
	}
	return Endpoint{url: parsed}, nil
}

func serviceEndpoint(service string, port int32) (Endpoint, error) {
	namespace, name, ok := strings.Cut(service, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1035Label(name)) > 0 {
		return Endpoint{}, fmt.Errorf("--webhook-service has to be namespace/name, not %q", service)
	}
	if len(validation.IsValidPortNum(int(port))) > 0 {
		return Endpoint{}, fmt.Errorf("--webhook-service-port has to be a port, not %d", port)
	}
	return Endpoint{service: types.NamespacedName{Namespace: namespace, Name: name}, port: port}, nil
}

// Namespace is that of the Service, "" without one.
func (e Endpoint) Namespace() string { return e.service.Namespace }

// hosts are the names under which the API server calls.
func (e Endpoint) hosts() []string {
	if e.url != nil {
		return []string{e.url.Hostname()}
	}
	return []string{e.service.Name + "." + e.service.Namespace + ".svc"}
}

// client tells the API server how to call a path.
func (e Endpoint) client(path string, authorities []byte) admissionregistrationv1.WebhookClientConfig {
	if e.url != nil {
		address := e.url.JoinPath(path).String() // #nosec G125 -- the path is a constant of ours
		return admissionregistrationv1.WebhookClientConfig{URL: &address, CABundle: authorities}
	}
	return admissionregistrationv1.WebhookClientConfig{CABundle: authorities, Service: &admissionregistrationv1.ServiceReference{
		Namespace: e.service.Namespace, Name: e.service.Name, Port: &e.port, Path: &path,
	}}
}

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
	// owners are the bindings that the registration belonged to when it was seen last.
	owners []metav1.OwnerReference
}

// bindings are the ClusterRoleBindings that give the process its rights, in flux/webhooks and in the chart. The registration belongs to those that
// there are: when the webhooks are uninstalled it goes with them, and the API server refuses nothing that nobody validates.
var bindings = []string{"landscaper-webhooks-webhooks", "landscaper:webhooks"}

// publish makes the API server call the webhooks and trust the authorities, given as PEM.
func (r *registration) publish(ctx context.Context, authorities []byte) error {
	current := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	err := r.live.Get(ctx, client.ObjectKey{Name: ConfigurationName}, current)
	switch {
	case apierrors.IsNotFound(err):
		err = r.create(ctx, authorities)
	case err == nil:
		err = r.update(ctx, current, authorities)
	}
	if err != nil {
		return fmt.Errorf("register the webhooks in ValidatingWebhookConfiguration %s: %w", ConfigurationName, err)
	}
	r.declared = true
	return nil
}

// create declares the registration, also one that has gone because its owners were replaced.
func (r *registration) create(ctx context.Context, authorities []byte) error {
	owners, err := r.findOwners(ctx)
	if err != nil {
		return err
	}
	if r.declared && !isReplaced(r.owners, owners) {
		ctrl.LoggerFrom(ctx).Info("somebody has removed the webhook configuration: nothing is validated until a process starts anew",
			"name", ConfigurationName)
		return nil
	}
	err = r.client.Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ConfigurationName, OwnerReferences: owners}, Webhooks: r.webhooks(authorities),
	})
	if err == nil {
		r.owners = owners
	}
	return err
}

// findOwners returns the bindings that there are. A process that works on another cluster may not find any; then the registration stays.
func (r *registration) findOwners(ctx context.Context) ([]metav1.OwnerReference, error) {
	kind := rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding")
	var owners []metav1.OwnerReference
	for _, name := range bindings {
		binding := &metav1.PartialObjectMetadata{}
		binding.SetGroupVersionKind(kind)
		err := r.live.Get(ctx, client.ObjectKey{Name: name}, binding)
		switch {
		case apierrors.IsNotFound(err):
		case apierrors.IsForbidden(err):
			ctrl.LoggerFrom(ctx).Info("the webhook configuration stays when this binding goes, because it may not be read", "binding", name)
		case err != nil:
			return nil, fmt.Errorf("read ClusterRoleBinding %s: %w", name, err)
		default:
			owners = append(owners, metav1.OwnerReference{
				APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: name, UID: binding.UID,
			})
		}
	}
	return owners, nil
}

// isReplaced reports whether all former owners have gone and there are other ones: not a person has removed what belonged to them.
func isReplaced(former, now []metav1.OwnerReference) bool {
	return len(former) > 0 && len(now) > 0 && !slices.ContainsFunc(former, func(o metav1.OwnerReference) bool { return slices.Contains(now, o) })
}

// owned returns the references of an object with those of the owners put in. Those of others stay.
func owned(references, owners []metav1.OwnerReference) []metav1.OwnerReference {
	kept := slices.DeleteFunc(slices.Clone(references), func(reference metav1.OwnerReference) bool {
		return slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.Kind == reference.Kind && o.Name == reference.Name })
	})
	return append(kept, owners...)
}

func (r *registration) update(ctx context.Context, current *admissionregistrationv1.ValidatingWebhookConfiguration, authorities []byte) error {
	before := current.DeepCopy()
	if !r.declared {
		owners, err := r.findOwners(ctx)
		if err != nil {
			return err
		}
		current.Webhooks, current.OwnerReferences = r.webhooks(authorities), owned(current.OwnerReferences, owners)
	}
	r.owners = slices.DeleteFunc(slices.Clone(current.OwnerReferences), func(o metav1.OwnerReference) bool { return !slices.Contains(bindings, o.Name) })
	for i := range current.Webhooks {
		current.Webhooks[i].ClientConfig.CABundle = authorities
	}
	if equality.Semantic.DeepEqual(before, current) {
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
