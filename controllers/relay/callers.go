// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/relay"
)

// maxToken is the length of the longest token that is looked at.
const maxToken = 16 << 10

const (
	// rememberedTokens is how many refused, and how many accepted tokens are remembered at most, by their hashes.
	rememberedTokens = 4096
	// refusedFor is for how long a refused token is not reviewed again, acceptedFor for how long an accepted one is not taken for made up.
	refusedFor, acceptedFor = time.Minute, 2 * time.Hour
	// How many reviews the API server is asked for at a time: all, and of one caller; and how many of a caller wait.
	maxReviews         = 32
	maxReviewsOfCaller = 8
	maxReviewsWaiting  = 256
)

// callers finds out who asks and what they may read. An accepted token gives no right: it is reviewed again, and who loses a right has lost it.
type callers struct {
	client client.Client
	keys   *keys
	// reviews are those that the API server is asked for. Callers are the origins of tokens.
	reviews   *turns
	strangers *strangers
	// refused and accepted have tokens by their hashes, accepted ones with the name of their user.
	refused, accepted *cache.LRUExpireCache
}

func newCallers(c client.Client, readKeys func(context.Context) ([]byte, error)) callers {
	return callers{
		client: c, keys: &keys{read: readKeys},
		reviews:   newTurns(maxReviews, maxReviewsOfCaller, maxReviewsOfCaller, maxReviewsWaiting),
		strangers: newStrangers(refusedOfOrigin, refusedAltogether),
		refused:   cache.NewLRUExpireCache(rememberedTokens), accepted: cache.NewLRUExpireCache(rememberedTokens),
	}
}

// identify returns the user of a token that came from an address, nil where there is none. A token that is not for the relay alone is none. The error wraps
// errBusy where the API server may not be asked.
func (c callers) identify(ctx context.Context, address, token string) (*authenticationv1.UserInfo, error) {
	if len(token) > maxToken || !slices.Equal(audiencesOf(token), []string{relay.Audience}) {
		return nil, nil // who had it could use it elsewhere
	}
	hash := sha256.Sum256([]byte(token))
	isRefused := func() bool { _, is := c.refused.Get(hash); return is }
	if isRefused() {
		return nil, nil
	}
	from := origin{address: address}
	if user := c.ownerOf(ctx, hash, token); user != "" {
		from = origin{user: user}
	}
	if !c.strangers.mayAsk(from) {
		return nil, errBusy
	}
	end, err := c.reviews.take(ctx, tenant{caller: from.caller()})
	if err != nil {
		return nil, err
	}
	defer end()
	switch { // others may have asked meanwhile
	case isRefused():
		return nil, nil
	case !c.strangers.mayAsk(from):
		return nil, errBusy
	}
	user, err := c.review(ctx, token)
	switch {
	case err != nil:
		return nil, err
	case user == nil:
		c.refused.Add(hash, nil, refusedFor)
		c.accepted.Remove(hash)
		c.strangers.refuse(from)
		return nil, nil
	}
	c.accepted.Add(hash, user.Username, acceptedFor)
	c.strangers.accept(address)
	return user, nil
}

// ownerOf returns the user whose token this is or was, "" where it may be made up.
func (c callers) ownerOf(ctx context.Context, hash [sha256.Size]byte, token string) string {
	if name, isAccepted := c.accepted.Get(hash); isAccepted {
		return name.(string)
	}
	return c.keys.signedFor(ctx, token)
}

// review asks the API server about a token.
func (c callers) review(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
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

// mayRead reports whether a user may get a DeployItem, whether that exists or not. The error is errBusy where the API server may not be asked.
func (c callers) mayRead(ctx context.Context, user *authenticationv1.UserInfo, asked relay.Asked) (bool, error) {
	end, err := c.reviews.take(ctx, tenant{caller: user.Username})
	if err != nil {
		return false, err
	}
	defer end()
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
