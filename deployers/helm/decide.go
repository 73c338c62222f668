// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// Labels of releases. They tell, after a crash, which job of which item made a revision and from what.
const (
	jobLabel     = "landscaper.gardener.cloud/job"
	contentLabel = "landscaper.gardener.cloud/content"
	ownerLabel   = "helm.deployer.landscaper.gardener.cloud/deployitem-uid"
	itemLabel    = v1alpha1.HelmDeployItemLabel
)

// foreignPending is how long a pending release that no DeployItem made is left alone: somebody may be at work on it.
const foreignPending = time.Minute

// action is what to do next to bring a release to where an item wants it.
type action string

const (
	// actionNone: the job has made its revision already.
	actionNone action = "nothing"
	// actionInstall: there is no release.
	actionInstall action = "install"
	// actionReplace: there is only the history of an uninstalled release.
	actionReplace action = "replace"
	// actionUpgrade: there is a release to start from.
	actionUpgrade action = "upgrade"
	// actionForget: this very job was interrupted while it made the revision; its record is removed and the step repeated.
	actionForget action = "forget"
	// actionGiveUp: another job was interrupted; its revision counts as failed, so that the upgrade removes what it left.
	actionGiveUp action = "give up"
	// actionFinishUninstall: an uninstall was interrupted.
	actionFinishUninstall action = "finish uninstall"
	// actionStandBack: somebody else is at work on the release.
	actionStandBack action = "stand back"
)

// decide chooses the next action from the newest revision of a release, the labels of the wanted one, and the time.
func decide(last *engine.Release, wanted map[string]string, now time.Time) action {
	switch {
	case last == nil:
		return actionInstall
	case last.Status.IsPending():
		return takeOver(last, wanted, now)
	case last.Status == engine.StatusUninstalling:
		return actionFinishUninstall
	case last.Status == engine.StatusUninstalled:
		return actionReplace
	case last.Status == engine.StatusDeployed && sameAttempt(last, wanted):
		return actionNone
	}
	return actionUpgrade
}

func takeOver(last *engine.Release, wanted map[string]string, now time.Time) action {
	switch {
	case sameAttempt(last, wanted):
		return actionForget
	case last.Labels[jobLabel] == "" && now.Sub(last.Began) < foreignPending:
		return actionStandBack
	}
	return actionGiveUp
}

// sameAttempt tells whether a revision was made by the wanted job from the wanted content.
func sameAttempt(last *engine.Release, wanted map[string]string) bool {
	for _, label := range []string{jobLabel, contentLabel, ownerLabel} {
		if last.Labels[label] != wanted[label] {
			return false
		}
	}
	return true
}

// releaseLabels returns the labels of the revision that a job makes of a chart and values.
func releaseLabels(item *contract.Item, chart *engine.Chart, values map[string]any) (map[string]string, error) {
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		jobLabel:     labelValue(item.DeployItem.Status.JobID),
		contentLabel: labelHash(chart.Digest + "\n" + string(raw)),
		ownerLabel:   labelValue(string(item.DeployItem.UID)),
		itemLabel:    resources.LabelValue(item.DeployItem.Name),
	}, nil
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
