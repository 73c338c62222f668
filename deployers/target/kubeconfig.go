// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"k8s.io/client-go/rest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// tlsPolicy says what a Target may leave unprotected.
type tlsPolicy struct {
	allowInsecure bool
}

// CheckKubeconfig says why deployers would refuse a kubeconfig in a Target, nil where they take it. It shows nothing of its credentials.
func CheckKubeconfig(raw []byte) error {
	_, _, err := tlsPolicy{allowInsecure: true}.sanitise(raw)
	return err
}

// sanitise turns a tenant's kubeconfig into a configuration that refers to nothing but the API server: no files, commands, plugins or
// other identities. The configuration is built from the accepted fields, so whatever is not known here cannot get through. The
// second result is the same as a minimal kubeconfig.
func (p tlsPolicy) sanitise(raw []byte) (*rest.Config, []byte, error) {
	var config clientcmdv1.Config
	if err := foreign.Unmarshal(raw, &config); err != nil {
		return nil, nil, refuse("the kubeconfig", foreign.Problem(err)+where(err), "check its syntax, for example with kubectl config view")
	}
	if err := refuseForbidden(&config); err != nil {
		return nil, nil, err
	}
	cluster, user, err := chooseContext(&config)
	if err != nil {
		return nil, nil, err
	}
	restConfig, err := p.restConfig(cluster, user)
	if err != nil {
		return nil, nil, err
	}
	written, err := writeKubeconfig(restConfig)
	return restConfig, written, err
}

// refuseForbidden fails on everything that would make the deployer read files, run commands or act as somebody else.
func refuseForbidden(config *clientcmdv1.Config) error {
	for _, named := range config.AuthInfos {
		for _, rule := range userRules {
			if rule.present(&named.AuthInfo) {
				return refuse(fmt.Sprintf("users[%s].user.%s", named.Name, rule.field), "is not allowed", rule.cure)
			}
		}
	}
	for _, named := range config.Clusters {
		if named.Cluster.CertificateAuthority != "" {
			return refuse(fmt.Sprintf("clusters[%s].cluster.certificate-authority", named.Name), "names a file", "use certificate-authority-data")
		}
		proxy, err := url.Parse(named.Cluster.ProxyURL)
		if named.Cluster.ProxyURL != "" && (err != nil || proxy.Host == "" || !slices.Contains([]string{"http", "https", "socks5"}, proxy.Scheme)) {
			return refuse(fmt.Sprintf("clusters[%s].cluster.proxy-url", named.Name), "is not an http, https or socks5 URL", "correct or remove it")
		}
	}
	return nil
}

const (
	cureStatic   = "use a token or client-certificate-data and client-key-data"
	cureIdentity = "use the credentials of the identity itself"
)

var userRules = []struct {
	field   string
	cure    string
	present func(*clientcmdv1.AuthInfo) bool
}{
	{"exec", cureStatic, func(u *clientcmdv1.AuthInfo) bool { return u.Exec != nil }},
	{"auth-provider", cureStatic, func(u *clientcmdv1.AuthInfo) bool { return u.AuthProvider != nil }},
	{"tokenFile", "use token", func(u *clientcmdv1.AuthInfo) bool { return u.TokenFile != "" }},
	{"client-certificate", "use client-certificate-data", func(u *clientcmdv1.AuthInfo) bool { return u.ClientCertificate != "" }},
	{"client-key", "use client-key-data", func(u *clientcmdv1.AuthInfo) bool { return u.ClientKey != "" }},
	{"as", cureIdentity, func(u *clientcmdv1.AuthInfo) bool { return u.Impersonate != "" }},
	{"as-uid", cureIdentity, func(u *clientcmdv1.AuthInfo) bool { return u.ImpersonateUID != "" }},
	{"as-groups", cureIdentity, func(u *clientcmdv1.AuthInfo) bool { return len(u.ImpersonateGroups) > 0 }},
	{"as-user-extra", cureIdentity, func(u *clientcmdv1.AuthInfo) bool { return len(u.ImpersonateUserExtra) > 0 }},
}

// chooseContext returns cluster and user of the current context. A kubeconfig with a single context needs no current-context.
func chooseContext(config *clientcmdv1.Config) (*clientcmdv1.Cluster, *clientcmdv1.AuthInfo, error) {
	name := config.CurrentContext
	if name == "" && len(config.Contexts) == 1 {
		name = config.Contexts[0].Name
	}
	if name == "" {
		return nil, nil, refuse("current-context", "is not set in the kubeconfig", "set it to the name of one of its contexts")
	}
	context := slices.IndexFunc(config.Contexts, func(c clientcmdv1.NamedContext) bool { return c.Name == name })
	if context < 0 {
		return nil, nil, refuse("current-context", fmt.Sprintf("names the context %q that the kubeconfig does not have", name), "set it to one of its contexts")
	}
	chosen := config.Contexts[context].Context
	cluster := slices.IndexFunc(config.Clusters, func(c clientcmdv1.NamedCluster) bool { return c.Name == chosen.Cluster })
	if cluster < 0 {
		return nil, nil, refuse(fmt.Sprintf("contexts[%s].context.cluster", name), fmt.Sprintf("names the cluster %q that the kubeconfig does not have", chosen.Cluster), "add the cluster or correct the name")
	}
	if chosen.AuthInfo == "" {
		return &config.Clusters[cluster].Cluster, &clientcmdv1.AuthInfo{}, nil
	}
	user := slices.IndexFunc(config.AuthInfos, func(u clientcmdv1.NamedAuthInfo) bool { return u.Name == chosen.AuthInfo })
	if user < 0 {
		return nil, nil, refuse(fmt.Sprintf("contexts[%s].context.user", name), fmt.Sprintf("names the user %q that the kubeconfig does not have", chosen.AuthInfo), "add the user or correct the name")
	}
	return &config.Clusters[cluster].Cluster, &config.AuthInfos[user].AuthInfo, nil
}

