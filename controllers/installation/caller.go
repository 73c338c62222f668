// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	callTimeout = 10 * time.Second
	// maxAnswer is the largest accepted answer in bytes.
	maxAnswer = 1 << 20
)

// unansweredError says that a cluster did not answer now.
type unansweredError struct{ error }

// Unwrap returns the cause.
func (e unansweredError) Unwrap() error { return e.error }

func isUnanswered(err error) bool {
	var unanswered unansweredError
	return errors.As(err, &unanswered)
}

// post sends a request as JSON to a path, given by its segments, and decodes the answer. The configuration is that of an opened Target.
func post(ctx context.Context, config *rest.Config, path []string, request, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	address, err := addressOf(config, path)
	if err != nil {
		return err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("prepare the request: %w", err)
	}
	call.Header.Set("Content-Type", "application/json")
	call.Header.Set("Accept", "application/json")
	return send(config, call, answer)
}

func send(config *rest.Config, call *http.Request, answer any) error {
	sender, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("prepare the connection: %w", err)
	}
	response, err := sender.Do(call)
	if target.IsUnusable(err) {
		return fmt.Errorf("the cluster cannot be used: %w", err)
	}
	if err != nil {
		return unansweredError{fmt.Errorf("the cluster does not answer: %w", err)}
	}
	defer response.Body.Close() // it was read
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if target.IsUnusable(err) {
		return fmt.Errorf("the cluster cannot be used: %w", err)
	}
	if err != nil {
		return unansweredError{fmt.Errorf("the answer of the cluster ended early: %w", err)}
	}
	return understand(response.StatusCode, content, answer)
}

// understand decodes an answer, or says what the cluster said instead.
func understand(code int, content []byte, answer any) error {
	if code == http.StatusOK || code == http.StatusCreated {
		if err := json.Unmarshal(content, answer); err != nil {
			return errors.New("the answer of the cluster is not a JSON object")
		}
		return nil
	}
	status := metav1.Status{}
	_ = json.Unmarshal(content, &status) // without a message the code says what it is
	err := fmt.Errorf("the cluster answers %d %s", code, cmp.Or(status.Message, http.StatusText(code)))
	if code >= http.StatusInternalServerError || code == http.StatusTooManyRequests {
		return unansweredError{err}
	}
	return err
}

// addressOf joins the address of a cluster and a path. Segments come from templates: none may lead elsewhere.
func addressOf(config *rest.Config, path []string) (string, error) {
	escaped := make([]string, len(path))
	for i, segment := range path {
		if segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "/%") {
			return "", fmt.Errorf("%q is not a valid name of an object", segment)
		}
		escaped[i] = url.PathEscape(segment)
	}
	return strings.TrimRight(config.Host, "/") + "/" + strings.Join(escaped, "/"), nil
}
