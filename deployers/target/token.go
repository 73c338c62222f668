// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// defaultExpiration of requested tokens in seconds.
const defaultExpiration int64 = 86400

// tokens requests tokens of one ServiceAccount on the landscaper cluster and renews them when four fifths of their life are over.
type tokens struct {
	landscaper     client.Client
	namespace      string
	serviceAccount string
	audience       []string
	expiration     int64

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
	token, err := t.request(ctx)
	if err != nil {
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
		return nil, &Error{
			Reason: ReasonTokenRequest, cause: err,
			message: fmt.Sprintf("no token for ServiceAccount %q in namespace %q: %s; the ServiceAccount has to exist and the deployer needs the right to create serviceaccounts/token",
				t.serviceAccount, t.namespace, err),
		}
	}
	return &request.Status, nil
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
