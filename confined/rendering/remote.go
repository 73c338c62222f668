// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"context"
	"io/fs"

	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/confined"
)

// Names of what a child asks its parent.
const (
	askOpen           = "open"
	askContent        = "content"
	askFollow         = "follow"
	askRepository     = "repository"
	askSchema         = "schema"
	askShoot          = "shoot"
	askServiceAccount = "serviceAccount"
	askOIDC           = "oidc"
)

// remote has the capabilities of the parent.
type remote struct{ parent *confined.Parent }

var (
	_ fs.FS                     = remote{}
	_ templating.ResourceReader = remote{}
	_ templating.Closure        = remote{}
	_ templating.Clusters       = remote{}
)

type (
	content struct {
		Data      []byte
		MediaType string
	}
	componentKey struct{ Name, Version string }
	kubeconfigOf struct {
		Name, Namespace string
		Seconds         int64
		Target          any
	}
	oidcOf struct {
		IssuerURL, ClientID string
		Target              any
	}
)

// ResourceContent implements template.ResourceReader.
func (r remote) ResourceContent(_ context.Context, key templating.ResourceKey) ([]byte, string, error) {
	out, err := confined.Ask[templating.ResourceKey, content](r.parent, askContent, key)
	return out.Data, out.MediaType, err
}

// Follow implements template.Closure.
func (r remote) Follow(name, version string) (string, string) {
	out, err := confined.Ask[componentKey, componentKey](r.parent, askFollow, componentKey{name, version})
	if err != nil {
		return name, version
	}
	return out.Name, out.Version
}

// Repository implements template.Closure.
func (r remote) Repository(name, version string) map[string]any {
	out, err := confined.Ask[componentKey, map[string]any](r.parent, askRepository, componentKey{name, version})
	if err != nil {
		return nil
	}
	return out
}

// ShootAdminKubeconfig implements template.Clusters.
func (r remote) ShootAdminKubeconfig(_ context.Context, name, namespace string, seconds int64, target any) (templating.Kubeconfig, error) {
	return confined.Ask[kubeconfigOf, templating.Kubeconfig](r.parent, askShoot, kubeconfigOf{name, namespace, seconds, target})
}

// ServiceAccountKubeconfig implements template.Clusters.
func (r remote) ServiceAccountKubeconfig(_ context.Context, name, namespace string, seconds int64, target any) (templating.Kubeconfig, error) {
	return confined.Ask[kubeconfigOf, templating.Kubeconfig](r.parent, askServiceAccount, kubeconfigOf{name, namespace, seconds, target})
}

// OIDCKubeconfig implements template.Clusters.
func (r remote) OIDCKubeconfig(_ context.Context, issuerURL, clientID string, target any) (templating.Kubeconfig, error) {
	return confined.Ask[oidcOf, templating.Kubeconfig](r.parent, askOIDC, oidcOf{issuerURL, clientID, target})
}

// schema returns the JSON schema of a component resource.
func (r remote) schema(_ context.Context, uri string) ([]byte, error) {
	out, err := confined.Ask[string, content](r.parent, askSchema, uri)
	return out.Data, err
}

// answers are the capabilities of an environment, for its children.
func answers(env *render.Environment) map[string]confined.Answer {
	out := map[string]confined.Answer{}
	if env.Files != nil {
		out[askOpen] = confined.AnswerWith(func(_ context.Context, name string) (node, error) { return open(env.Files, name), nil })
	}
	if env.Resources != nil {
		out[askContent] = confined.AnswerWith(func(ctx context.Context, key templating.ResourceKey) (content, error) {
			data, mediaType, err := env.Resources.ResourceContent(ctx, key)
			return content{Data: data, MediaType: mediaType}, err
		})
	}
	if env.Closure != nil {
		out[askFollow] = confined.AnswerWith(func(_ context.Context, key componentKey) (componentKey, error) {
			name, version := env.Closure.Follow(key.Name, key.Version)
			return componentKey{name, version}, nil
		})
		out[askRepository] = confined.AnswerWith(func(_ context.Context, key componentKey) (map[string]any, error) {
			return env.Closure.Repository(key.Name, key.Version), nil
		})
	}
	if env.Schemas != nil && env.Schemas.Resource() != nil {
		out[askSchema] = confined.AnswerWith(func(ctx context.Context, uri string) (content, error) {
			data, err := env.Schemas.Resource()(ctx, uri)
			return content{Data: data}, err
		})
	}
	if env.Clusters != nil {
		issuing(env.Clusters, out)
	}
	return out
}

func issuing(clusters templating.Clusters, out map[string]confined.Answer) {
	out[askShoot] = confined.AnswerWith(func(ctx context.Context, of kubeconfigOf) (templating.Kubeconfig, error) {
		return clusters.ShootAdminKubeconfig(ctx, of.Name, of.Namespace, of.Seconds, of.Target)
	})
	out[askServiceAccount] = confined.AnswerWith(func(ctx context.Context, of kubeconfigOf) (templating.Kubeconfig, error) {
		return clusters.ServiceAccountKubeconfig(ctx, of.Name, of.Namespace, of.Seconds, of.Target)
	})
	out[askOIDC] = confined.AnswerWith(func(ctx context.Context, of oidcOf) (templating.Kubeconfig, error) {
		return clusters.OIDCKubeconfig(ctx, of.IssuerURL, of.ClientID, of.Target)
	})
}
