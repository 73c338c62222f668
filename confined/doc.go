// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package confined runs the programs of users, such as templates and charts, in child processes of the own binary. A child has no
// environment, no descriptors beside its two pipes, no connections, a limit of memory that it sets itself before it reads anything, and a deadline. Whatever
// the program does, it ends its own job and nothing else.
//
// A package that has something to run declares a Program in a variable of its own; every executable that imports the package, a test
// binary too, can then be a child: it notices that while its packages are initialised, serves, and never reaches main. The parent makes a
// Pool of children and runs jobs in it. Both talk net/rpc over the child's standard input and output: the child asks for its next
// job, and for what only the parent can give. It promises nothing to others.
package confined