// restConfig builds the connection from the accepted fields only.
func (p tlsPolicy) restConfig(cluster *clientcmdv1.Cluster, user *clientcmdv1.AuthInfo) (*rest.Config, error) {
	server, err := p.serverURL(cluster.Server)
	if err != nil {
		return nil, err
	}
	if cluster.InsecureSkipTLSVerify && !p.allowInsecure {
		return nil, refuse("insecure-skip-tls-verify", "is not allowed by this deployer",
			"use certificate-authority-data, or have the operator of the deployer allow insecure TLS")
	}
	config := &rest.Config{
		Host:               server,
		BearerToken:        user.Token,
		DisableCompression: cluster.DisableCompression,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: cluster.TLSServerName, Insecure: cluster.InsecureSkipTLSVerify,
			CAData: cluster.CertificateAuthorityData, CertData: user.ClientCertificateData, KeyData: user.ClientKeyData,
		},
	}
	if config.BearerToken == "" {
		config.Username, config.Password = user.Username, user.Password
	}
	if config.Insecure {
		config.CAData = nil
	}
	if cluster.ProxyURL != "" {
		proxy, err := url.Parse(cluster.ProxyURL)
		if err != nil {
			return nil, refuse("proxy-url", "is not a URL", "correct or remove it")
		}
		config.Proxy = http.ProxyURL(proxy)
	}
	return config, nil
}

// longestHost is how many bytes a host may have together with its port: names have 253 at most (RFC 1035).
const longestHost = 260

// serverURL checks the address of an API server; without a scheme it is https.
func (p tlsPolicy) serverURL(server string) (string, error) {
	if server == "" {
		return "", refuse("server", "is empty", "set it to the https URL of the API server")
	}
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	parsed, err := url.Parse(server)
	switch {
	case err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http":
		return "", refuse("server", "is not an https URL", "set it to the https URL of the API server")
	case len(parsed.Host) > longestHost || strings.ContainsFunc(parsed.Host, func(c rune) bool { return c <= ' ' || c >= unicode.MaxASCII }): // see RFC 5891
		return "", refuse("server", "has a host that is not of letters, digits, dots, hyphens and a port, or is too long", "set it to the https URL of the API server")
	case parsed.User != nil:
		return "", refuse("server", "contains credentials", "move them to the user of the kubeconfig")
	case parsed.Scheme == "http" && !p.allowInsecure:
		return "", refuse("server", "is an http URL, so credentials and manifests would travel unprotected",
			"use https, or have the operator of the deployer allow insecure TLS")
	}
	return server, nil
}

// writeKubeconfig writes a kubeconfig with the one cluster and user of config.
func writeKubeconfig(config *rest.Config) ([]byte, error) {
	const name = "target"
	cluster := clientcmdv1.Cluster{
		Server: config.Host, TLSServerName: config.ServerName, InsecureSkipTLSVerify: config.Insecure,
		CertificateAuthorityData: config.CAData, DisableCompression: config.DisableCompression, ProxyURL: proxyOf(config),
	}
	user := clientcmdv1.AuthInfo{
		Token: config.BearerToken, Username: config.Username, Password: config.Password,
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Impersonate: config.Impersonate.UserName,
	}
	written, err := yaml.Marshal(clientcmdv1.Config{
		APIVersion: "v1", Kind: "Config", CurrentContext: name,
		Clusters:  []clientcmdv1.NamedCluster{{Name: name, Cluster: cluster}},
		AuthInfos: []clientcmdv1.NamedAuthInfo{{Name: name, AuthInfo: user}},
		Contexts:  []clientcmdv1.NamedContext{{Name: name, Context: clientcmdv1.Context{Cluster: name, AuthInfo: name}}},
	})
	if err != nil {
		return nil, fmt.Errorf("write the sanitised kubeconfig: %w", err)
	}
	return written, nil
}

func proxyOf(config *rest.Config) string {
	if config.Proxy == nil {
		return ""
	}
	proxy, err := config.Proxy(nil)
	if err != nil || proxy == nil {
		return ""
	}
	return proxy.String()
}
