// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// answerTimeout is how long an answer may take. The relay itself gives up earlier.
const answerTimeout = 5 * time.Minute

// Client asks the content relay. It is safe for concurrent use.
type Client struct {
	service  string
	address  *url.URL
	http     *http.Client
	identity *identity
}

// Content is what the relay has.
type Content struct {
	// MediaType of the body, and the digest that whoever uses it has to compare.
	MediaType, Digest string
	// Body is nil where the content is the one that the caller knows.
	Body []byte
	// Sources are the Flux sources that it comes from.
	Sources []v1alpha1.SourceStatus
}

// PortName is that of the port of the relay's Service.
const PortName = "https"

// NewClient returns a client for the Service "namespace/name" of the landscaper cluster, which config and connection lead to.
func NewClient(config *rest.Config, connection *http.Client, service string) (*Client, error) {
	namespace, name, found := strings.Cut(service, "/")
	if !found || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1035Label(name)) > 0 {
		return nil, fmt.Errorf("%q is not the Service of a content relay; write namespace/name", service)
	}
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("find the address of the landscaper cluster: %w", err)
	}
	clients, err := kubernetes.NewForConfigAndClient(config, connection)
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	return &Client{
		service: service, http: connection, identity: &identity{clients: clients},
		address: address.JoinPath("api/v1/namespaces", namespace, "services", ProxyName(name), "proxy"), // #nosec G125 -- both names are checked above
	}, nil
}

// ProxyName is the name by which the API server reaches a Service over TLS; rights to services/proxy name it.
func ProxyName(service string) string { return "https:" + service + ":" + PortName }

// Get asks for content. Where the relay finds that the content has the digest known, which may be empty, the answer has no body. A body is read once
// reserve, which may be nil, has room for it. Errors are those of reserve, or those that the deployer would have met itself; that the relay is not there
// passes.
func (c *Client) Get(ctx context.Context, operation string, asked Asked, known string, reserve memory.Reserve) (*Content, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	token, err := c.identity.get(ctx, operation, "")
	if err != nil {
		return nil, err
	}
	response, err := c.send(ctx, asked, known, token)
	if err == nil && isRefusedToken(response) {
		_ = response.Body.Close()
		if token, err = c.identity.get(ctx, operation, token); err != nil {
			return nil, err
		}
		response, err = c.send(ctx, asked, known, token)
	}
	if err != nil {
		return nil, c.unreached(operation, "the connection to the API server failed: %w", shortened(err))
	}
	defer response.Body.Close()
	return c.read(ctx, operation, response, asked.Kind, known, reserve)
}

func isRefusedToken(response *http.Response) bool {
	return response.StatusCode == http.StatusUnauthorized && response.Header.Get(ServedBy) != ""
}

func (c *Client) send(ctx context.Context, asked Asked, known, token string) (*http.Response, error) {
	path, query := asked.URL()
	at := c.address.JoinPath(path) // #nosec G125 -- its parts are names of objects
	at.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set(TokenHeader, token)
	request.Header.Set("Accept-Encoding", "identity") // what is passed on is packed already
	if known != "" {
		request.Header.Set("If-None-Match", `"`+known+`"`)
	}
	return c.http.Do(request)
}

// read returns what an answer says.
func (c *Client) read(ctx context.Context, operation string, response *http.Response, kind Kind, known string, reserve memory.Reserve) (*Content, error) {
	found, err := c.readHead(operation, response, known)
	if err != nil || response.StatusCode != http.StatusOK {
		return found, err
	}
	if found.Body, err = c.readBody(ctx, operation, response, kind, reserve); err != nil {
		return nil, err
	}
	return found, nil
}

// readHead returns what an answer says without its body.
func (c *Client) readHead(operation string, response *http.Response, known string) (*Content, error) {
	if response.Header.Get(ServedBy) == "" {
		return nil, c.notServed(operation, response)
	}
	switch response.StatusCode {
	case http.StatusOK, http.StatusNotModified:
	case http.StatusUnprocessableEntity:
		return nil, readFailure(response.Body)
	case http.StatusConflict:
		return nil, kit.Again(operation, "ItemChanged", "the DeployItem has changed since the job began; it is read again")
	case http.StatusTooManyRequests:
		return nil, kit.Again(operation, "RelayBusy", "the content relay %s is busy with other requests of this deployer", c.service)
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, kit.Again(operation, "RelayRefused", "the content relay %s does not serve this DeployItem to the deployer; let its ServiceAccount get the DeployItem", c.service)
	case http.StatusNotFound:
		return nil, c.unreached(operation, "it does not know what is asked for; update it to the version of the deployer")
	default:
		return nil, c.unreached(operation, "it answers %s", response.Status)
	}
	found := &Content{Digest: strings.Trim(response.Header.Get("ETag"), `"`)}
	if sources := response.Header.Get(SourcesHeader); sources != "" {
		if err := json.Unmarshal([]byte(sources), &found.Sources); err != nil {
			return nil, c.unreached(operation, "its header %s is not to be understood; update both sides to the same version", SourcesHeader)
		}
	}
	if response.StatusCode == http.StatusNotModified {
		if found.Digest = known; known == "" {
			return nil, c.unreached(operation, "it answers %s to a question that knew nothing", response.Status)
		}
		return found, nil
	}
	found.MediaType, _, _ = mime.ParseMediaType(response.Header.Get("Content-Type"))
	return found, nil
}

// readBody reads the content of an answer.
func (c *Client) readBody(ctx context.Context, operation string, response *http.Response, kind Kind, reserve memory.Reserve) ([]byte, error) {
	var full error
	body, err := memory.ReadAll(ctx, response.Body, response.ContentLength, kind.limit(), func(ctx context.Context, bytes int64) error {
		if reserve != nil {
			full = reserve(ctx, bytes)
		}
		return full
	})
	switch {
	case full != nil:
		return nil, full
	case err != nil:
		return nil, c.unreached(operation, "its answer broke off: %w", shortened(err))
	case int64(len(body)) > kind.limit():
		return nil, kit.Stall(operation, "TooLarge", "the content relay %s sends more than %d MiB; publish something smaller", c.service, kind.limit()>>20)
	}
	return body, nil
}

// notServed is the error about an answer of the API server itself.
func (c *Client) notServed(operation string, response *http.Response) error {
	if response.StatusCode == http.StatusForbidden {
		return kit.Again(operation, "RelayRefused", "the deployer may not reach the content relay %s; let it get services/proxy of that name (%s) there",
			c.service, ProxyName(c.service[strings.Index(c.service, "/")+1:]))
	}
	said := &metav1.Status{}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxFailure))
	if err == nil && json.Unmarshal(raw, said) == nil && said.Kind == "Status" && said.Message != "" {
		return c.unreached(operation, "%s", said.Message)
	}
	return c.unreached(operation, "the API server answers %s for it", response.Status)
}

func (c *Client) unreached(operation, format string, args ...any) error {
	return kit.Again(operation, "RelayUnreachable", "the content relay %s is not reached: %w", c.service, fmt.Errorf(format, args...))
}

// shortened leaves out the URL of a request.
func shortened(err error) error {
	if wrapped, isURL := err.(*url.Error); isURL {
		return wrapped.Err
	}
	return err
}
