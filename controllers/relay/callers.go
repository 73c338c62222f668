// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/relay"
)

// maxToken is the length of the longest token that is looked at.
const maxToken = 16 << 10

// callers finds out who asks and what they may read. Nothing is remembered: who loses a right has lost it.
type callers struct {
	client client.Client
}

// identify returns the user of a token, nil where there is none. A token that is not for the relay alone is none.
func (c callers) identify(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
	if len(token) > maxToken || !slices.Equal(audiencesOf(token), []string{relay.Audience}) {
		return nil, nil // who had it could use it elsewhere
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{relay.Audience}}}
	if err := c.client.Create(ctx, review); err != nil {
		return nil, fmt.Errorf("review a token: %w", err)
	}
	if !review.Status.Authenticated || !slices.Contains(review.Status.Audiences, relay.Audience) {
		return nil, nil
	}
	return &review.Status.User, nil
}

// audiencesOf returns those that a token claims to have; it says nothing about whether that is true.
func audiencesOf(token string) []string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	var claims struct {
		Audiences []string `json:"aud"`
	}
	if json.Unmarshal(raw, &claims) != nil {
		return nil
	}
	return claims.Audiences
}

// mayRead reports whether a user may get a DeployItem, whether that exists or not.
func (c callers) mayRead(ctx context.Context, user *authenticationv1.UserInfo, asked relay.Asked) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, value := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "get", Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "deployitems",
			Namespace: asked.Namespace, Name: asked.Name,
		},
	}}
	if err := c.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask whether DeployItem %s/%s may be read: %w", asked.Namespace, asked.Name, err)
	}
	return review.Status.Allowed, nil
}
