// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notifications

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// The Alert of docs/agent.md is one that the definitions of Flux take once flux/notifications is applied.
func TestTheAlertOfAFencedClusterIsTaken(t *testing.T) {
	s := newScene(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "agent.md"))
	require.NoError(t, err)
	_, example, found := strings.Cut(string(page), "```yaml\napiVersion: notification.toolkit.fluxcd.io/v1beta3\n")
	require.True(t, found)
	example, _, _ = strings.Cut(example, "```")
	shown := &notificationv1beta3.Alert{}
	require.NoError(t, yaml.UnmarshalStrict([]byte("apiVersion: notification.toolkit.fluxcd.io/v1beta3\n"+example), shown))
	shown.Name = ""

	s.install("components: [landscaper]\n")

	s.create(shown, true)
}
