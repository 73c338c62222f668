// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/landscape/page"
)

// uiFlags are the flags of the page in a cluster alone.
type uiFlags struct {
	process
	address                     string
	cert, key, clientCA, secret string
	access                      page.Access
}

// uiOf returns the command of the page and what its flags set.
func uiOf() (*cobra.Command, *uiFlags) {
	flags := &uiFlags{process: process{name: "ui"}}
	command := serving("ui", "Show the landscape as a page, behind an authenticating proxy", flags.run)
	flags.bindServerFlags(command.Flags())
	flags.bindOwnFlags(command.Flags())
	flags.watch.AllNamespaces = true
	return command, flags
}

func (f *uiFlags) bindOwnFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.address, "listen-addr", ":8443", "The address that the page is served at.")
	flags.StringSliceVar(&f.access.Hosts, "allowed-hosts", nil,
		"The hosts, without ports, that requests may be for: that of the page in a browser, or what the proxy sends in its place. Required.")
	flags.StringVar(&f.cert, "tls-cert-file", "", "The certificate of the page, as PEM. It is read again when it changes.")
	flags.StringVar(&f.key, "tls-private-key-file", "", "The key of that certificate.")
	flags.StringVar(&f.clientCA, "requestheader-client-ca-file", "",
		"Certificates of the authorities that have issued the client certificate of the proxy, as PEM. What comes with no such certificate is refused.")
	flags.StringSliceVar(&f.access.Names, "requestheader-allowed-names", nil, "The common names that this client certificate may have, by default any.")
	flags.StringVar(&f.secret, "requestheader-secret-file", "",
		"A file with the secret that the proxy sends as X-Remote-Secret, at least 32 characters. What comes without is refused.")
	flags.StringSliceVar(&f.access.GroupHeaders, "requestheader-group-headers", nil,
		"Headers with the groups of the viewer, such as X-Remote-Group. Name only those that the proxy sets, or removes from what browsers send.")
	flags.StringVar(&f.access.GroupSeparator, "requestheader-group-separator", "", "What divides groups in one header, such as a comma; by default a header has one group.")
	flags.BoolVar(&f.access.EveryoneSeesAll, "everyone-sees-all", false, "Show what the process may list to everybody who reaches the page, whoever that is.")
}

func (f *uiFlags) run(ctx context.Context) error {
	certificates, err := f.readFiles()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		return fmt.Errorf("--listen-addr: %w", err)
	}
	defer listener.Close()
	if err := f.access.Check(listener.Addr()); err != nil {
		return err
	}
	mgr, err := f.start(func(*ctrl.Options, labels.Selector) {})
	if err != nil {
		return err
	}
	if err := landscape.AddToScheme(mgr.GetScheme()); err != nil {
		return err
	}
	if f.access.Client, err = client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme()}); err != nil {
		return err
	}
	server := &page.Server{Reader: f.access.Client, Access: &f.access}
	err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		snapshots, err := landscape.Watch(ctx, mgr.GetConfig(), f.access.Client, "")
		if err != nil {
			return err
		}
		return server.Serve(ctx, listener, snapshots)
	}))
	if err == nil && certificates != nil {
		err = mgr.Add(certificates)
	}
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// readFiles reads what flags name. It returns what watches the certificate, nil where there is none.
func (f *uiFlags) readFiles() (certificates *certwatcher.CertWatcher, err error) {
	if f.secret != "" {
		text, err := os.ReadFile(f.secret)
		if err != nil {
			return nil, fmt.Errorf("--requestheader-secret-file: %w", err)
		}
		if f.access.Secret = strings.TrimSpace(string(text)); f.access.Secret == "" {
			return nil, errors.New("--requestheader-secret-file: the file is empty; write the secret of the proxy there")
		}
	}
	if f.clientCA != "" {
		text, err := os.ReadFile(f.clientCA)
		if err != nil {
			return nil, fmt.Errorf("--requestheader-client-ca-file: %w", err)
		}
		f.access.ClientCAs = x509.NewCertPool()
		if !f.access.ClientCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("--requestheader-client-ca-file: the file has no certificate in PEM")
		}
	}
	if f.cert == "" && f.key == "" {
		return nil, nil
	}
	if certificates, err = certwatcher.New(f.cert, f.key); err != nil {
		return nil, fmt.Errorf("--tls-cert-file and --tls-private-key-file: %w", err)
	}
	f.access.Certificate = certificates.GetCertificate
	return certificates, nil
}
