// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

const (
	// backdate allows for clocks that differ.
	backdate = 5 * time.Minute
	// longestSettling is the time that clients are given, at most, to learn of a new authority.
	longestSettling = 10 * time.Minute
)

// Names of a generation's parts in a Secret, around its ID.
const (
	prefix          = "webhook-"
	authoritySuffix = ".ca.crt"
	certSuffix      = ".tls.crt"
	keySuffix       = ".tls.key"
)

// ring holds the certificates in use, the oldest first. A renewal makes a new generation of an authority and a certificate. Clients trust the
// authorities of all; the servers change to a new generation when every client has had the time to learn of its authority.
type ring []generation

// generation is one authority, whose key nobody keeps, and the server certificate that it has signed, as PEM.
type generation struct {
	id                          string
	authority, certificate, key []byte
	pair                        tls.Certificate
}

// newGeneration makes an authority and a certificate for the hosts, names or addresses, valid for a lifetime from now on.
func newGeneration(hosts []string, lifetime time.Duration, now time.Time) (generation, error) {
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-backdate), NotAfter: now.Add(lifetime)}
	}
	ca, leaf := template("landscaper-webhook-ca"), template("landscaper-webhook")
	ca.IsCA, ca.BasicConstraintsValid, ca.MaxPathLenZero, ca.KeyUsage = true, true, true, x509.KeyUsageCertSign
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, address)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	leafKey, leafErr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(err, leafErr); err != nil {
		return generation{}, fmt.Errorf("make a key: %w", err)
	}
	authority, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	signed, leafErr := x509.CreateCertificate(rand.Reader, leaf, ca, leafKey.Public(), caKey)
	key, keyErr := x509.MarshalPKCS8PrivateKey(leafKey)
	if err := errors.Join(err, leafErr, keyErr); err != nil {
		return generation{}, fmt.Errorf("sign the certificate of the webhooks: %w", err)
	}
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	g, err := parseGeneration("", encode("CERTIFICATE", authority), encode("CERTIFICATE", signed), encode("PRIVATE KEY", key))
	if err == nil {
		g.id = g.pair.Leaf.SerialNumber.Text(16)
	}
	return g, err
}

// errBroken says that the parts of a generation do not belong together. It never holds a part.
var errBroken = errors.New("the parts of the webhook certificate do not belong together")

func parseGeneration(id string, authority, certificate, key []byte) (generation, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	block, rest := pem.Decode(authority)
	if err != nil || block == nil || len(rest) > 0 {
		return generation{}, errBroken
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil || pair.Leaf.CheckSignatureFrom(ca) != nil {
		return generation{}, errBroken
	}
	return generation{id, authority, certificate, key, pair}, nil
}

func (g *generation) made() time.Time         { return g.pair.Leaf.NotBefore.Add(backdate) }
func (g *generation) lifetime() time.Duration { return g.pair.Leaf.NotAfter.Sub(g.made()) }

// due returns when a successor has to be made, settled when every client knows the authority.
func (g *generation) due() time.Time { return g.made().Add(g.lifetime() * 2 / 3) }
func (g *generation) settled() time.Time {
	return g.made().Add(min(longestSettling, g.lifetime()/6))
}

// decodeRing reads a ring from the data of a Secret. It leaves out what it cannot read.
func decodeRing(data map[string][]byte) ring {
	var found ring
	for name, certificate := range data {
		id, ok := strings.CutSuffix(name, certSuffix)
		if !ok || !strings.HasPrefix(id, prefix) {
			continue
		}
		g, err := parseGeneration(strings.TrimPrefix(id, prefix), data[id+authoritySuffix], certificate, data[id+keySuffix])
		if err == nil {
			found = append(found, g)
		}
	}
	slices.SortFunc(found, func(a, b generation) int {
		return cmp.Or(a.pair.Leaf.NotBefore.Compare(b.pair.Leaf.NotBefore), cmp.Compare(a.id, b.id))
	})
	return found
}

// encode returns the data of a Secret.
func (r ring) encode() map[string][]byte {
	data := map[string][]byte{}
	for _, g := range r {
		data[prefix+g.id+authoritySuffix], data[prefix+g.id+certSuffix], data[prefix+g.id+keySuffix] = g.authority, g.certificate, g.key
	}
	return data
}

// authorities returns what clients have to trust, as PEM.
func (r ring) authorities() []byte {
	var bundle bytes.Buffer
	for _, g := range r {
		bundle.Write(g.authority)
	}
	return bundle.Bytes()
}

// renewed returns the ring with a new generation, and without expired ones, when the newest that covers the hosts has had most of its
// life or none does; otherwise the ring itself and false.
func (r ring) renewed(hosts []string, lifetime time.Duration, now time.Time) (ring, bool, error) {
	covering := r.covering(hosts, now)
	if len(covering) > 0 && now.Before(covering[len(covering)-1].due()) {
		return r, false, nil
	}
	g, err := newGeneration(hosts, lifetime, now)
	if err != nil {
		return r, false, err
	}
	return append(r.covering(nil, now), g), true, nil
}

// current returns the certificate to serve the hosts with: of the newest generation that every client knows, else of the oldest;
// nil when there is none.
func (r ring) current(hosts []string, now time.Time) *tls.Certificate {
	covering := r.covering(hosts, now)
	if len(covering) == 0 {
		return nil
	}
	current := &covering[0]
	for i := range covering {
		if !now.Before(covering[i].settled()) {
			current = &covering[i]
		}
	}
	return &current.pair
}

// next returns the first moment after now at which renewed or current have another answer.
func (r ring) next(hosts []string, now time.Time) time.Time {
	covering := r.covering(hosts, now)
	if len(covering) == 0 {
		return now
	}
	next := covering[len(covering)-1].due()
	for i := range covering {
		if settled := covering[i].settled(); settled.After(now) && settled.Before(next) {
			next = settled
		}
	}
	return next
}

// covering returns the generations that have not expired and are good for all hosts.
func (r ring) covering(hosts []string, now time.Time) ring {
	return slices.DeleteFunc(slices.Clone(r), func(g generation) bool {
		return !now.Before(g.pair.Leaf.NotAfter) || slices.ContainsFunc(hosts, func(host string) bool { return g.pair.Leaf.VerifyHostname(host) != nil })
	})
}
