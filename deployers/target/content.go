// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// maxContent is the largest accepted content of a Target in bytes.
const maxContent = 1 << 20

// content is the parsed content of a Target of type kubernetes-cluster: exactly one field is set.
type content struct {
	kubeconfig []byte
	oidc       *oidcConfig
	self       *selfConfig
}

// oidcConfig reaches a cluster that trusts the tokens of the landscaper cluster.
type oidcConfig struct {
	Server            string         `json:"server"`
	CAData            []byte         `json:"caData"`
	ServiceAccount    serviceAccount `json:"serviceAccount"`
	Audience          []string       `json:"audience"`
	ExpirationSeconds *int64         `json:"expirationSeconds"`
}

// selfConfig reaches the landscaper cluster itself. Without a ServiceAccount it is reached as the one that acts.
type selfConfig struct {
	ServiceAccount    serviceAccount `json:"serviceAccount"`
	ExpirationSeconds *int64         `json:"expirationSeconds"`
}

// serviceAccount names a ServiceAccount in the namespace of the Target.
type serviceAccount struct {
	Name string `json:"name"`
}

// parseContent decides which form the content has. Anything that is none of the known forms is a kubeconfig itself.
func parseContent(raw []byte) (*content, error) {
	if len(raw) > maxContent {
		return nil, refuse("the content", fmt.Sprintf("is larger than %d bytes", maxContent), "remove what is not needed to reach one cluster")
	}
	var fields map[string]json.RawMessage
	if err := foreign.Unmarshal(raw, &fields); err != nil {
		return nil, refuse("the content", foreign.Problem(err)+where(err), "put an object there: a kubeconfig, kubeconfig:, oidcConfig: or selfConfig:")
	}
	switch {
	case fields["kubeconfig"] != nil:
		kubeconfig, err := embeddedKubeconfig(fields["kubeconfig"])
		return &content{kubeconfig: kubeconfig}, err
	case fields["oidcConfig"] != nil:
		oidc, err := parseOIDC(fields["oidcConfig"])
		return &content{oidc: oidc}, err
	case fields["selfConfig"] != nil:
		self, err := parseSelf(fields["selfConfig"])
		return &content{self: self}, err
	}
	return &content{kubeconfig: raw}, nil
}

// embeddedKubeconfig accepts a kubeconfig as a string or as an object.
func embeddedKubeconfig(raw json.RawMessage) ([]byte, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		return []byte(text), nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, refuse("kubeconfig", "is neither a string nor an object", "put the kubeconfig there as text or as an object")
	}
	if object["secretRef"] != nil && object["clusters"] == nil {
		return nil, refuse("kubeconfig.secretRef", "is no longer supported inside config",
			"remove spec.config and set spec.secretRef with name and key of a Secret in the Target's namespace")
	}
	return raw, nil
}

func parseOIDC(raw json.RawMessage) (*oidcConfig, error) {
	config := &oidcConfig{}
	if err := json.Unmarshal(raw, config); err != nil {
		return nil, refuse("oidcConfig", "cannot be read", "use the fields server, caData (base64), serviceAccount.name, audience and expirationSeconds")
	}
	return config, config.ServiceAccount.check("oidcConfig")
}

func parseSelf(raw json.RawMessage) (*selfConfig, error) {
	config := &selfConfig{}
	if err := json.Unmarshal(raw, config); err != nil {
		return nil, refuse("selfConfig", "cannot be read", "use the fields serviceAccount.name and expirationSeconds")
	}
	return config, nil
}

func (s serviceAccount) check(parent string) error {
	if s.Name == "" {
		return refuse(parent+".serviceAccount.name", "is missing", "name a ServiceAccount in the namespace of the Target")
	}
	return nil
}

// CredentialsElsewhere returns the field by which a content takes credentials from outside of itself, in whatever case deployers would read it;
// empty for a kubeconfig.
func CredentialsElsewhere(raw []byte) string {
	var fields map[string]json.RawMessage
	if err := foreign.Unmarshal(raw, &fields); err != nil {
		return ""
	}
	for name, value := range fields {
		switch {
		case strings.EqualFold(name, "selfConfig"), strings.EqualFold(name, "oidcConfig"):
			return "config." + name
		case strings.EqualFold(name, "kubeconfig") && refersToSecret(value):
			return "config.kubeconfig.secretRef"
		}
	}
	return ""
}

func refersToSecret(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return false
	}
	for name := range fields {
		if strings.EqualFold(name, "secretRef") {
			return true
		}
	}
	return false
}

// LeavesAccountOpen reports whether a content is that of the landscaper cluster without a ServiceAccount, so that whoever acts chooses one.
func LeavesAccountOpen(raw []byte) bool {
	parsed, err := parseContent(raw)
	return err == nil && parsed.self != nil && parsed.self.ServiceAccount.Name == ""
}
