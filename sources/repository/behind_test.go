// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// pulling is an OCIRepository ns/shop at a URL, with a ServiceAccount.
func pulling(url, provider, account string) *sourcev1.OCIRepository {
	return &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop"},
		Spec: sourcev1.OCIRepositorySpec{URL: url, Provider: provider, ServiceAccountName: account}}
}

// secretsOf is an API server with Secrets of namespace ns by name.
func secretsOf(all map[string]map[string][]byte) func(context.Context, string, string) (map[string][]byte, error) {
	return func(_ context.Context, namespace, name string) (map[string][]byte, error) {
		if data, ok := all[name]; ok && namespace == "ns" {
			return data, nil
		}
		return nil, errors.New("Secret not found")
	}
}

// accountsOf is an API server with ServiceAccounts of namespace ns: name → pull secrets.
func accountsOf(all map[string][]string) func(context.Context, string, string) ([]string, error) {
	return func(_ context.Context, namespace, name string) ([]string, error) {
		if secrets, ok := all[name]; ok && namespace == "ns" {
			return secrets, nil
		}
		return nil, errors.New("ServiceAccount not found")
	}
}

func TestPullSecretsOfTheServiceAccountOfASource(t *testing.T) {
	users := []registry.User{{Name: "flux", Password: "hunter2"}}
	for name, tc := range map[string]struct {
		account, secret string
		fails           string
	}{
		"its secrets":               {account: "puller"},
		"the secret comes first":    {account: "wrong", secret: "right"},
		"its secrets are wrong":     {account: "wrong", fails: "refused by the registry"},
		"it has none":               {account: "bare", fails: "refused by the registry"},
		"it is missing":             {account: "nobody", fails: "serviceAccountName of OCIRepository ns/shop: ServiceAccount not found"},
		"a secret of it is missing": {account: "dangling", fails: "serviceAccountName of OCIRepository ns/shop: Secret not found"},
	} {
		t.Run(name, func(t *testing.T) {
			reg := registry.Start(t, registry.Options{Users: users})
			from := pulling("oci://"+reg.Host+"/c/component-descriptors/"+shopName, "generic", tc.account)
			if tc.secret != "" {
				from.Spec.SecretRef = &fluxmeta.LocalObjectReference{Name: tc.secret}
			}
			s := behindSource(t, reg, from, func(o *Options) {
				o.Secret = secretsOf(map[string]map[string][]byte{"right": loginSecret(reg.Host, "hunter2"), "wrong": loginSecret(reg.Host, "hunter3")})
				o.PullSecrets = accountsOf(map[string][]string{"puller": {"right"}, "wrong": {"wrong"}, "bare": nil, "dangling": {"gone"}})
			})
			err := s.closure(t)
			if tc.fails == "" {
				require.NoError(t, err)
				return
			}
			if tc.fails == oci.ErrUnauthorized.Error() {
				require.ErrorIs(t, err, oci.ErrUnauthorized)
			} else {
				require.ErrorContains(t, err, tc.fails)
			}
			assert.NotContains(t, err.Error(), "hunter")
		})
	}
}

func loginSecret(host, password string) map[string][]byte {
	return map[string][]byte{".dockerconfigjson": fmt.Appendf(nil, `{"auths":{%q:{"username":"flux","password":%q}}}`, host, password)}
}

// sourced is a session with a source that pulls the component.
type sourced struct{ *Session }

func behindSource(t *testing.T, reg *registry.Registry, from *sourcev1.OCIRepository, change func(*Options)) sourced {
	t.Helper()
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, shop(t), db(t))
	offered := artifacts{}
	offered.offer(t, "shop", layer(t, shop(t)))
	source := offered["shop"]
	source.Kind, source.Object = "OCIRepository", from
	offered["shop"] = source
	r := repositories(t, func(o *Options) {
		o.Source = offered.source
		change(o)
	})
	return sourced{session(t, r, Scope{Namespace: "ns"})}
}

