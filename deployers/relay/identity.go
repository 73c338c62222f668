// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const (
	tokenSeconds   = 3600
	accountsPrefix = "system:serviceaccount:"
)

// identity is the own ServiceAccount on the landscaper cluster, and the token by which it says who it is to the relay alone.
type identity struct {
	clients kubernetes.Interface

	mu    sync.Mutex
	token string
	renew time.Time
}

// get returns a token, another one than refused.
func (i *identity) get(ctx context.Context, operation, refused string) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.token != "" && i.token != refused && time.Now().Before(i.renew) {
		return i.token, nil
	}
	token, renew, err := i.request(ctx, operation)
	if err != nil {
		return "", err
	}
	i.token, i.renew = token, renew
	return token, nil
}

// request asks for a token of the account that the API server knows the own credential as. It is due after half of its life.
func (i *identity) request(ctx context.Context, operation string) (string, time.Time, error) {
	self, err := i.clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("ask the landscaper cluster for the own user: %w", err)
	}
	namespace, name, isAccount := strings.Cut(strings.TrimPrefix(self.Status.UserInfo.Username, accountsPrefix), ":")
	if !isAccount || !strings.HasPrefix(self.Status.UserInfo.Username, accountsPrefix) {
		return "", time.Time{}, kit.Again(operation, "RelayRefused",
			"--content-relay: the content relay knows ServiceAccounts only, and the deployer is user %q of the landscaper cluster; give it the kubeconfig of one",
			self.Status.UserInfo.Username)
	}
	seconds, began := int64(tokenSeconds), time.Now()
	asked := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{Audience}, ExpirationSeconds: &seconds}}
	made, err := i.clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, asked, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		return "", time.Time{}, kit.Again(operation, "RelayRefused",
			"--content-relay: ServiceAccount %s/%s may not request tokens of its own; let it create serviceaccounts/token for its own name", namespace, name)
	}
	if err != nil {
		return "", time.Time{}, fmt.Errorf("request a token of ServiceAccount %s/%s: %w", namespace, name, err)
	}
	return made.Status.Token, began.Add(made.Status.ExpirationTimestamp.Sub(began) / 2), nil
}
