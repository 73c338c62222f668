// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
)

// Program returns an image with nothing but one static program of this machine, which it runs as root.
func Program(binary string) (v1.Image, error) {
	to := "/" + path.Base(binary)
	return containerimage.Build(containerimage.Contents{Programs: map[string]string{to: binary}, Entrypoint: []string{to}})
}

// applets are the commands of BusyBox that the shell image has.
var applets = []string{
	"sh", "cat", "cp", "mv", "rm", "ls", "ln", "mkdir", "echo", "printf", "test", "[", "true", "false", "sleep", "stat", "chmod", "chown", "id",
	"env", "find", "grep", "sed", "awk", "head", "tail", "wc", "sort", "cut", "tr", "tar", "gzip", "dd", "date", "touch", "wget", "seq", "expr",
}

// Shell returns an image with a shell and the usual commands, which runs as root what a Pod gives it; its entry point is none. binary is
// a static BusyBox.
func Shell(binary string) (v1.Image, error) {
	links := map[string]string{}
	for _, applet := range applets {
		links["/bin/"+applet] = "busybox"
	}
	return containerimage.Build(containerimage.Contents{
		Programs: map[string]string{"/bin/busybox": binary},
		Links:    links,
		Files: map[string][]byte{
			"/etc/passwd": []byte("root:x:0:0:root:/:/bin/sh\n"), "/etc/group": []byte("root:x:0:\n"),
		},
		Command: []string{"/bin/sh"},
		Env:     []string{"PATH=/bin"},
	})
}
