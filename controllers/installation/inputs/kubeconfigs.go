// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// Issuer issues kubeconfigs to the templates of one Installation, as template.Clusters. It has no rights of its own: it reaches a cluster
// with the credentials of the Target that the template passes, and reads a Secret that such a Target names in the namespace of the
// Installation only. Within a job the same call gives the same kubeconfig.
type Issuer struct {
	inst     *v1alpha1.Installation
	clusters *target.Clients
	live     client.Reader
	issued   *issuedCache
	// reach is what the templates may use; nil is everything.
	reach *Reach
	// Unanswered is why a cluster did not answer, so that the job is tried again.
	Unanswered error
	// Refused is why a Target was not accepted, so that the failure says so also where a template has made a text of it.
	Refused error
}

// issuedCache keeps what was issued to running jobs.
type issuedCache struct {
	cache[[sha256.Size]byte, templating.Kubeconfig]
}

// ClustersFor returns the capability for the templates of an Installation, nil when the process has none.
func (r *Reader) ClustersFor(inst *v1alpha1.Installation) *Issuer {
	if r.Clusters == nil {
		return nil
	}
	return &Issuer{
		inst: inst, clusters: r.Clusters, live: r.Live, issued: &r.issued,
	}
}

// Kubeconfig implements templating.Clusters.
func (i *Issuer) Kubeconfig(ctx context.Context, r templating.KubeconfigRequest) (templating.Kubeconfig, error) {
	switch r.Kind {
	case templating.ShootAdmin:
		return i.shootAdminKubeconfig(ctx, r.Name, r.Namespace, r.Seconds, r.Target)
	case templating.ServiceAccount:
		return i.serviceAccountKubeconfig(ctx, r.Name, r.Namespace, r.Seconds, r.Target)
	}
	return i.oidcKubeconfig(ctx, r.IssuerURL, r.ClientID, r.Target)
}

// serviceAccountKubeconfig requests a token of a service account of the target cluster.
func (i *Issuer) serviceAccountKubeconfig(ctx context.Context, name, namespace string, seconds int64, given any) (templating.Kubeconfig, error) {
	return i.once("serviceAccount", []any{name, namespace, seconds, given}, func() (templating.Kubeconfig, error) {
		cluster, err := i.open(ctx, given)
		if err != nil {
			return templating.Kubeconfig{}, err
		}
		request := authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
		request.APIVersion, request.Kind = "authentication.k8s.io/v1", "TokenRequest"
		var answer authenticationv1.TokenRequest
		err = i.post(ctx, cluster, []string{"api", "v1", "namespaces", namespace, "serviceaccounts", name, "token"}, request, &answer)
		if err != nil {
			return templating.Kubeconfig{}, fmt.Errorf("no token for ServiceAccount %s/%s through Target %q: %w", namespace, name, cluster.Name, err)
		}
		content, err := withUser(cluster, name, clientcmdv1.AuthInfo{Token: answer.Status.Token})
		return templating.Kubeconfig{Content: content, Expiration: answer.Status.ExpirationTimestamp.Time}, err
	})
}

// adminRequest is Gardener's AdminKubeconfigRequest.
type adminRequest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		ExpirationSeconds int64 `json:"expirationSeconds"`
	} `json:"spec"`
	Status struct {
		Kubeconfig          []byte    `json:"kubeconfig,omitempty"`
		ExpirationTimestamp time.Time `json:"expirationTimestamp,omitzero"`
	} `json:"status,omitzero"`
}

// shootAdminKubeconfig requests an admin kubeconfig of a Gardener shoot through the garden cluster in the Target.
func (i *Issuer) shootAdminKubeconfig(ctx context.Context, name, namespace string, seconds int64, given any) (templating.Kubeconfig, error) {
	return i.once("shoot", []any{name, namespace, seconds, given}, func() (templating.Kubeconfig, error) {
		cluster, err := i.open(ctx, given)
		if err != nil {
			return templating.Kubeconfig{}, err
		}
		request := adminRequest{APIVersion: "authentication.gardener.cloud/v1alpha1", Kind: "AdminKubeconfigRequest"}
		request.Spec.ExpirationSeconds = seconds
		var answer adminRequest
		path := []string{"apis", "core.gardener.cloud", "v1beta1", "namespaces", namespace, "shoots", name, "adminkubeconfig"}
		if err := i.post(ctx, cluster, path, request, &answer); err != nil {
			return templating.Kubeconfig{}, fmt.Errorf("no admin kubeconfig for Shoot %s/%s through Target %q: %w", namespace, name, cluster.Name, err)
		}
		return templating.Kubeconfig{Content: answer.Status.Kubeconfig, Expiration: answer.Status.ExpirationTimestamp}, nil
	})
}

