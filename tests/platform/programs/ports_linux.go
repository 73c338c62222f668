// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"fmt"
	"net"
)

// hold takes the abstract name of a port among sockets, which the kernel gives to one process of the network and which leaves no file.
func hold(port int) (net.Listener, error) {
	return net.Listen("unix", fmt.Sprintf("@flux-landscaper-port-%d", port))
}
