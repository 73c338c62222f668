// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package enrolment is what agents, the landscaper and the command line agree on for the exchange of a bootstrap token for the credential of an agent.
// The agent makes a key behind the fence and writes the public half into a claim, a Secret that the token is bound to. The landscaper answers the first
// key with a token that only this key opens. With its claim the bootstrap token ends.
package enrolment

import (
	"crypto/hpke"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	// ClaimPrefix begins the name of the Secret that a bootstrap token is bound to, and of the ServiceAccount whose token it is. The name of the
	// Environment follows, as after the other prefixes.
	ClaimPrefix = "landscaper-agent-bootstrap-"
	// AnswerPrefix begins the name of the Secret with the answer.
	AnswerPrefix = "landscaper-agent-answer-"
	// AccountPrefix begins the name of the ServiceAccount of the agent.
	AccountPrefix = "landscaper-agent-"
	// PublicKey is the key of the claim that the agent writes.
	PublicKey = "key"
	// Answer is the key of the answer.
	Answer = "answer"
	// ExpiresAnnotation, on the claim, is when the bootstrap token ends, as RFC 3339.
	ExpiresAnnotation = "landscaper.gardener.cloud/bootstrap-expires-at"
	// ClaimAnnotation, on the answer, is the UID of the claim.
	ClaimAnnotation = "landscaper.gardener.cloud/bootstrap-claim"
)

// Credential is what an agent gets.
type Credential struct {
	// Token of the ServiceAccount of the agent.
	Token string `json:"token"`
	// Expires is when it ends.
	Expires time.Time `json:"expires"`
}

func suite() (hpke.KEM, hpke.KDF, hpke.AEAD) {
	return hpke.MLKEM768X25519(), hpke.HKDFSHA256(), hpke.AES256GCM()
}

// bound ties an answer to one Environment and one claim.
func bound(environment, claim string) []byte { return fmt.Appendf(nil, "%s/%s", environment, claim) }

// NewKey makes a key. It returns the private and the public half.
func NewKey() (private, public []byte, err error) {
	kem, _, _ := suite()
	key, err := kem.GenerateKey()
	if err != nil {
		return nil, nil, err
	}
	private, err = key.Bytes()
	return private, key.PublicKey().Bytes(), err
}

// Public returns the public half of a key.
func Public(private []byte) ([]byte, error) {
	kem, _, _ := suite()
	key, err := kem.NewPrivateKey(private)
	if err != nil {
		return nil, errors.New("the key of the agent is unusable")
	}
	return key.PublicKey().Bytes(), nil
}

// CheckPublic fails for what is no public half of a key.
func CheckPublic(public []byte) error {
	kem, _, _ := suite()
	_, err := kem.NewPublicKey(public)
	return err
}

// Seal encrypts a credential for a public key.
func Seal(public []byte, environment, claim string, credential Credential) ([]byte, error) {
	kem, kdf, aead := suite()
	key, err := kem.NewPublicKey(public)
	if err != nil {
		return nil, errors.New("the key in the claim is unusable")
	}
	text, err := json.Marshal(credential)
	if err != nil {
		return nil, err
	}
	return hpke.Seal(key, kdf, aead, bound(environment, claim), text)
}

// Open decrypts a credential. It fails where the answer is for another key, Environment or claim.
func Open(private []byte, environment, claim string, answer []byte) (Credential, error) {
	kem, kdf, aead := suite()
	key, err := kem.NewPrivateKey(private)
	if err != nil {
		return Credential{}, errors.New("the key of the agent is unusable")
	}
	text, err := hpke.Open(key, kdf, aead, bound(environment, claim), answer)
	if err != nil {
		return Credential{}, errors.New("the answer of the landscaper is not for the key of this agent")
	}
	var credential Credential
	if err := json.Unmarshal(text, &credential); err != nil || credential.Token == "" {
		return Credential{}, errors.New("the answer of the landscaper is unreadable")
	}
	return credential, nil
}
