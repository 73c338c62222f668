#!/bin/sh
# Copyright 2026 The flux-landscaper Authors
# SPDX-License-Identifier: Apache-2.0
#
# The CNI plugin of a node: the one that is called bridge, after which a Pod finds the servers on loopback of the machine below at the same
# addresses.
set -eu

CNI_PATH="{{.Plugins}}" "{{.Plugins}}/bridge"
[ "$CNI_COMMAND" = ADD ] || exit 0
nsenter --net="$CNI_NETNS" sh -eu >&2 <<'POD'
echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet
iptables -t nat -A OUTPUT -p tcp -d 127.0.0.1 --dport "{{.Servers}}" -j DNAT --to-destination "{{.NodeAddress}}"
iptables -t nat -A POSTROUTING -o eth0 -s 127.0.0.1 -j MASQUERADE
POD
