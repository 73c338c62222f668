// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/runtime/statusreaders"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State is how an object is.
type State int

// States of objects.
const (
	// InProgress objects are not ready yet.
	InProgress State = iota
	// Current objects are ready.
	Current
	// Failed objects will not become ready without a change.
	Failed
)

// Verdict is how an object is and why.
type Verdict struct {
	State State
	// Message says why; it may be empty.
	Message string
}

var jobs = schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}

// ByStatus reads the status of an object as kstatus does, Jobs as Flux does: they are ready when they have ended. An object without status is
// ready.
func ByStatus(ctx context.Context, object *unstructured.Unstructured) Verdict {
	if object.GroupVersionKind().GroupKind() == jobs {
		read, err := statusreaders.NewCustomJobStatusReader(nil).ReadStatusForObject(ctx, nil, object)
		if err == nil {
			err = read.Error
		}
		if err != nil {
			return unreadable(err)
		}
		return verdictOf(read.Status, read.Message)
	}
	result, err := status.Compute(object)
	if err != nil {
		return unreadable(err)
	}
	return verdictOf(result.Status, result.Message)
}

func verdictOf(read status.Status, message string) Verdict {
	switch read {
	case status.CurrentStatus:
		return Verdict{State: Current, Message: message}
	case status.FailedStatus:
		return Verdict{State: Failed, Message: message}
	}
	return Verdict{State: InProgress, Message: message}
}

func unreadable(err error) Verdict {
	return Verdict{State: InProgress, Message: "its status cannot be read: " + err.Error()}
}
