// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"golang.org/x/sync/semaphore"
)

// errNotInTime says that the API server did not wait long enough.
var errNotInTime = errors.New("other Executions with compressed templates are looked at, and it was not the turn of this one in time; try again")

// judge answers the requests about one kind. It looks at nothing but the request, so a dry run gets the same answer.
type judge struct{ kind Kind }

// unpacking lets two compressed Executions be unpacked at a time.
var unpacking = semaphore.NewWeighted(2)

// Handle admits or refuses. It refuses with code 403, and warns of fields that have no effect in what it admits.
func (j judge) Handle(ctx context.Context, request admission.Request) admission.Response {
	object, old := request.Object.Raw, request.OldObject.Raw
	judged := j.kind.ruleFor(object, old)
	if judged == nil {
		return admission.Allowed("")
	}
	if isCompressed(object) {
		if !unpacking.TryAcquire(1) && unpacking.Acquire(ctx, 1) != nil {
			return admission.Errored(http.StatusServiceUnavailable, errNotInTime)
		}
		defer unpacking.Release(1)
	}
	problems, err := judged(object, old)
	if err != nil {
		return admission.Denied(err.Error())
	}
	if len(problems) > 0 {
		return admission.Denied(problems.ToAggregate().Error())
	}
	if j.kind.ignored == nil {
		return admission.Allowed("")
	}
	return admission.Allowed("").WithWarnings(j.kind.ignored(object)...)
}

// isCompressed reports whether an object has compressed templates, however its keys are written.
func isCompressed(object []byte) bool {
	var read struct {
		Spec struct {
			Compressed json.RawMessage `json:"deployItemsCompressed"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(object, &read) // what cannot be read is refused by its rule, unpacked by nobody
	return len(read.Spec.Compressed) > 0
}

// outline is what decides whether a change has to be judged.
type outline struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     json.RawMessage   `json:"spec"`
}

// ruleFor returns the rule for a change; nil if it has to be let through whatever the object says: finalizers of objects that were accepted
// before there was a rule have to come and go. conditions() says the same to API servers that know match conditions.
func (k *Kind) ruleFor(object, old []byte) rule {
	var now, before outline
	if len(old) == 0 || json.Unmarshal(object, &now) != nil || json.Unmarshal(old, &before) != nil {
		return k.rule
	}
	switch {
	case now.Metadata.DeletionTimestamp != nil:
		return nil
	case !bytes.Equal(now.Spec, before.Spec):
		return k.rule
	case k.owned && isAdopted(now.Metadata, before.Metadata):
		return adoption
	}
	return nil
}
