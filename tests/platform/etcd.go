// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// Sockets are named relative to the working directory because the path of a socket must be short.
const (
	etcdSocket     = "etcd.sock"
	etcdPeerSocket = "peer.sock"
)

// startEtcd starts an etcd that lives in dir and listens on a socket there only, so that it never meets another one.
// Its data need not survive a power cut, so it does not wait for the disk.
func startEtcd(binary, dir string) (*programs.Process, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	clients, peers := "unix://"+etcdSocket, "unix://"+etcdPeerSocket
	return programs.Start(programs.Command{Name: string(binaries.Etcd), Path: binary, Dir: dir, Env: seldomCollected, Args: []string{
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

// Stores returns the names of those secrets that anything which the etcd of the platform holds or has held contains: as they are, or in base64.
func (p *Platform) Stores(secrets map[string]string) ([]string, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(p.path("etcd"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for name, secret := range secrets {
			for _, form := range forms(secret) {
				found[name] = found[name] || bytes.Contains(content, form)
			}
		}
		return err
	})
	maps.DeleteFunc(found, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(found)), err
}

// forms are how a text may be stored. In base64 it looks different at each offset, but for its ends.
func forms(secret string) [][]byte {
	all := [][]byte{[]byte(secret)}
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("-", shift) + secret))
		all = append(all, []byte(encoded[4:len(encoded)-4]))
	}
	return all
}

// PrivateKeys returns a part of each private key of the cluster: of its authority, its API server, its ServiceAccounts and its administrator.
func (c *Cluster) PrivateKeys() (map[string]string, error) {
	own, err := encodeKey(c.authority.key)
	if err != nil {
		return nil, err
	}
	keys := map[string]string{"key of the authority": keyLine(own)}
	for _, name := range []string{"sa.key", "tls.key"} {
		key, err := os.ReadFile(filepath.Join(c.dir, name))
		if err != nil {
			return nil, err
		}
		keys[name] = keyLine(key)
	}
	admin, err := clientcmd.Load(c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	for _, user := range admin.AuthInfos {
		keys["key of the administrator"] = keyLine(user.ClientKeyData)
	}
	return keys, nil
}

// keyLine is the first line inside a PEM block.
func keyLine(pem []byte) string { return strings.Split(string(pem), "\n")[1] }
