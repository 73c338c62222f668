// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLogsKeepTheLinesAboutObjects(t *testing.T) {
	log := `{"level":"info","ts":"2026-01-02T03:04:05.678Z","msg":"job ended","controller":"installation","namespace":"shop","name":"web","root":"web","result":"Failed","reason":"ImportNotFound"}
{"level":"info","ts":"2026-01-02T03:04:06Z","msg":"job ended","namespace":"shop","name":"web-child","root":"web","result":"Succeeded","reason":""}
{"level":"info","ts":"2026-01-02T03:04:06Z","msg":"job ended","namespace":"other","name":"web","result":"Succeeded"}
panic: not JSON
{"level":"error","ts":"2026-01-02T03:04:07Z","msg":"Reconciler error","namespace":"shop","name":"web","error":"the cache is behind"}`
	lines, err := linesAbout(strings.NewReader(log), "controller", map[string]bool{"shop/web": true})
	require.NoError(t, err)
	var shown []string
	for _, line := range lines {
		shown = append(shown, line.String())
	}
	assert.Equal(t, []string{
		"2026-01-02T03:04:05Z info controller web: job ended Failed ImportNotFound",
		"2026-01-02T03:04:06Z info controller web-child: job ended Succeeded",
		"2026-01-02T03:04:07Z error controller web: Reconciler error the cache is behind",
	}, shown)
}
