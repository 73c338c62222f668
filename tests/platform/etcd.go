// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import "os"

// Sockets are named relative to the working directory because the path of a socket must be short.
const (
	etcdSocket     = "etcd.sock"
	etcdPeerSocket = "peer.sock"
)

// startEtcd starts an etcd that lives in dir and listens on a socket there only, so that it never meets another one.
// Its data need not survive a power cut, so it does not wait for the disk.
func startEtcd(binary, dir string) (*Process, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	clients, peers := "unix://"+etcdSocket, "unix://"+etcdPeerSocket
	return StartProcess(Command{Name: string(Etcd), Path: binary, Dir: dir, Args: []string{
		"--unsafe-no-fsync",
		"--data-dir=data",
		"--listen-client-urls=" + clients,
		"--advertise-client-urls=" + clients,
		"--listen-peer-urls=" + peers,
		"--initial-advertise-peer-urls=" + peers,
		"--initial-cluster=default=" + peers,
		"--quota-backend-bytes=8589934592",
	}})
}
