// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"errors"
	"os"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// unprivileged is the user of images without a user's files, as "nonroot" of the distroless images.
const unprivileged = "65532:65532"

// Program returns an image with nothing but one static program of this machine, which it runs as root.
func Program(binary string) (v1.Image, error) {
	to := "/" + path.Base(binary)
	return Build(Contents{Programs: map[string]string{to: binary}, Entrypoint: []string{to}})
}

// Landscaper returns the image of the controllers and deployers: the static program of cmd/landscaper as user 65532, with the certificate
// authorities that this machine trusts.
func Landscaper(binary string) (v1.Image, error) {
	authorities, err := trusted()
	if err != nil {
		return nil, err
	}
	return Build(Contents{
		Programs:   map[string]string{"/landscaper": binary},
		Files:      map[string][]byte{"/etc/ssl/certs/ca-certificates.crt": authorities},
		Entrypoint: []string{"/landscaper"},
		User:       unprivileged,
	})
}

// bundles are where distributions keep the certificate authorities that they trust.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
}

// trusted returns the certificate authorities of this machine.
func trusted() ([]byte, error) {
	for _, bundle := range append([]string{os.Getenv("SSL_CERT_FILE")}, bundles...) {
		if content, err := os.ReadFile(bundle); err == nil {
			return content, nil
		}
	}
	return nil, errors.New("cannot find certificate authorities of this machine: install ca-certificates")
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
	return Build(Contents{
		Programs: map[string]string{"/bin/busybox": binary},
		Links:    links,
		Files: map[string][]byte{
			"/etc/passwd": []byte("root:x:0:0:root:/:/bin/sh\n"), "/etc/group": []byte("root:x:0:\n"),
		},
		Command: []string{"/bin/sh"},
		Env:     []string{"PATH=/bin"},
	})
}
