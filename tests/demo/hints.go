// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
)

// hints says how to look at the landscape, and what to change to see it at work.
func (d *demo) hints() []string {
	bold := d.screen.paint.bold
	return []string{
		"",
		bold("Look") + "    export KUBECONFIG=" + d.platform.KubeconfigPath,
		fmt.Sprintf("        kubectl -n %s get kustomizations,installations,deployitems", namespace),
		"",
		bold("Change") + "  git clone " + d.repository.CloneURL + " && cd " + namespace,
		"        " + edit("s/Welcome to/Good morning from/", "installations/greeting.yaml"),
		"        git commit -am 'Greet the morning' && git push",
		d.screen.paint.dim("        Within 10 seconds Flux applies it: greeting runs once, backend and frontend not at all."),
		"",
		d.screen.paint.dim("        Then edit blueprints/backend/deploy.yaml, or delete installations/frontend.yaml, and push again."),
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
