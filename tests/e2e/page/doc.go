// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package page opens the page in a real browser, over landscapes in a real API server, whose statuses the tests write in the place of controllers.
// Its pictures are kept in bin/page. Without the program chromium the tests are skipped; on Debian it is the package of that name.
package page
