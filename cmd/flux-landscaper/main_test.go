// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMistakesOnTheCommandLineAreNamed(t *testing.T) {
	p := start(t)
	p.write("kubeconfig", "apiVersion: v1\nkind: Config\n")
	for name, test := range map[string]struct{ line, says string }{
		"a command that is none":     {"blueprnt", `unknown command "blueprnt" for "flux-landscaper"; did you mean blueprint?`},
		"a sub-command that is none": {"get environmnts", `unknown command "environmnts" for "flux-landscaper get"; did you mean environments?`},
		"one with flags":             {"tre -n team --failed", `unknown command "tre" for "flux-landscaper"; did you mean tree or trace?`},
		"kinds in one word":          {"get inst,di -n team", `unknown command "inst,di" for "flux-landscaper get"`},
		"nothing like it":            {"zzz", `unknown command "zzz" for "flux-landscaper"; see flux-landscaper --help`},
		"a flag that is none":        {"get environments --kubconfig x", "unknown flag: --kubconfig; did you mean --kubeconfig?"},
		"no such kubeconfig":         {"get environments --kubeconfig none", "kubeconfig none: stat none: no such file"},
		"no such context":            {"get environments --kubeconfig kubeconfig --context none", `kubeconfig kubeconfig, context none: context "none" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, status := p.run(strings.Fields(test.line)...)
			assert.Equal(t, statusError, status)
			assert.Contains(t, stderr, test.says)
			assert.Empty(t, stdout)
		})
	}
}
