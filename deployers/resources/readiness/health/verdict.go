// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package health says how an object is that has no built-in readiness check: by its status as kstatus reads it, and by CEL expressions of the
// user (RFC 0009 of Flux). It makes no requests. Expressions are foreign programs: their length, cost and time are bounded, and functions whose
// cost cannot be bounded are refused.
package health

import (
	"context"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/runtime/statusreaders"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var jobs = schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}

// ByStatus reads the status of an object as kstatus does, Jobs as Flux does: they are ready when they have ended. An object without status is
// ready.
func ByStatus(ctx context.Context, object *unstructured.Unstructured) *status.Result {
	if object.GroupVersionKind().GroupKind() != jobs {
		return readable(status.Compute(object))
	}
	read, err := statusreaders.NewCustomJobStatusReader(nil).ReadStatusForObject(ctx, nil, object)
	if err != nil {
		return readable(nil, err)
	}
	return readable(&status.Result{Status: read.Status, Message: read.Message}, read.Error)
}

func readable(result *status.Result, err error) *status.Result {
	if err != nil {
		return inProgress("its status cannot be read: " + err.Error())
	}
	return result
}

func inProgress(message string) *status.Result {
	return &status.Result{Status: status.InProgressStatus, Message: message}
}
