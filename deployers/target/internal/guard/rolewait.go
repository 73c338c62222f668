// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"net/http"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// roleDelays add up to a little more than a second.
var roleDelays = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Steps: 7}

// roleWait sends a binding again while the API server does not know its role. For somebody who may not grant more than he has, it looks roles up in a
// cache, which learns of one that was made a moment before only after that was answered.
type roleWait struct{ *guard }

// RoundTrip sends a request.
func (r roleWait) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.guard.RoundTrip(request)
	if !binds(request) {
		return response, err
	}
	for delays := roleDelays; err == nil && delays.Steps > 0 && lacksRole(response); {
		select {
		case <-request.Context().Done():
			return response, nil
		case <-time.After(delays.Step()):
		}
		again := request.Clone(request.Context())
		if again.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
		response, err = r.guard.RoundTrip(again)
	}
	return response, err
}

// binds reports whether a request may create a binding of RBAC, and can be sent again. What a dry run lacks may come with the others.
func binds(request *http.Request) bool {
	_, resource, isRBAC := strings.Cut(request.URL.Path, "/apis/"+rbacv1.GroupName+"/")
	mayCreate := request.Method == http.MethodPost || strings.HasPrefix(request.Header.Get("Content-Type"), string(types.ApplyPatchType))
	return isRBAC && strings.Contains(resource, "rolebindings") && mayCreate && request.GetBody != nil && !request.URL.Query().Has("dryRun")
}

// lacksRole reports whether the answer to a binding says that there is no such role: servers say that the binding is not found, or the role.
func lacksRole(response *http.Response) bool {
	if response.StatusCode != http.StatusNotFound {
		return false
	}
	status := statusIn(response)
	return status != nil && status.ErrStatus.Details != nil && status.ErrStatus.Details.Group == rbacv1.GroupName
}
