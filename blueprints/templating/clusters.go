// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	gotemplate "text/template"
	"time"
)

var errNoClusters = errors.New("kubeconfigs cannot be issued here: this function is not available here")

// clusterCalls are the functions that issue kubeconfigs, with both template languages' arguments already taken apart.
type clusterCalls struct {
	ctx      context.Context
	clusters Clusters
}

func (r *goRun) clusterFunctions() gotemplate.FuncMap {
	c := clusterCalls{ctx: r.ctx, clusters: r.in.Clusters}
	return gotemplate.FuncMap{
		"getShootAdminKubeconfig":                            plain(c.shoot),
		"getShootAdminKubeconfigWithExpirationTimestamp":     expiring(c.shoot),
		"getServiceAccountKubeconfig":                        plain(c.serviceAccount),
		"getServiceAccountKubeconfigWithExpirationTimestamp": expiring(c.serviceAccount),
		"getOidcKubeconfig": func(issuerURL, clientID string, target any) (string, error) {
			return c.oidc(issuerURL, clientID, target)
		},
	}
}

// issue is a call that needs a name, a namespace, seconds and a target.
type issue func(name, namespace string, seconds, target any) (Kubeconfig, error)

func plain(f issue) func(name, namespace string, seconds, target any) (string, error) {
	return func(name, namespace string, seconds, target any) (string, error) {
		kubeconfig, err := f(name, namespace, seconds, target)
		return base64.StdEncoding.EncodeToString(kubeconfig.Content), err
	}
}

func expiring(f issue) func(name, namespace string, seconds, target any) (map[string]any, error) {
	return func(name, namespace string, seconds, target any) (map[string]any, error) {
		kubeconfig, err := f(name, namespace, seconds, target)
		if err != nil {
			return nil, err
		}
		return map[string]any{
			"kubeconfig":                  base64.StdEncoding.EncodeToString(kubeconfig.Content),
			"expirationTimestamp":         kubeconfig.Expiration.Unix(),
			"expirationTimestampReadable": kubeconfig.Expiration.UTC().Format(time.RFC3339),
		}, nil
	}
}

func (c clusterCalls) shoot(name, namespace string, seconds, target any) (Kubeconfig, error) {
	return c.issue(ShootAdmin, name, namespace, seconds, target)
}

func (c clusterCalls) serviceAccount(name, namespace string, seconds, target any) (Kubeconfig, error) {
	return c.issue(ServiceAccount, name, namespace, seconds, target)
}

func (c clusterCalls) issue(kind, name, namespace string, seconds, target any) (Kubeconfig, error) {
	expiration, err := wholeSeconds(seconds)
	if err != nil {
		return Kubeconfig{}, err
	}
	return c.request(KubeconfigRequest{Kind: kind, Name: name, Namespace: namespace, Seconds: expiration, Target: target})
}

func (c clusterCalls) oidc(issuerURL, clientID string, target any) (string, error) {
	kubeconfig, err := c.request(KubeconfigRequest{Kind: OIDC, IssuerURL: issuerURL, ClientID: clientID, Target: target})
	return base64.StdEncoding.EncodeToString(kubeconfig.Content), err
}

func (c clusterCalls) request(wanted KubeconfigRequest) (Kubeconfig, error) {
	if c.clusters == nil {
		return Kubeconfig{}, errNoClusters
	}
	return c.clusters.Kubeconfig(c.ctx, wanted)
}

// wholeSeconds accepts integers and floats.
func wholeSeconds(seconds any) (int64, error) {
	switch t := seconds.(type) {
	case int:
		return int64(t), nil
	case int64:
		return t, nil
	case float64:
		if math.Abs(t) < 1<<53 {
			return int64(t), nil
		}
	}
	return 0, fmt.Errorf("the expiration must be a number of seconds, not a value of type %s", typeName(seconds))
}
