// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// keysPeriod is how often the API server is asked for its keys at most: a token names the key that it is signed with, and anybody can make up names.
	keysPeriod = 10 * time.Second
	// keysTimeout is how long that may take.
	keysTimeout = 5 * time.Second
	// clocks of the API server and of the relay may be so far apart.
	clocks = time.Minute
	// maxTokenHeader bounds the header of a token, in bytes; the ID of a key has 1024 at most.
	maxTokenHeader = 2 << 10
)

var errUnknownKey = errors.New("the key is not one of the API server")

// keys are those that the API server signs tokens with. Nobody can make up a token that one of them has signed, so strangers do not use up its reviews. Whether
// it is still good, the API server says. It is safe for concurrent use.
type keys struct {
	// read returns the JSON Web Key Set of the API server. Without it nothing is known of any token.
	read func(context.Context) ([]byte, error)

	// reading is held while the API server is asked, which was at the time asked.
	reading sync.Mutex
	asked   time.Time
	// known are public keys by their IDs.
	known atomic.Pointer[map[string]any]
}

// ReadKeys returns a function that reads the JSON Web Key Set of the API server that config and connection lead to.
func ReadKeys(config *rest.Config, connection *http.Client) (func(context.Context) ([]byte, error), error) {
	clients, err := discovery.NewDiscoveryClientForConfigAndClient(config, connection)
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	return func(ctx context.Context) ([]byte, error) {
		return clients.RESTClient().Get().AbsPath("/openid/v1/jwks").SetHeader("Accept", "application/jwk-set+json").Do(ctx).Raw()
	}, nil
}

// methods are those by which API servers sign tokens.
var methods = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

// plainHeader are the fields that API servers write into the headers of tokens.
var plainHeader = []string{"alg", "kid", "typ"}

// signedFor returns the user for whom the API server has signed a token that is not over, "" where that is not known.
func (k *keys) signedFor(ctx context.Context, text string) string {
	if k.read == nil || !hasPlainHeader(text) {
		return ""
	}
	token, err := jwt.ParseSigned(text, methods)
	if err != nil {
		return ""
	}
	key, err := k.key(ctx, token.Headers[0].KeyID) // it has one signature
	if err != nil {
		return ""
	}
	var claims jwt.Claims
	if token.Claims(key, &claims) != nil || claims.Expiry == nil || claims.ValidateWithLeeway(jwt.Expected{Time: time.Now()}, clocks) != nil {
		return ""
	}
	return claims.Subject
}

// hasPlainHeader reports whether the header of a token has no other fields than those that API servers write. Where it has a key, the parser checks that key
// before the signature, which may take minutes. The parser reads the header into a map, too, so it finds no field that is not found here.
func hasPlainHeader(token string) bool {
	first, _, _ := strings.Cut(token, ".")
	if base64.RawURLEncoding.DecodedLen(len(first)) > maxTokenHeader {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		return false
	}
	var header map[string]json.RawMessage
	if json.Unmarshal(raw, &header) != nil {
		return false
	}
	for name := range header {
		if !slices.Contains(plainHeader, name) {
			return false
		}
	}
	return true
}

// key returns the one with an ID, after a look whether it is new.
func (k *keys) key(ctx context.Context, id string) (any, error) {
	if key := k.find(id); key != nil {
		return key, nil
	}
	k.reading.Lock()
	defer k.reading.Unlock()
	if time.Since(k.asked) >= keysPeriod {
		k.refresh(ctx)
	}
	if key := k.find(id); key != nil {
		return key, nil
	}
	return nil, errUnknownKey
}

func (k *keys) find(id string) any {
	if known := k.known.Load(); known != nil {
		return (*known)[id]
	}
	return nil
}

// refresh asks the API server. Whoever goes away meanwhile does not end that for others.
func (k *keys) refresh(ctx context.Context) {
	k.asked = time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTimeout)
	defer cancel()
	raw, err := k.read(ctx)
	if err == nil {
		var known map[string]any
		if known, err = parseKeys(raw); err == nil {
			k.known.Store(&known)
			return
		}
	}
	ctrl.Log.WithName("relay").Error(err, "the keys of the landscaper cluster at /openid/v1/jwks cannot be read; unknown tokens are counted by their address")
}

// parseKeys returns the keys of a JSON Web Key Set (RFC 7517) by their IDs, without those of kinds that are not known.
func parseKeys(raw []byte) (map[string]any, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("read a JSON Web Key Set: %w", err)
	}
	known := map[string]any{}
	for _, one := range set.Keys {
		var key jose.JSONWebKey
		err := json.Unmarshal(one, &key)
		if errors.Is(err, jose.ErrUnsupportedKeyType) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a key of a JSON Web Key Set: %w", err)
		}
		known[key.KeyID] = key.Key
	}
	return known, nil
}
