// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"

	"github.com/flux-landscaper/flux-landscaper/tests/sample"
)

// hints says how to look at the landscape, and what to change to see it at work.
func (d *demo) hints() []string {
	bold, dim := d.screen.Paint.Bold, d.screen.Paint.Dim
	return []string{
		"",
		bold("Look") + "    export KUBECONFIG=" + d.platform.KubeconfigPath,
		fmt.Sprintf("        kubectl -n %s get kustomizations,installations,deployitems", sample.Namespace),
		"",
		bold("Change") + "  git clone " + d.repository.CloneURL + " && cd " + sample.Namespace,
		"        " + edit("s/Welcome to/Good morning from/", "installations/greeting.yaml"),
		"        git commit -am 'Greet the morning' && git push",
		dim("        Within 10 seconds Flux applies it: greeting runs once, backend and frontend not at all."),
		"",
		dim("        Then edit blueprints/backend/deploy.yaml, or delete installations/frontend.yaml, and push again."),
		"",
		bold("Publish") + fmt.Sprintf(" flux push artifact oci://%s/%s:1.1.0 --path=%s \\", d.platform.Registry.Host, sample.BlueprintPath, sample.BlueprintPath),
		"        --source=demo --revision=1.1.0 --insecure-registry",
		dim("        With the flux command, in the clone: frontend takes the newest version 1.x of its blueprint and runs once."),
		"",
		bold("Logs") + "    " + d.programs.dir,
		bold("Stop") + "    Ctrl-C ends every process and removes every file.",
		"",
	}
}

// edit is a command line that replaces text in a file, as the sed of this system wants it.
func edit(expression, file string) string {
	if runtime.GOOS == "darwin" {
		return fmt.Sprintf("sed -i '' '%s' %s", expression, file)
	}
	return fmt.Sprintf("sed -i '%s' %s", expression, file)
}
