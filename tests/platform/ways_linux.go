// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// ways connect the network of a node with the one of its cluster, which is that of this process or a network apart.
type ways struct {
	// kubelet is the port on loopback of the cluster that leads to the same port of the node.
	kubelet string

	cluster   *programs.Network // nil is the network of this process
	network   *os.File          // the network namespace of the node
	listeners []net.Listener
	conns     programs.Connections
}

// openWays opens both directions: out of the network of the process to servers on loopback of the cluster and to the API server, and to the kubelet.
func openWays(pid int, apiServer string, cluster *programs.Network) (*ways, error) {
	network, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, err
	}
	w := &ways{network: network, cluster: cluster}
	if err := errors.Join(w.openDoor(apiServer), w.openKubelet()); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// openDoor listens in the node for connections that its rules redirect.
func (w *ways) openDoor(apiServer string) error {
	return programs.Within(w.network, func() error {
		listener, err := net.Listen("tcp4", net.JoinHostPort("0.0.0.0", strconv.Itoa(doorPort)))
		if err != nil {
			return err
		}
		w.serve(listener, func(inner net.Conn) (net.Conn, error) {
			wanted, err := wantedAddress(inner)
			if err != nil {
				return nil, err
			}
			return w.cluster.Dial(context.Background(), "tcp4", backendOf(wanted, apiServer))
		})
		return nil
	})
}

// openKubelet listens in the network of the cluster on a port for connections to the same port of the node.
func (w *ways) openKubelet() error {
	address, err := programs.FreeAddress()
	if err != nil {
		return err
	}
	listener, err := w.cluster.Listen(address)
	if err != nil {
		return err
	}
	if _, w.kubelet, err = net.SplitHostPort(address); err != nil {
		return errors.Join(err, listener.Close())
	}
	w.serve(listener, func(net.Conn) (conn net.Conn, err error) {
		inside := programs.Within(w.network, func() error {
			conn, err = net.Dial("tcp4", net.JoinHostPort(nodeAddress, w.kubelet))
			return err
		})
		return conn, inside
	})
	return nil
}

func (w *ways) serve(listener net.Listener, dial func(net.Conn) (net.Conn, error)) {
	w.listeners = append(w.listeners, listener)
	go w.conns.Serve(listener, dial)
}

// close ends the ways and every connection on them.
func (w *ways) close() error {
	failures := []error{w.network.Close()}
	for _, listener := range w.listeners {
		failures = append(failures, listener.Close())
	}
	w.conns.BreakAll()
	return errors.Join(failures...)
}

// wantedAddress returns where a redirected connection was meant to go.
func wantedAddress(conn net.Conn) (address string, err error) {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return "", err
	}
	controlled := raw.Control(func(fd uintptr) {
		// The kernel fills a sockaddr_in; this structure is one that has room for it.
		var filled *unix.IPv6Mreq
		if filled, err = unix.GetsockoptIPv6Mreq(int(fd), unix.IPPROTO_IP, unix.SO_ORIGINAL_DST); err != nil {
			return
		}
		port := binary.BigEndian.Uint16(filled.Multiaddr[2:4])
		address = net.JoinHostPort(net.IP(filled.Multiaddr[4:8]).String(), strconv.Itoa(int(port)))
	})
	return address, errors.Join(controlled, err)
}

// backendOf returns the server on loopback of the cluster that is meant by an address in the node.
func backendOf(wanted, apiServer string) string {
	host, port, _ := net.SplitHostPort(wanted)
	if host == serviceAddress {
		return apiServer
	}
	return net.JoinHostPort(programs.Loopback, port)
}
