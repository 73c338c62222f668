// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package data

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
)

func TestPublicationOf(t *testing.T) {
	inst := fixture.Working("root", "1", "job")
	existing := func(content string, change ...func(client.Object)) client.Object {
		object := data("out", content)
		object.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation", Name: "root", UID: inst.UID}})
		for _, c := range change {
			c(object)
		}
		return object
	}
	ownerless := func(object client.Object) { object.SetOwnerReferences(nil) }
	others := func(object client.Object) {
		object.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Installation", Name: "root", UID: "2"}})
	}
	leaving := func(object client.Object) { object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)}) }
	for name, tc := range map[string]struct {
		existing client.Object
		want     Publication
	}{
		"nothing is there":                  {nil, PublishNew},
		"the same":                          {existing("1"), IsPublished},
		"other content":                     {existing("2"), PublishInstead},
		"made by a person":                  {existing("1", ownerless), PublishInstead},
		"of another, or of one before it":   {existing("1", others), PublishForOther},
		"kept for uninstalling":             {existing("1", leaving), PublishAfter},
		"of another, kept for uninstalling": {existing("1", others, leaving), PublishAfter},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, PublicationOf(inst, existing("1"), tc.existing)) })
	}
}
