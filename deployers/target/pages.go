// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// page is how many objects one answer lists.
const page = 500

// beginnings is how often a list begins that does not come to its end.
const beginnings = 4

// ErrTooManyPages says that a list has no end.
var ErrTooManyPages = errors.New("the cluster has more objects with these labels than are looked through; delete those that nobody needs, or take the labels off")

// Pages calls read for one page of a list after the other, with its limit and the token that the page before came with, until read returns no
// token; most is how many answers are read. An answer that is too large is asked for again in smaller pages: whoever may write objects that the
// list selects, too, may not keep it from coming to its end. A list of which a token has expired begins anew, a few times: read gets no token then, and
// has to forget the pages before.
func Pages(most int, read func(limit int64, next string) (following string, err error)) error {
	limit, next, begun := int64(page), "", 1
	for range most {
		following, err := read(limit, next)
		switch {
		case errors.Is(err, egress.ErrLarge) && limit > 1:
			limit = max(limit/8, 1)
		case isExpired(err) && next != "" && begun < beginnings:
			next, begun = "", begun+1
		case err != nil:
			return err
		case following == "":
			return nil
		default:
			next, limit = following, min(2*limit, page)
		}
	}
	return ErrTooManyPages
}

// isExpired reports whether an API server does not have the version of a list any more that a token is for.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }
