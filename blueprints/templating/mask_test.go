// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNothingIsShownOfASecretThatAMessageEndsWith(t *testing.T) {
	for name, secret := range map[string]string{
		"a password": "correct horse battery staple",
		"a key":      base64.StdEncoding.EncodeToString([]byte(strings.Repeat("key of somebody ", 1000))),
		"a repeated": strings.Repeat("secret", 20),
	} {
		t.Run(name, func(t *testing.T) {
			for _, before := range []int{0, maxMessage - len(secret), maxMessage - len(secret)/2, maxMessage - secretLength, maxMessage} {
				message := strings.Repeat(".", max(0, before)) + secret + strings.Repeat(".", maxMessage)
				shown := Masked(message, map[string]any{"word": secret})
				assert.LessOrEqual(t, len(shown), maxMessage)
				assert.NotContains(t, shown, secret[:secretLength], "%d bytes before it", before)
			}
		})
	}
}

func TestALongMessageKeepsItsBeginning(t *testing.T) {
	shown := Masked("it failed: "+strings.Repeat("x", 2*maxMessage), map[string]any{"word": "correct horse"})
	assert.Contains(t, shown, "it failed: xxx")
	assert.True(t, strings.HasSuffix(shown, "…"))
}

func TestSecretsWithinOthersAreMaskedInBase64(t *testing.T) {
	for _, before := range []string{"", "u:", "us:", "user:"} {
		auth := base64.StdEncoding.EncodeToString([]byte(before + "correct horse\n"))
		assert.NotContains(t, Masked("auth is "+auth, map[string]any{"word": "correct horse"}), auth[8:20], before)
	}
	assert.NotContains(t, Masked(base64.StdEncoding.EncodeToString([]byte("1234567890")), map[string]any{"pin": 1234567890.0}), "MTIzNDU2")
}

func TestNamesOfTargetsAreShown(t *testing.T) {
	cluster := map[string]any{
		"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target", "metadata": map[string]any{"name": "cluster-eu", "namespace": "tenant-one"},
		"spec": map[string]any{"config": map[string]any{"token": "correct horse"}},
	}
	for name, imports := range map[string]map[string]any{
		"a Target":          {"cluster": cluster},
		"a list":            {"clusters": []any{cluster}},
		"a map":             {"clusters": map[string]any{"eu": cluster}},
		"also a data value": {"cluster": cluster, "name": "cluster-eu"},
	} {
		t.Run(name, func(t *testing.T) {
			shown := Masked("Target tenant-one/cluster-eu refuses token correct horse", map[string]any{"imports": imports})
			assert.Equal(t, "Target tenant-one/cluster-eu refuses token [masked]", shown)
		})
	}
}
