// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// RemediationStrategy says how a failed upgrade is undone.
type RemediationStrategy string

// Strategies for failed upgrades.
const (
	// RemediationRollback goes back to the last good revision.
	RemediationRollback RemediationStrategy = "rollback"
	// RemediationUninstall uninstalls the release, so that the next attempt is an install.
	RemediationUninstall RemediationStrategy = "uninstall"
)

// Actions that Attempts.LastAttemptedReleaseAction names.
const (
	// ActionInstall is a Helm install.
	ActionInstall = "install"
	// ActionUpgrade is a Helm upgrade.
	ActionUpgrade = "upgrade"
)

// Remediation says what follows a failed install or upgrade, as in a HelmRelease. What fails before Helm has recorded a revision, for example
// because the chart does not render, has nothing to undo: it does not count and is tried again until the time of the DeployItem is up.
type Remediation struct {
	// retries is how often a job tries again after a failure was undone: 0, the default, fails the job with the first failure, and -1 goes on
	// until the time of the DeployItem is up.
	Retries int `json:"retries,omitempty"`
	// remediateLastFailure also undoes the failure after which the job gives up. Unset means false for installs, and for upgrades true
	// unless retries is 0.
	RemediateLastFailure *bool `json:"remediateLastFailure,omitempty"`
	// ignoreTestFailures neither counts nor undoes failures of tests. Unset means the value of test.ignoreFailures.
	IgnoreTestFailures *bool `json:"ignoreTestFailures,omitempty"`
	// strategy for failed upgrades; empty means rollback. A failed install is always uninstalled.
	Strategy RemediationStrategy `json:"strategy,omitempty"`
}

// IsExhausted reports whether a job gives up after this many failures.
func (r *Remediation) IsExhausted(failures int) bool { return r.Retries >= 0 && failures > r.Retries }

// Attempts says what a job has tried. The names are those of the status of a HelmRelease. A new job counts from zero, and so does a success.
type Attempts struct {
	// lastAttemptedJobID is the job that the counters belong to.
	LastAttemptedJobID string `json:"lastAttemptedJobID,omitempty"`
	// lastAttemptedReleaseAction is what failed last: install or upgrade.
	LastAttemptedReleaseAction string `json:"lastAttemptedReleaseAction,omitempty"`
	// lastAttemptedRevision is the version of the chart that failed last.
	LastAttemptedRevision string `json:"lastAttemptedRevision,omitempty"`
	// lastFailure is the message of the last failure, at most 1 KiB.
	LastFailure string `json:"lastFailure,omitempty"`
	// installFailures counts the failed installs of the job.
	InstallFailures int `json:"installFailures,omitempty"`
	// upgradeFailures counts the failed upgrades of the job.
	UpgradeFailures int `json:"upgradeFailures,omitempty"`
}

// Failures returns how often an action, install or upgrade, failed.
func (a *Attempts) Failures(action string) int {
	if action == ActionInstall {
		return a.InstallFailures
	}
	return a.UpgradeFailures
}
