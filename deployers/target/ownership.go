// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

const (
	reviewPath = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	review     = `{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}`
	reviewTime = 10 * time.Second
)

// accepts returns the function that asks the API server of config, which has no credentials, whether it accepts a token. Only the API server
// knows its audiences.
func accepts(config *rest.Config) (func(ctx context.Context, token string) (bool, error), error) {
	sender, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	address := config.Host
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	address = strings.TrimRight(address, "/") + reviewPath
	return func(ctx context.Context, token string) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, reviewTime)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader([]byte(review)))
		if err != nil {
			return false, err
		}
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		answer, err := sender.Do(request)
		if err != nil {
			return false, err
		}
		_ = answer.Body.Close() // the code says it
		if answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests {
			return false, fmt.Errorf("the landscaper cluster answers %d", answer.StatusCode)
		}
		return answer.StatusCode != http.StatusUnauthorized, nil
	}, nil
}
