// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/tests/clouds"
)

var world *clouds.World

// TestMain puts this process into a world of its own, before anything has read the environment.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "clouds-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if world, err = clouds.Start(dir); err != nil {
		panic(err)
	}
	defer world.Close()
	for _, variable := range world.Environment() {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	auth.EnableObjectLevelWorkloadIdentity()
	return m.Run()
}

const (
	region = "eu-central-1"
	role   = "arn:aws:iam::123456789012:role/puller"
	ecr    = "123456789012.dkr.ecr." + region + ".amazonaws.com"
	acr    = "shop.azurecr.io"
	gar    = "europe-docker.pkg.dev"
)

// oidc is the token of a ServiceAccount: it looks like one, and says whose it is.
func oidc(namespace, name string) string { return "eyJ" + namespace + "." + name + ".signature" }

// review accepts the tokens of oidc.
func review(_ context.Context, token, _ string) (string, error) {
	parts := strings.Split(strings.TrimPrefix(token, "eyJ"), ".")
	if len(parts) != 3 {
		return "", errors.New("it is not a token")
	}
	return "system:serviceaccount:" + parts[0] + ":" + parts[1], nil
}

func account(name string, annotations map[string]string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid", Annotations: annotations}}
}

// identities of an API server with some ServiceAccounts, which counts its tokens.
func identities(t *testing.T, change func(*IdentityOptions), accounts ...client.Object) (found *Identities, issued *int) {
	t.Helper()
	issued = new(int)
	server := fake.NewClientBuilder().WithObjects(accounts...).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceCreate: func(_ context.Context, _ client.Client, _ string, o, request client.Object, _ ...client.SubResourceCreateOption) error {
			*issued++
			request.(*authenticationv1.TokenRequest).Status.Token = oidc(o.GetNamespace(), o.GetName())
			return nil
		},
	}).Build()
	options := IdentityOptions{Client: server}
	if change != nil {
		change(&options)
	}
	found, err := NewIdentities(options)
	require.NoError(t, err)
	return found, issued
}

func request(provider, account string) IdentityRequest {
	return IdentityRequest{Field: "Context shop/default: registryIdentity", Provider: provider, Namespace: "shop", ServiceAccount: account}
}

func TestServiceAccountLogsInAtAWS(t *testing.T) {
	aws := world.AWS(region, review)
	aws.Trust(role, "system:serviceaccount:shop:puller")
	found, issued := identities(t, nil, account("puller", map[string]string{"eks.amazonaws.com/role-arn": role}))
	for range 2 {
		identity, err := found.Find(t.Context(), request("aws", "puller"))
		require.NoError(t, err)
		user, password, err := identity.Login(t.Context(), ecr)
		require.NoError(t, err)
		assert.Equal(t, clouds.AWSUser, user)
		assert.Equal(t, aws.Password(), password)
	}
	assert.Equal(t, 1, *issued, "tokens are kept")
}

func TestLoginsAreRenewed(t *testing.T) {
	aws := world.AWS(region, review)
	aws.Trust(role, "system:serviceaccount:shop:puller")
	first := aws.Rotate(-time.Second)
	found, _ := identities(t, nil, account("puller", map[string]string{"eks.amazonaws.com/role-arn": role}))
	identity, err := found.Find(t.Context(), request("aws", "puller"))
	require.NoError(t, err)
	_, before, err := identity.Login(t.Context(), ecr)
	require.NoError(t, err)
	second := aws.Rotate(time.Hour)
	_, after, err := identity.Login(t.Context(), ecr)
	require.NoError(t, err)
	assert.Equal(t, []string{first, second}, []string{before, after})
}

func TestRefusalOfACloudShowsNoToken(t *testing.T) {
	aws := world.AWS(region, review)
	aws.Trust(role, "system:serviceaccount:other:puller")
	found, _ := identities(t, nil, account("puller", map[string]string{"eks.amazonaws.com/role-arn": role}))
	identity, err := found.Find(t.Context(), request("aws", "puller"))
	require.NoError(t, err)
	_, _, err = identity.Login(t.Context(), ecr)
	require.ErrorContains(t, err, "AccessDenied")
	require.ErrorContains(t, err, "system:serviceaccount:shop:puller may not assume the role")
	require.ErrorContains(t, err, "with <token>")
	assert.NotContains(t, err.Error(), "signature")
}

