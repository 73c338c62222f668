// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Expiry is a client that lists one object in each page, and whose tokens for the second page expire.
type Expiry struct {
	client.Client
	// Times is how many lists do not come to their end; -1 is all.
	Times int
	// Lists counts those that were begun.
	Lists int
}

// List answers with one page. The token of the next is the number of the object that it begins with.
func (e *Expiry) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	begin, err := strconv.Atoi("0" + asked.Continue)
	if err != nil {
		return err
	}
	if begin == 0 {
		e.Lists++
	} else if e.Times != 0 {
		e.Times--
		return apierrors.NewResourceExpired("The provided continue parameter is too old")
	}
	if err := e.Client.List(ctx, list, append(options, client.Limit(0), client.Continue(""))...); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	list.SetContinue("")
	if begin+1 < len(items) {
		list.SetContinue(strconv.Itoa(begin + 1))
	}
	return meta.SetList(list, items[min(begin, len(items)):min(begin+1, len(items))])
}
