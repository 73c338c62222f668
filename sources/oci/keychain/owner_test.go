// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package keychain

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestJoinedLoginsHaveTheFirstOwner(t *testing.T) {
	none := Credentials{}
	assert.Empty(t, Join(none, none).Owner())
	assert.Equal(t, "shop", Join(none, none.For("shop"), none.For("other")).Owner())
	assert.Empty(t, none.Owner(), "For changes a copy")
}
