// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

const (
	// maxExpiration of requested tokens in seconds.
	maxExpiration int64 = 3600
	// legacyExpiration is the default of Options.LegacyTokens, which has no maximum.
	legacyExpiration int64 = 86400
)

const (
	reviewPath = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	review     = `{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}`
	reviewTime = 10 * time.Second
)

// tokens requests tokens of one ServiceAccount on the landscaper cluster and renews them when four fifths of their life are over.
type tokens struct {
	landscaper     client.Client
	namespace      string
	serviceAccount string
	audience       []string
	expiration     int64
	// form is the part of the Target's content that asks, which the ServiceAccount has to allow. Empty needs no permission.
	form string
	// isOwn reports whether the landscaper cluster itself accepts a token. Nil does not ask.
	isOwn func(ctx context.Context, token string) (bool, error)

	mu      sync.Mutex
	current string
	renewAt time.Time
}

// get returns a token with at least a fifth of its life left.
func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current != "" && time.Now().Before(t.renewAt) {
		return t.current, nil
	}
	if err := t.checkAllowed(ctx); err != nil {
		return "", err
	}
	token, err := t.request(ctx)
	if err != nil {
		return "", err
	}
	if err := t.checkForeign(ctx, token.Token); err != nil {
		return "", err
	}
	issued := time.Now()
	t.current, t.renewAt = token.Token, issued.Add(token.ExpirationTimestamp.Sub(issued)*4/5)
	return t.current, nil
}

func (t *tokens) request(ctx context.Context) (*authenticationv1.TokenRequestStatus, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: t.serviceAccount}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: t.audience, ExpirationSeconds: &t.expiration}}
	if err := t.landscaper.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, t.problem(err, "the ServiceAccount has to exist and the deployer needs the right to create serviceaccounts/token, as by flux/install/target-tokens")
	}
	return &request.Status, nil
}

// checkAllowed fails unless the ServiceAccount allows Targets to use it in this form.
func (t *tokens) checkAllowed(ctx context.Context) error {
	if t.form == "" {
		return nil
	}
	account := &corev1.ServiceAccount{}
	if err := t.landscaper.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.serviceAccount}, account); err != nil {
		return t.problem(err, "the ServiceAccount has to exist and the deployer needs the right to get serviceaccounts")
	}
	allowed := strings.Split(account.Annotations[v1alpha1.TargetTokensAnnotation], ",")
	if slices.ContainsFunc(allowed, func(form string) bool { return strings.TrimSpace(form) == t.form }) {
		return nil
	}
	return t.problem(fmt.Errorf("it does not allow Targets with %s", t.form),
		fmt.Sprintf("annotate the ServiceAccount with %s: %s", v1alpha1.TargetTokensAnnotation, t.form))
}

// checkForeign fails if a token that a server of a tenant's choice would get is good for the landscaper cluster.
func (t *tokens) checkForeign(ctx context.Context, token string) error {
	if t.isOwn == nil {
		return nil
	}
	own, err := t.isOwn(ctx, token)
	if err != nil {
		return t.problem(err, "the landscaper cluster has to say that the token is not for itself")
	}
	if own {
		return t.problem(errors.New("the landscaper cluster itself accepts this audience"),
			"set oidcConfig.audience to an audience that only the server of the Target accepts")
	}
	return nil
}

func (t *tokens) problem(cause error, cure string) error {
	return &Error{
		Reason: ReasonTokenRequest, cause: cause,
		message: fmt.Sprintf("no token for ServiceAccount %q in namespace %q: %s; %s", t.serviceAccount, t.namespace, cause, cure),
	}
}

// forget drops a token that an API server rejected.
func (t *tokens) forget(rejected string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == rejected {
		t.current = ""
	}
}

// tokenTransport adds the current token to every request.
type tokenTransport struct {
	tokens *tokens
	base   http.RoundTripper
}

// RoundTrip sends the request with the token.
func (t *tokenTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	token, err := t.tokens.get(request.Context())
	if err != nil {
		return nil, err
	}
	request = utilnet.CloneRequest(request)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := t.base.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		t.tokens.forget(token)
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the connection pool underneath.
func (t *tokenTransport) WrappedRoundTripper() http.RoundTripper { return t.base }

// accepts returns the function that asks the API server of config, which has no credentials, whether it accepts a token. Only the API server
// knows its audiences.
func accepts(config *rest.Config) (func(ctx context.Context, token string) (bool, error), error) {
	sender, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	address := config.Host
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	address = strings.TrimRight(address, "/") + reviewPath
	return func(ctx context.Context, token string) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, reviewTime)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader([]byte(review)))
		if err != nil {
			return false, err
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		answer, err := sender.Do(request)
		if err != nil {
			return false, err
		}
		_ = answer.Body.Close() // the code says it
		if answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests {
			return false, fmt.Errorf("the landscaper cluster answers %d", answer.StatusCode)
		}
		return answer.StatusCode != http.StatusUnauthorized, nil
	}, nil
}
