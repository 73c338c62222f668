// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bytes"
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// judge answers the requests about one kind. It looks at nothing but the request, so a dry run gets the same answer.
type judge struct{ kind Kind }

// Handle admits or refuses. It refuses with code 403.
func (j judge) Handle(_ context.Context, request admission.Request) admission.Response {
	object, old := request.Object.Raw, request.OldObject.Raw
	if nothingToJudge(object, old) {
		return admission.Allowed("")
	}
	problems, err := j.kind.rule(object, old)
	if err != nil {
		return admission.Denied(err.Error())
	}
	if len(problems) > 0 {
		return admission.Denied(problems.ToAggregate().Error())
	}
	return admission.Allowed("")
}

// outline is what decides whether a change has to be judged.
type outline struct {
	Metadata struct {
		DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec json.RawMessage `json:"spec"`
}

// nothingToJudge tells whether an update has to be let through whatever the object says: finalizers of objects that were accepted
// before there was a rule have to come and go. conditions() says the same to API servers that know match conditions.
func nothingToJudge(object, old []byte) bool {
	var now, before outline
	if len(old) == 0 || json.Unmarshal(object, &now) != nil || json.Unmarshal(old, &before) != nil {
		return false
	}
	return now.Metadata.DeletionTimestamp != nil || bytes.Equal(now.Spec, before.Spec)
}
