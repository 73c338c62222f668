#!/bin/sh
# Copyright 2026 The flux-landscaper Authors
# SPDX-License-Identifier: Apache-2.0
#
# The first process of a node, in namespaces of its own: prepares them, says so by the file $1 and collects what becomes an orphan.
# What it mounts, listens to or starts is gone when it ends.
set -eu

mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /run
# What the programs write below /var stays in memory, what is there remains readable.
for folder in /var/lib /var/log; do
  mkdir -p "/run/above$folder/upper" "/run/above$folder/work"
  mount -t overlay -o "lowerdir=$folder,upperdir=/run/above$folder/upper,workdir=/run/above$folder/work" overlay "$folder"
done
mount --make-rshared /

# The kubelet sets these for the whole machine. It is given copies, in a file system of their own: it takes the latest mount of one for the
# place where it is.
mkdir /run/sysctl
mount -t tmpfs -o mode=755 tmpfs /run/sysctl
for name in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  [ -e "/proc/sys/$name" ] || continue
  copy="/run/sysctl/$name"
  mkdir -p "${copy%/*}"
  cat "/proc/sys/$name" >"$copy"
  mount --bind "$copy" "/proc/sys/$name"
done

# The control group of all containers, in the one tree of a machine or in each of its trees.
groups=/sys/fs/cgroup
if [ -e $groups/cgroup.controllers ]; then
  mkdir -p "$groups/$GROUP"
  for parent in "$groups" "$groups/${GROUP%/*}"; do
    for controller in $(cat "$parent/cgroup.controllers"); do echo "+$controller" >"$parent/cgroup.subtree_control"; done
  done
else
  for tree in $groups/*/cgroup.procs; do mkdir -p "${tree%/*}/$GROUP"; done
fi

ip link set lo up
# A bridge without an address of its own has the lowest one of its Pods, and another one when that Pod is gone: the rest would send to the old one for
# minutes.
ip link add cni0 address 02:00:00:00:00:01 type bridge
ip address add "$NODE_ADDRESS/16" dev cni0
ip link set cni0 up
# Names and Services that nobody serves are refused at once.
ip route add local "$SERVICE_RANGE" dev lo

# The API server and the servers on loopback of the machine below are behind the door.
for chain in OUTPUT PREROUTING; do
  iptables -t nat -A "$chain" -p tcp -d "$SERVICE_ADDRESS" --dport 443 -j REDIRECT --to-ports "$DOOR_PORT"
done
iptables -t nat -A OUTPUT -p tcp -d 127.0.0.1 --dport "$SERVERS" -j REDIRECT --to-ports "$DOOR_PORT"
iptables -t nat -A PREROUTING -p tcp -d "$NODE_ADDRESS" --dport "$SERVERS" -j REDIRECT --to-ports "$DOOR_PORT"

: >"$1"
while :; do sleep infinity; done
