// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package certificates makes and renews the certificates with which webhooks are served. It is pure: the caller passes the time in and
// keeps what it is given.
//
// A renewal makes a new generation: a certificate authority, and one server certificate signed by it. Nobody keeps the key of the
// authority, so there is nothing to steal with which other certificates could be made. Clients trust the authorities of all
// generations in a Ring; the servers change to a new generation when every client has had the time to learn of its authority.
// It promises nothing to others.
package certificates

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	// backdate allows for clocks that differ.
	backdate = 5 * time.Minute
	// longestSettling is the time that clients are given, at most, to learn of a new authority.
	longestSettling = 10 * time.Minute
	authorityName   = "landscaper-webhook-ca"
	serverName      = "landscaper-webhook"
)

// Generation is one authority and the server certificate that it has signed.
type Generation struct {
	// ID is unique.
	ID string
	// Authority, Certificate and Key are PEM; Key belongs to Certificate.
	Authority, Certificate, Key []byte

	pair tls.Certificate
}

// newGeneration makes an authority and a certificate for the hosts, names or addresses, valid for a lifetime from now on.
func newGeneration(hosts []string, lifetime time.Duration, now time.Time) (Generation, error) {
	ca, caKey, err := issue(authorityTemplate(lifetime, now), nil, nil)
	if err != nil {
		return Generation{}, err
	}
	leaf, leafKey, err := issue(serverTemplate(hosts, lifetime, now), ca, caKey)
	if err != nil {
		return Generation{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return Generation{}, fmt.Errorf("encode the key of the webhook certificate: %w", err)
	}
	return parseGeneration(leaf.SerialNumber.Text(16), encode("CERTIFICATE", ca.Raw), encode("CERTIFICATE", leaf.Raw), encode("PRIVATE KEY", der))
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func template(name string, lifetime time.Duration, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: now.Add(-backdate),
		NotAfter:  now.Add(lifetime),
	}
}

func authorityTemplate(lifetime time.Duration, now time.Time) *x509.Certificate {
	ca := template(authorityName, lifetime, now)
	ca.IsCA, ca.BasicConstraintsValid, ca.MaxPathLenZero = true, true, true
	ca.KeyUsage = x509.KeyUsageCertSign
	return ca
}

func serverTemplate(hosts []string, lifetime time.Duration, now time.Time) *x509.Certificate {
	leaf := template(serverName, lifetime, now)
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, address)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	return leaf
}

// issue signs a certificate with a new key; without a parent it signs itself.
func issue(certificate, parent *x509.Certificate, parentKey crypto.Signer) (*x509.Certificate, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	if certificate.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, fmt.Errorf("make a serial number: %w", err)
	}
	if parent == nil {
		parent, parentKey = certificate, key
	}
	der, err := x509.CreateCertificate(rand.Reader, certificate, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the certificate of %s: %w", certificate.Subject.CommonName, err)
	}
	signed, err := x509.ParseCertificate(der)
	return signed, key, err
}

// errBroken says that the parts of a generation do not belong together. It never holds a part.
var errBroken = errors.New("the parts of the webhook certificate do not belong together")

func parseGeneration(id string, authority, certificate, key []byte) (Generation, error) {
	g := Generation{ID: id, Authority: authority, Certificate: certificate, Key: key}
	var err error
	if g.pair, err = tls.X509KeyPair(certificate, key); err != nil {
		return Generation{}, errBroken
	}
	block, rest := pem.Decode(authority)
	if block == nil || len(rest) > 0 {
		return Generation{}, errBroken
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil || g.pair.Leaf.CheckSignatureFrom(ca) != nil {
		return Generation{}, errBroken
	}
	return g, nil
}

// Expires returns when clients stop to accept the certificate.
func (g *Generation) Expires() time.Time { return g.pair.Leaf.NotAfter }

func (g *Generation) made() time.Time         { return g.pair.Leaf.NotBefore.Add(backdate) }
func (g *Generation) lifetime() time.Duration { return g.Expires().Sub(g.made()) }

// due returns when a successor has to be made: after two thirds of the lifetime.
func (g *Generation) due() time.Time { return g.made().Add(g.lifetime() * 2 / 3) }

// settled returns when every client knows the authority.
func (g *Generation) settled() time.Time {
	return g.made().Add(min(longestSettling, g.lifetime()/6))
}

// covers reports whether the certificate is good for all hosts.
func (g *Generation) covers(hosts []string) bool {
	for _, host := range hosts {
		if g.pair.Leaf.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}
