// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/util/validation"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// Labels of releases. They say, after a crash, which job of which item made a revision and from what.
const (
	jobLabel       = "landscaper.gardener.cloud/job"
	contentLabel   = "landscaper.gardener.cloud/content"
	ownerLabel     = "helm.deployer.landscaper.gardener.cloud/deployitem-uid"
	forcedLabel    = "helm.deployer.landscaper.gardener.cloud/forced-at"
	attemptLabel   = "helm.deployer.landscaper.gardener.cloud/attempt"
	itemLabel      = v1alpha1.HelmDeployItemLabel
	namespaceLabel = config.OwnerNamespaceLabel
)

// foreignPending is how long a pending release that no DeployItem made is left alone: somebody may be at work on it.
const foreignPending = 30 * time.Minute

// action is what to do next to bring a release to where an item wants it.
type action string

const (
	// actionNone: the job has made its revision already.
	actionNone action = "nothing"
	// actionKeep: an earlier job has made from the same content what is deployed.
	actionKeep action = "keep"
	// actionInstall: there is no release.
	actionInstall action = "install"
	// actionReplace: there is only the history of an uninstalled release.
	actionReplace action = "replace"
	// actionUpgrade: there is a release to start from.
	actionUpgrade action = "upgrade"
	// actionForget: this very job failed or was interrupted while it made the revision; its record is removed and the step repeated, so that
	// a job makes one revision however often it tries.
	actionForget action = "forget"
	// actionGiveUp: another job was interrupted; its revision counts as failed, so that an upgrade can start from it.
	actionGiveUp action = "give up"
	// actionFinishUninstall: an uninstall was interrupted.
	actionFinishUninstall action = "finish uninstall"
	// actionStandBack: somebody else is at work on the release.
	actionStandBack action = "stand back"
	// actionRefuse: the release belongs to another DeployItem.
	actionRefuse action = "refuse"
)

// wish is what a job wants of a release.
type wish struct {
	// labels of the revision to make.
	labels map[string]string
	// takeOwnership takes over what belongs to others.
	takeOwnership bool
	// renew makes a new revision also where the deployed one has the same content.
	renew bool
}

// decide chooses the next action from the newest revision of a release, what is wanted, and the time.
func decide(last *engine.Release, wanted wish, now time.Time) action {
	switch {
	case last == nil:
		return actionInstall
	case last.Status == engine.StatusUninstalled && !last.Leaving:
		return actionReplace
	case isOthers(last, wanted.labels) && !wanted.takeOwnership:
		return actionRefuse
	case last.Leaving:
		return actionFinishUninstall
	case last.Status.IsPending(), last.Status == engine.StatusUninstalling:
		return takeOver(last, wanted, now)
	case last.Status == engine.StatusDeployed && sameAttempt(last, wanted.labels):
		return actionNone
	case last.Status == engine.StatusFailed && sameAttempt(last, wanted.labels):
		return actionForget
	case !wanted.renew && isUnchanged(last, wanted.labels):
		return actionKeep
	}
	return actionUpgrade
}

// isUnchanged reports whether a revision that the same DeployItem made is deployed and has the wanted content. A rollback is not: its labels are
// those of the revision that it went back to, whoever made that.
func isUnchanged(last *engine.Release, wanted map[string]string) bool {
	forced := wanted[forcedLabel]
	return last.Status == engine.StatusDeployed && !last.Inherited && !last.RolledBack &&
		last.Labels[ownerLabel] == wanted[ownerLabel] && !isOthers(last, wanted) &&
		last.Labels[contentLabel] == wanted[contentLabel] && (forced == "" || last.Labels[forcedLabel] == forced)
}

// takeOver chooses the action for an operation that began and did not end. One of this item was interrupted: its jobs never overlap. Any
// other may still be under way.
func takeOver(last *engine.Release, wanted wish, now time.Time) action {
	isOwn := last.Labels[ownerLabel] != "" && !isOthers(last, wanted.labels) && !isOfPerson(last)
	switch {
	case !isOwn && now.Sub(last.Began) < foreignPending:
		return actionStandBack
	case last.Status == engine.StatusUninstalling:
		return actionFinishUninstall
	case sameAttempt(last, wanted.labels), isRemedy(last, wanted.labels):
		return actionForget
	}
	return actionGiveUp
}

// isOfPerson reports whether a person began what is pending on a release of a DeployItem. Who began an uninstall is not known: it may be ours
// also where a person made the revision.
func isOfPerson(last *engine.Release) bool { return last.Inherited && last.Status.IsPending() }

// isOthers reports whether a release belongs to another DeployItem. A release that no DeployItem made belongs to nobody. One of an item of
// the same name and namespace belonged to a former item of this name, which is gone.
func isOthers(last *engine.Release, own map[string]string) bool {
	owner := last.Labels[ownerLabel]
	if owner == "" || owner == own[ownerLabel] {
		return false
	}
	return last.Labels[itemLabel] != own[itemLabel] || last.Labels[namespaceLabel] != own[namespaceLabel]
}

// sameAttempt reports whether a revision was made by the wanted job from the wanted content.
func sameAttempt(last *engine.Release, wanted map[string]string) bool {
	return sameJob(last, wanted) && last.Labels[contentLabel] == wanted[contentLabel]
}

// sameJob reports whether a revision was made by the wanted job. Inherited labels say whose the release is, and not who made the revision.
func sameJob(last *engine.Release, wanted map[string]string) bool {
	return !last.Inherited && last.Labels[jobLabel] == wanted[jobLabel] && last.Labels[ownerLabel] == wanted[ownerLabel]
}

// lastOf returns the newest revision of a history, nil where that is empty.
func lastOf(history []*engine.Release) *engine.Release {
	if len(history) == 0 {
		return nil
	}
	return history[len(history)-1]
}

// failures counts the revisions of a job that failed.
func failures(history []*engine.Release, wanted map[string]string) int {
	count := 0
	for _, revision := range history {
		if revision.Status == engine.StatusFailed && sameJob(revision, wanted) {
			count++
		}
	}
	return count
}

// itemLabels returns the labels that say whose a release is.
func itemLabels(item *v1alpha1.DeployItem) map[string]string {
	return map[string]string{
		ownerLabel:     labelValue(string(item.UID)),
		itemLabel:      resources.LabelValue(item.Name),
		namespaceLabel: item.Namespace,
	}
}

// content is what a revision is made from.
type content struct {
	chart  *engine.Chart
	values map[string]any
	// applied is what else says what the revision puts on the target, and how.
	applied appliedSettings
}

// releaseLabels returns the labels of the revision that a job makes of a content.
func releaseLabels(item *contract.Item, of content) (map[string]string, error) {
	values, err := json.Marshal(of.values)
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(of.applied)
	if err != nil {
		return nil, err
	}
	labels := itemLabels(item.DeployItem)
	labels[jobLabel] = labelValue(item.DeployItem.Status.JobID)
	labels[contentLabel] = labelHash(of.chart.Digest + "\n" + string(values) + "\n" + string(settings))
	if forced := item.DeployItem.Annotations[meta.ForceRequestAnnotation]; forced != "" {
		labels[forcedLabel] = labelValue(forced)
	}
	return labels, nil
}

// labelValue returns text where it may be the value of a label, else a hash of it.
func labelValue(text string) string {
	if len(validation.IsValidLabelValue(text)) == 0 {
		return text
	}
	return labelHash(text)
}

func labelHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