// oidcKubeconfig makes a kubeconfig of the target cluster that logs in with OpenID Connect. Nothing is requested.
func (i *Issuer) oidcKubeconfig(ctx context.Context, issuerURL, clientID string, given any) (templating.Kubeconfig, error) {
	cluster, err := i.open(ctx, given)
	if err != nil {
		return templating.Kubeconfig{}, err
	}
	content, err := withUser(cluster, "oidc", clientcmdv1.AuthInfo{Exec: &clientcmdv1.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1beta1", Command: "kubectl",
		Args: []string{
			"oidc-login", "get-token", "--oidc-issuer-url=" + issuerURL, "--oidc-client-id=" + clientID,
			"--oidc-extra-scope=email", "--oidc-extra-scope=profile", "--oidc-extra-scope=offline_access", "--oidc-use-pkce", "--grant-type=auto",
		},
	}})
	return templating.Kubeconfig{Content: content}, err
}

// once issues a kubeconfig, or returns the one that the running job got for the same arguments: templates are rendered again whenever a job
// had to wait, and have to say the same.
func (i *Issuer) once(call string, arguments []any, issue func() (templating.Kubeconfig, error)) (templating.Kubeconfig, error) {
	raw, err := json.Marshal([]any{i.inst.UID, i.inst.Status.JobID, call, arguments})
	if err != nil {
		return templating.Kubeconfig{}, fmt.Errorf("the arguments are not JSON data: %w", err)
	}
	key := sha256.Sum256(raw)
	if known, ok := i.issued.entries().Get(key); ok {
		return known, nil
	}
	issued, err := issue()
	if err == nil {
		i.issued.entries().Put(key, issued, memory.Size(issued.Content))
	}
	return issued, err
}

// open returns the cluster of a Target object as templates see it. Its namespace is always that of the Installation.
func (i *Issuer) open(ctx context.Context, given any) (*target.Cluster, error) {
	raw, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("the argument target is not a Target: %w", err)
	}
	object := &v1alpha1.Target{}
	if err := json.Unmarshal(raw, object); err != nil || object.Spec.Type == "" {
		return nil, fmt.Errorf("the argument target is not a Target; pass one of .imports")
	}
	object.Namespace = i.inst.Namespace
	field, err := i.reach.beyond(ctx, &object.Spec)
	if err != nil {
		return nil, err
	}
	if field != "" {
		i.Refused = i.reach.refused("the argument target", field, passImported)
		return nil, i.Refused
	}
	return i.clusters.Open(ctx, givenTarget{Reader: i.live, target: object}, i.live, object.Namespace, object.Name, target.Actor{})
}

// callTimeout is how long a cluster may take to answer.
const callTimeout = 10 * time.Second

// post sends a request as JSON to a path of a cluster, given by its segments, and decodes the answer. Segments come from templates: none may lead
// elsewhere. It notes where the cluster did not answer now.
func (i *Issuer) post(ctx context.Context, cluster *target.Cluster, path []string, request, answer any) error {
	for _, segment := range path {
		if segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "/%") {
			return fmt.Errorf("%q is not a valid name of an object", segment)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	config := rest.CopyConfig(cluster.Config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	connection, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return fmt.Errorf("prepare the connection: %w", err)
	}
	content, err := connection.Post().AbsPath(path...).SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").
		MaxRetries(0).Body(body).Do(ctx).Raw()
	var refusal apierrors.APIStatus
	switch {
	case err == nil:
		if json.Unmarshal(content, answer) != nil {
			return errors.New("the answer of the cluster is not a JSON object")
		}
		return nil
	case errors.As(err, &refusal):
		status := metav1.Status{}
		_ = json.Unmarshal(content, &status) // without a message the code says what it is
		code := int(refusal.Status().Code)
		err = fmt.Errorf("the cluster answers %d %s", code, cmp.Or(status.Message, http.StatusText(code)))
		if code < http.StatusInternalServerError && code != http.StatusTooManyRequests {
			return err
		}
	case target.IsUnusable(err) && !egress.IsOfName(err):
		return fmt.Errorf("the cluster cannot be used: %w", err)
	default:
		err = fmt.Errorf("the cluster does not answer: %w", err)
	}
	i.Unanswered = err
	return err
}

// givenTarget answers with one Target whatever Target is asked for.
type givenTarget struct {
	client.Reader
	target *v1alpha1.Target
}

// Get returns the Target.
func (g givenTarget) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	into, ok := object.(*v1alpha1.Target)
	if !ok {
		return g.Reader.Get(ctx, key, object, options...)
	}
	g.target.DeepCopyInto(into)
	return nil
}

// withUser returns the kubeconfig of a cluster with another user.
func withUser(cluster *target.Cluster, name string, user clientcmdv1.AuthInfo) ([]byte, error) {
	var config clientcmdv1.Config
	if err := foreign.Unmarshal(cluster.Kubeconfig, &config); err != nil || len(config.Contexts) != 1 {
		return nil, fmt.Errorf("the kubeconfig of Target %q cannot be used", cluster.Name)
	}
	config.AuthInfos = []clientcmdv1.NamedAuthInfo{{Name: name, AuthInfo: user}}
	config.Contexts[0].Context.AuthInfo = name
	written, err := yaml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig: %w", err)
	}
	return written, nil
}