func TestL04ContentBesideTheBaseIsNotReadWithItsLogins(t *testing.T) {
	reg := registry.Start(t, registry.Options{Users: []registry.User{{Name: "flux", Password: "hunter2"}, {Name: "context", Password: "hunter3"}}})
	reg.Push(t, "c/charts/web", "1.0.0", registry.Layer{MediaType: oci.HelmChartLayer, Content: "below"})
	reg.Push(t, "charts/web", "2.0.0", registry.Layer{MediaType: oci.HelmChartLayer, Content: "beside"})
	from := pulling("oci://"+reg.Host+"/c/component-descriptors/"+shopName, "generic", "")
	from.Spec.SecretRef = &fluxmeta.LocalObjectReference{Name: "right"}
	v := component.Version{Descriptor: describe(t, shopName, "1.0.0",
		line("below", "helmChart", "{type: relativeOciReference, reference: 'charts/web:1.0.0'}", "")+
			line("beside", "helmChart", "{type: relativeOciReference, reference: 'charts/web:2.0.0'}", ""), nil)}
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, v)
	offered := artifacts{}
	offered.offer(t, "shop", layer(t, v))
	source := offered["shop"]
	source.Kind, source.Object = "OCIRepository", from
	offered["shop"] = source
	for name, tc := range map[string]struct {
		rights         Rights
		resource, user string
		fails          bool
	}{
		"below, with those of the source":     {resource: "below", user: "flux"},
		"beside, without logins":              {resource: "beside", fails: true},
		"beside, with those of the Context":   {rights: rights(t, reg.Host, "context", "hunter3"), resource: "beside", user: "context"},
		"below, where the Context has others": {rights: rights(t, reg.Host, "context", "hunter3"), resource: "below", user: "flux"},
	} {
		t.Run(name, func(t *testing.T) {
			r := repositories(t, func(o *Options) {
				o.Source, o.Secret = offered.source, secretsOf(map[string]map[string][]byte{"right": loginSecret(reg.Host, "hunter2")})
			})
			s := session(t, r, Scope{Namespace: "ns", Rights: tc.rights})
			found, err := s.Root(t.Context(), fromSource("shop", ""))
			require.NoError(t, err)
			before := len(reg.Requests())
			blob, err := s.Content(t.Context(), found.Descriptor, find(t, found.Descriptor, tc.resource))
			if err == nil {
				content, problem := blob.ReadAll(1 << 20)
				require.NoError(t, problem)
				blob.Close()
				assert.Equal(t, tc.resource, string(content))
			}
			assert.Equal(t, tc.fails, err != nil, err)
			for _, request := range reg.Requests()[before:] {
				if request.Repository == "charts/web" {
					assert.NotEqual(t, "flux", request.User, request)
				}
				if request.Kind == "blobs" {
					assert.Equal(t, tc.user, request.User, request)
				}
			}
		})
	}
}

func (s sourced) closure(t *testing.T) error {
	t.Helper()
	found, err := s.Root(t.Context(), fromSource("shop", ""))
	if err != nil {
		return err
	}
	_, err = s.Closure(t.Context(), found.Descriptor)
	return err
}