func TestServiceAccountLogsInAtAzure(t *testing.T) {
	refresh := unsigned(`{"exp": ` + fmt.Sprint(time.Now().Add(time.Hour).Unix()) + `}`)
	world.Serve("login.microsoftonline.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
			const tenant = "https://login.microsoftonline.com/tenant"
			_, _ = fmt.Fprintf(w, `{"issuer":"%[1]s/v2.0","authorization_endpoint":"%[1]s/authorize","token_endpoint":"%[1]s/oauth2/v2.0/token"}`, tenant)
		case strings.HasSuffix(r.URL.Path, "/discovery/instance"):
			_, _ = w.Write([]byte(`{"tenant_discovery_endpoint":"https://login.microsoftonline.com/tenant/v2.0/.well-known/openid-configuration",` +
				`"metadata":[{"preferred_network":"login.microsoftonline.com","preferred_cache":"login.microsoftonline.com","aliases":["login.microsoftonline.com"]}]}`))
		case r.PostFormValue("client_assertion") == oidc("shop", "puller") && r.PostFormValue("client_id") == "client":
			_, _ = w.Write([]byte(`{"token_type":"Bearer","expires_in":3600,"access_token":"access"}`))
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	world.Serve(acr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/oauth2/exchange" || r.PostFormValue("access_token") != "access" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprintf(w, `{"refresh_token":%q}`, refresh)
	}))
	found, _ := identities(t, nil, account("puller", map[string]string{"azure.workload.identity/tenant-id": "tenant", "azure.workload.identity/client-id": "client"}))
	identity, err := found.Find(t.Context(), request("azure", "puller"))
	require.NoError(t, err)
	user, password, err := identity.Login(t.Context(), acr)
	require.NoError(t, err)
	assert.Equal(t, "00000000-0000-0000-0000-000000000000", user)
	assert.Equal(t, refresh, password)
}

