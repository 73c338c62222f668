// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const account = "system:serviceaccount:east:helm"

// published is the JSON Web Key Set of an API server, and how often it was read.
type published struct {
	t    *testing.T
	keys map[string]any
	err  error
	read int
}

func (p *published) reader() *keys {
	return &keys{read: func(ctx context.Context) ([]byte, error) {
		p.read++
		if err := errors.Join(ctx.Err(), p.err); err != nil {
			return nil, err
		}
		return p.set(), nil
	}}
}

func (p *published) set() []byte {
	p.t.Helper()
	all := []any{map[string]string{"kid": "other", "kty": "of another kind"}}
	for id, key := range p.keys {
		all = append(all, jose.JSONWebKey{Key: key, KeyID: id})
	}
	raw, err := json.Marshal(map[string]any{"keys": all})
	require.NoError(p.t, err)
	return raw
}

// sign makes a token of the account.
func sign(t *testing.T, method jose.SignatureAlgorithm, id string, key any, expires time.Time) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: method, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	require.NoError(t, err)
	claims := jwt.Claims{Subject: account, NotBefore: jwt.NewNumericDate(time.Now())}
	if !expires.IsZero() {
		claims.Expiry = jwt.NewNumericDate(expires)
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	require.NoError(t, err)
	return text
}

// unsigned makes a token of the account that nobody has signed.
func unsigned(t *testing.T, id string, expires time.Time) string {
	t.Helper()
	_, claims, found := strings.Cut(sign(t, jose.HS256, id, []byte(strings.Repeat("k", 32)), expires), ".")
	require.True(t, found)
	claims, _, _ = strings.Cut(claims, ".")
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"`+id+`"}`)) + "." + claims + "."
}

// signAs makes a token of the account with a header as it is written.
func signAs(t *testing.T, header string, key *ecdsa.PrivateKey) string {
	t.Helper()
	claims := fmt.Sprintf(`{"sub":%q,"exp":%d}`, account, time.Now().Add(time.Hour).Unix())
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	hash := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, hash[:])
	require.NoError(t, err)
	return text + "." + base64.RawURLEncoding.EncodeToString(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

func curveKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(t, err)
	return key
}

func TestTokensThatTheAPIServerHasSigned(t *testing.T) {
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	short, large, stranger := curveKey(t, elliptic.P256()), curveKey(t, elliptic.P521()), curveKey(t, elliptic.P256())
	set := &published{t: t, keys: map[string]any{"long": &long.PublicKey, "short": &short.PublicKey, "large": &large.PublicKey}}
	later := time.Now().Add(time.Hour)
	for name, tc := range map[string]struct {
		token string
		want  string
	}{
		"RSA":                   {sign(t, jose.RS256, "long", long, later), account},
		"a curve":               {sign(t, jose.ES256, "short", short, later), account},
		"another curve":         {sign(t, jose.ES512, "large", large, later), account},
		"by a stranger":         {sign(t, jose.ES256, "short", stranger, later), ""},
		"an unknown key":        {sign(t, jose.ES256, "stranger", stranger, later), ""},
		"another method":        {sign(t, jose.HS256, "long", long.N.Bytes(), later), ""},
		"no signature":          {unsigned(t, "long", later), ""},
		"without an end":        {sign(t, jose.ES256, "short", short, time.Time{}), ""},
		"over":                  {sign(t, jose.ES256, "short", short, time.Now().Add(-time.Hour)), ""},
		"a key of no such kind": {sign(t, jose.ES256, "other", stranger, later), ""},
		"no token":              {"a.b.c", ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, set.reader().signedFor(t.Context(), tc.token))
		})
	}
}

func TestTokensHaveNoHeadersButThoseOfAPIServers(t *testing.T) {
	key := curveKey(t, elliptic.P256())
	public, err := json.Marshal(jose.JSONWebKey{Key: &key.PublicKey})
	require.NoError(t, err)
	set := &published{t: t, keys: map[string]any{"known": &key.PublicKey, strings.Repeat("k", 1024): &key.PublicKey}}
	for name, tc := range map[string]struct{ header, want string }{
		"of an API server":              {`{"alg":"ES256","kid":"known"}`, account},
		"with a type":                   {`{"alg":"ES256","kid":"known","typ":"JWT"}`, account},
		"with the longest ID of a key":  {`{"alg":"ES256","kid":"` + strings.Repeat("k", 1024) + `","typ":"JWT"}`, account},
		"a key":                         {`{"alg":"ES256","kid":"known","jwk":` + string(public) + `}`, ""},
		"a key that is escaped":         {`{"alg":"ES256","kid":"known","jw\u006b":` + string(public) + `}`, ""},
		"a key in capitals":             {`{"alg":"ES256","kid":"known","JWK":` + string(public) + `}`, ""},
		"a key and then none":           {`{"alg":"ES256","kid":"known","jwk":` + string(public) + `,"jwk":null}`, ""},
		"a key that is null":            {`{"alg":"ES256","kid":"known","jwk":null}`, ""},
		"certificates":                  {`{"alg":"ES256","kid":"known","x5c":null}`, ""},
		"what nobody knows":             {`{"alg":"ES256","kid":"known","other":[[]]}`, ""},
		"a known name in capitals":      {`{"alg":"ES256","kid":"known","Typ":"JWT"}`, ""},
		"a known name twice":            {`{"alg":"ES256","kid":"known","kid":"known"}`, ""},
		"a long one":                    {`{"alg":"ES256","kid":"known","typ":"` + strings.Repeat("x", maxTokenHeader) + `"}`, ""},
		"a long one without much in it": {`{"alg":"ES256","kid":"known"` + strings.Repeat(" ", maxTokenHeader) + `}`, ""},
		"more than one":                 {`{"alg":"ES256","kid":"known"}{}`, ""},
		"none":                          {`null`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, set.reader().signedFor(t.Context(), signAs(t, tc.header, key)))
		})
	}
}

func TestKeysAreReadAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := curveKey(t, elliptic.P256()), curveKey(t, elliptic.P256())
		set := &published{t: t, keys: map[string]any{"first": &first.PublicKey}}
		keys := set.reader()
		later := time.Now().Add(time.Hour)
		for i := range 10 {
			assert.Empty(t, keys.signedFor(t.Context(), sign(t, jose.ES256, fmt.Sprint("made-up-", i), second, later)))
		}
		assert.Equal(t, account, keys.signedFor(t.Context(), sign(t, jose.ES256, "first", first, later)))
		assert.Equal(t, 1, set.read)

		set.keys["second"] = &second.PublicKey
		time.Sleep(keysPeriod)
		assert.Equal(t, account, keys.signedFor(t.Context(), sign(t, jose.ES256, "second", second, later)), "a new key")
		assert.Equal(t, 2, set.read)

		set.err = errors.New("no answer")
		time.Sleep(keysPeriod)
		assert.Empty(t, keys.signedFor(t.Context(), sign(t, jose.ES256, "third", second, later)))
		assert.Equal(t, account, keys.signedFor(t.Context(), sign(t, jose.ES256, "second", second, later)), "what is known stays")
	})
}

func TestWhoGoesAwayKeepsNoKeysFromOthers(t *testing.T) {
	key := curveKey(t, elliptic.P256())
	set := &published{t: t, keys: map[string]any{"first": &key.PublicKey}}
	keys, token := set.reader(), sign(t, jose.ES256, "first", key, time.Now().Add(time.Hour))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	keys.signedFor(gone, token)
	assert.Equal(t, account, keys.signedFor(t.Context(), token))
	assert.Equal(t, 1, set.read)
}