func TestAuthoritiesOfASource(t *testing.T) {
	reg := registry.Start(t, registry.Options{TLS: true})
	for name, tc := range map[string]struct {
		data  map[string][]byte
		fails string
	}{
		"trusted":   {map[string][]byte{"ca.crt": reg.CA}, ""},
		"no key":    {map[string][]byte{"tls.crt": reg.CA}, "answers 400"},
		"nonsense":  {map[string][]byte{"ca.crt": []byte("hunter2")}, "certSecretRef of OCIRepository ns/shop: Secret certs: key ca.crt: it holds no certificate"},
		"is absent": {nil, "certSecretRef of OCIRepository ns/shop: Secret not found"},
	} {
		t.Run(name, func(t *testing.T) {
			from := pulling("oci://"+reg.Host+"/c/component-descriptors/"+shopName, "", "")
			from.Spec.CertSecretRef = &fluxmeta.LocalObjectReference{Name: "certs"}
			all := map[string]map[string][]byte{}
			if tc.data != nil {
				all["certs"] = tc.data
			}
			err := behindSource(t, reg, from, func(o *Options) { o.Secret = secretsOf(all) }).closure(t)
			if tc.fails == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.fails)
			assert.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestIdentityOfASource(t *testing.T) {
	const ecr = "oci://123456789012.dkr.ecr.eu-central-1.amazonaws.com/c/component-descriptors/" + shopName
	for name, tc := range map[string]struct {
		from *sourcev1.OCIRepository
		own  bool
		want string
	}{
		"of the process":      {pulling(ecr, "aws", ""), true, "dial"},
		"for nobody":          {pulling(ecr, "aws", ""), false, "provider of OCIRepository ns/shop: it names no ServiceAccount"},
		"gate is closed":      {pulling(ecr, "aws", "puller"), true, "provider of OCIRepository ns/shop: ServiceAccount ns/puller may not log in at aws"},
		"registry of another": {pulling(ecr, "azure", ""), true, "is not a registry of azure; correct spec.provider or spec.url"},
	} {
		t.Run(name, func(t *testing.T) {
			reg := registry.Start(t, registry.Options{})
			identities, err := oci.NewIdentities(oci.IdentityOptions{Client: fake.NewClientBuilder().Build(), OwnIdentity: tc.own})
			require.NoError(t, err)
			err = behindSource(t, reg, tc.from, func(o *Options) {
				o.Identity = identities.Find
				o.OCI = unreachable(t)
			}).closure(t)
			require.ErrorContains(t, err, tc.want)
			assert.Equal(t, strings.HasPrefix(tc.want, "dial"), fault.KindOf(err) == fault.Retry)
		})
	}
}

// unreachable is a client that reaches no registry.
func unreachable(t *testing.T) *oci.Client {
	t.Helper()
	client, err := oci.New(oci.Options{Dir: t.TempDir(), Transport: noNetwork{}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// noNetwork carries no request.
type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no network")}
}

func TestArtifactsBelowTheRegistryOfASourceUseItsLogin(t *testing.T) {
	reg := registry.Start(t, registry.Options{Users: []registry.User{{Name: "flux", Password: "hunter2"}}})
	below, _ := reg.Push(t, "c/charts/web", "1.0.0", registry.Layer{MediaType: oci.HelmChartLayer, Content: "chart"})
	beside, _ := reg.Push(t, "d/charts/web", "1.0.0", registry.Layer{MediaType: oci.HelmChartLayer, Content: "chart"})
	v := component.Version{Descriptor: describe(t, shopName, "1.0.0",
		line("below", "helmChart", "{type: ociArtifact, imageReference: '"+below+"'}", "")+
			line("beside", "helmChart", "{type: ociArtifact, imageReference: '"+beside+"'}", ""), nil)}
	offered := artifacts{}
	offered.offer(t, "shop", layer(t, v))
	offered.pulled("shop", "oci://"+reg.Host+"/c/component-descriptors/"+shopName, "right")
	s := session(t, repositories(t, func(o *Options) {
		o.Source = offered.source
		o.Secret = secretsOf(map[string]map[string][]byte{"right": loginSecret(reg.Host, "hunter2")})
	}), Scope{Namespace: "ns"})
	found, err := s.Root(t.Context(), fromSource("shop", ""))
	require.NoError(t, err)
	assert.Equal(t, "chart", text(t, s, found.Descriptor, "below"))
	_, err = s.Content(t.Context(), found.Descriptor, find(t, found.Descriptor, "beside"))
	require.ErrorIs(t, err, oci.ErrUnauthorized)
}

func TestPullSecretsOfASourceAreBounded(t *testing.T) {
	many := make([]string, 0, 51)
	for i := range 51 {
		many = append(many, fmt.Sprintf("secret-%d", i))
	}
	for name, tc := range map[string]struct {
		names []string
		size  int
		says  string
		reads int
	}{
		"one again and again": {names: slices.Repeat([]string{"pull"}, 1000), reads: 1},
		"too many":            {names: many, says: "serviceAccountName of OCIRepository ns/shop: names more than 50 different Secrets; name fewer"},
		"too large": {names: many[:5], size: 1 << 20, reads: 4,
			says: "serviceAccountName of OCIRepository ns/shop: the Secrets have more than 4 MiB together; name fewer"},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			p := puller{from: pulling("oci://r.example/c", "generic", "puller"), options: &Options{
				PullSecrets: accountsOf(map[string][]string{"puller": tc.names}),
				Secret: func(context.Context, string, string) (map[string][]byte, error) {
					reads++
					return map[string][]byte{"other": make([]byte, tc.size)}, nil
				},
			}}
			_, err := p.rights(t.Context(), Rights{})
			assert.Equal(t, tc.reads, reads)
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.says)
			assert.Equal(t, fault.Stalled, fault.KindOf(err))
		})
	}
}