// unsigned is a token that says something.
func unsigned(claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"HS256"}`)) + "." + encode([]byte(claims)) + "." + encode([]byte("signature"))
}

func TestServiceAccountLogsInAtGoogle(t *testing.T) {
	const pool = "projects/1/locations/global/workloadIdentityPools/pool/providers/cluster"
	world.Serve("sts.googleapis.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.PostFormValue("subject_token") != oidc("shop", "puller") || r.PostFormValue("audience") != "//iam.googleapis.com/"+pool {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(`{"access_token":"ya29.access","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":3600}`))
	}))
	found, _ := identities(t, nil, account("puller", map[string]string{"gcp.auth.fluxcd.io/workload-identity-provider": pool}))
	identity, err := found.Find(t.Context(), request("gcp", "puller"))
	require.NoError(t, err)
	user, password, err := identity.Login(t.Context(), gar)
	require.NoError(t, err)
	assert.Equal(t, "oauth2accesstoken", user)
	assert.Equal(t, "ya29.access", password)
}

func TestIdentitiesThatNobodyMayUse(t *testing.T) {
	named := account("named", map[string]string{"eks.amazonaws.com/role-arn": role})
	for name, tc := range map[string]struct {
		request  IdentityRequest
		gate     bool
		retry    bool
		problems []string
	}{
		"unknown cloud":      {request("aliyun", "named"), true, false, []string{`provider "aliyun" is unknown`, "use aws, azure or gcp"}},
		"generic":            {request("generic", "named"), true, false, []string{`provider "generic" is unknown`}},
		"own identity":       {request("aws", ""), true, false, []string{"the identity of this process is for nobody", "--registry-controller-identity"}},
		"gate is closed":     {request("aws", "named"), false, false, []string{"ServiceAccount shop/named may not log in at aws", "--feature-gates=ObjectLevelWorkloadIdentity=true"}},
		"no account":         {request("aws", "nobody"), true, true, []string{"ServiceAccount shop/nobody not found", "create it"}},
		"account of another": {IdentityRequest{"f", "aws", "other", "named"}, true, true, []string{"ServiceAccount other/named not found"}},
		"no annotation":      {request("azure", "named"), true, true, []string{"ServiceAccount shop/named", "azure.workload.identity/tenant-id", "correct its annotations"}},
	} {
		t.Run(name, func(t *testing.T) {
			if !tc.gate {
				auth.DisableObjectLevelWorkloadIdentity()
				defer auth.EnableObjectLevelWorkloadIdentity()
			}
			found, issued := identities(t, nil, named)
			_, err := found.Find(t.Context(), tc.request)
			require.ErrorIs(t, err, ErrIdentity)
			assert.Equal(t, tc.retry, fault.KindOf(err) == fault.Retry)
			for _, problem := range append(tc.problems, tc.request.Field+": ") {
				require.ErrorContains(t, err, problem)
			}
			assert.Zero(t, *issued)
		})
	}
}

func TestOwnIdentityWhereTheOperatorLetsEverybody(t *testing.T) {
	own := func(o *IdentityOptions) { o.OwnIdentity = true }
	found, _ := identities(t, own)
	identity, err := found.Find(t.Context(), request("aws", ""))
	require.NoError(t, err)
	assert.Equal(t, "the identity of this process at aws", identity.String())
	other, err := found.Find(t.Context(), IdentityRequest{"f", "aws", "other", ""})
	require.NoError(t, err)
	assert.Equal(t, identity.Fingerprint(), other.Fingerprint())
}

func TestDefaultServiceAccountWinsOverTheOwnIdentity(t *testing.T) {
	locked := func(o *IdentityOptions) { o.OwnIdentity, o.DefaultServiceAccount = true, "default" }
	found, _ := identities(t, locked, account("default", map[string]string{"eks.amazonaws.com/role-arn": role}))
	identity, err := found.Find(t.Context(), request("aws", ""))
	require.NoError(t, err)
	assert.Equal(t, "ServiceAccount shop/default at aws", identity.String())
	_, err = found.Find(t.Context(), IdentityRequest{"f", "aws", "other", ""})
	require.ErrorContains(t, err, "ServiceAccount other/default not found")
}

func TestFingerprintIsThatOfTheParty(t *testing.T) {
	annotated := func(value string) *corev1.ServiceAccount {
		return account("puller", map[string]string{"eks.amazonaws.com/role-arn": value})
	}
	renewed := annotated(role)
	renewed.UID = "another"
	labelled := annotated(role)
	labelled.Labels = map[string]string{"changed": "since"}
	of := func(object *corev1.ServiceAccount) string {
		found, _ := identities(t, nil, object)
		identity, err := found.Find(t.Context(), request("aws", object.Name))
		require.NoError(t, err)
		return identity.Fingerprint()
	}
	same := of(annotated(role))
	assert.Equal(t, same, of(labelled))
	for name, other := range map[string]*corev1.ServiceAccount{
		"made anew": renewed, "other role": annotated(role + "2"), "other name": account("other", renewed.Annotations),
	} {
		assert.NotEqual(t, same, of(other), name)
	}
}

func TestRegistriesOfClouds(t *testing.T) {
	for provider, own := range map[string]string{"aws": ecr, "azure": acr, "gcp": gar} {
		found, _ := identities(t, func(o *IdentityOptions) { o.OwnIdentity = true })
		identity, err := found.Find(t.Context(), request(provider, ""))
		require.NoError(t, err)
		for _, host := range []string{ecr, acr, gar, own + ".example.com", own + ":8443", "127.0.0.1:5000", "ghcr.io", ""} {
			assert.Equal(t, host == own, identity.Fits(host), "%s at %s", provider, host)
		}
	}
}

func TestLoginsAreLimitedInTime(t *testing.T) {
	world.Serve("sts."+region+".amazonaws.com", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	found, _ := identities(t, func(o *IdentityOptions) { o.Timeout = 50 * time.Millisecond }, account("puller", map[string]string{"eks.amazonaws.com/role-arn": role}))
	identity, err := found.Find(t.Context(), request("aws", "puller"))
	require.NoError(t, err)
	_, _, err = identity.Login(t.Context(), ecr)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
