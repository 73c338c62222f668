// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Endpoint is where the API server reaches the webhooks: a Service or a URL.
type Endpoint struct {
	service types.NamespacedName
	port    int32
	url     *url.URL
}

// ParseEndpoint reads an endpoint from a Service as namespace/name with a port, or else from a URL that begins with https. It fails when
// neither or both are given.
func ParseEndpoint(service string, port int32, address string) (Endpoint, error) {
	switch {
	case service == "" && address == "":
		return Endpoint{}, errors.New("say where the API server reaches the webhooks: --webhook-service or --webhook-url")
	case service != "" && address != "":
		return Endpoint{}, errors.New("give --webhook-service or --webhook-url, not both")
	case service != "":
		return serviceEndpoint(service, port)
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "https" || parsed.Hostname() == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return Endpoint{}, errors.New("--webhook-url has to be https://host, with a port and a path if needed")
	}
	return Endpoint{url: parsed}, nil
}

func serviceEndpoint(service string, port int32) (Endpoint, error) {
	namespace, name, ok := strings.Cut(service, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1035Label(name)) > 0 {
		return Endpoint{}, fmt.Errorf("--webhook-service has to be namespace/name, not %q", service)
	}
	if len(validation.IsValidPortNum(int(port))) > 0 {
		return Endpoint{}, fmt.Errorf("--webhook-service-port has to be a port, not %d", port)
	}
	return Endpoint{service: types.NamespacedName{Namespace: namespace, Name: name}, port: port}, nil
}

// Namespace is that of the Service, "" without one.
func (e Endpoint) Namespace() string { return e.service.Namespace }

// hosts are the names under which the API server calls.
func (e Endpoint) hosts() []string {
	if e.url != nil {
		return []string{e.url.Hostname()}
	}
	return []string{e.service.Name + "." + e.service.Namespace + ".svc"}
}

// client tells the API server how to call a path.
func (e Endpoint) client(path string, authorities []byte) admissionregistrationv1.WebhookClientConfig {
	if e.url != nil {
		address := e.url.JoinPath(path).String() // #nosec G125 -- the path is a constant of ours
		return admissionregistrationv1.WebhookClientConfig{URL: &address, CABundle: authorities}
	}
	return admissionregistrationv1.WebhookClientConfig{CABundle: authorities, Service: &admissionregistrationv1.ServiceReference{
		Namespace: e.service.Namespace, Name: e.service.Name, Port: &e.port, Path: &path,
	}}
}
