// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/enrolment"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func agentCommand() *cobra.Command {
	return group("agent", "Join fenced clusters", nil, bootstrapCommand())
}

// minToken and maxToken bound how long a bootstrap token lives.
const (
	minToken = 10 * time.Minute
	maxToken = 24 * time.Hour
)

// bootstrapFlags are the flags of agent bootstrap-token.
type bootstrapFlags struct {
	cluster
	namespace, secretNamespace, secretName, server, file string
	expiry                                               time.Duration
}

func bootstrapCommand() *cobra.Command {
	f := &bootstrapFlags{}
	cmd := &cobra.Command{
		Use:   "bootstrap-token ENVIRONMENT",
		Short: "Make a token by which the agent of one Environment gets its credential, once",
		Long: "Make a token on the landscaper cluster, and print the Secret with it for the repository of the fenced cluster. With the token the agent of one\n" +
			"Environment gets its credential, once. Encrypt the Secret before you commit it, for example with SOPS, or apply it by hand. Apply flux/agent-access\n" +
			"for the Environment first. A former token of the Environment is no longer valid.",
		Example: "  flux-landscaper agent bootstrap-token my-env --server https://landscaper.example.com > agent-kubeconfig.yaml",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	f.bindFlags(flags)
	flags.StringVar(&f.namespace, "landscaper-namespace", "", "The namespace of the Environment on the landscaper cluster; by default ls-env- and its name.")
	flags.StringVarP(&f.secretNamespace, "namespace", "n", "ls-system", "The namespace of the Secret in the fenced cluster.")
	flags.StringVar(&f.secretName, "secret-name", "landscaper-agent-kubeconfig", "The name of the Secret in the fenced cluster: kubeconfig_secret of flux/agent.")
	flags.StringVar(&f.server, "server", "", "The URL of the landscaper cluster as the fenced cluster reaches it; by default that of the kubeconfig.")
	flags.DurationVar(&f.expiry, "expiry", time.Hour, "How long the token can be used, from 10m to 24h.")
	flags.StringVarP(&f.file, "output", "o", "", "The file to write the Secret to, which must not exist; by default it is printed.")
	return cmd
}

func (f *bootstrapFlags) run(cmd *cobra.Command, environment string) error {
	if f.expiry < minToken || f.expiry > maxToken {
		return fmt.Errorf("--expiry %s: is not from %s to %s", f.expiry, minToken, maxToken)
	}
	config, c, err := f.open()
	if err != nil {
		return err
	}
	f.namespace = cmp.Or(f.namespace, v1alpha1.EnvironmentNamespacePrefix+environment)
	if config.Insecure {
		return errors.New("--kubeconfig: does not verify the landscaper cluster; give its certificate-authority-data, which the agent needs")
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	if f.server != "" {
		config.Host = f.server
	}
	printAction(cmd, "making a bootstrap token for Environment %s in namespace %s", environment, f.namespace)
	request, err := f.request(cmd.Context(), c, environment)
	if err != nil {
		return err
	}
	text, err := f.secret(config, request.Status.Token)
	if err != nil {
		return err
	}
	if err := f.write(cmd.OutOrStdout(), text); err != nil {
		return err
	}
	printDone(cmd, "the token can be used once, until %s; encrypt the Secret before it is committed", request.Status.ExpirationTimestamp.UTC().Format(time.RFC3339))
	return nil
}

// request makes the claim that the token is bound to, in place of a former one, and the token.
func (f *bootstrapFlags) request(ctx context.Context, c client.Client, environment string) (*authenticationv1.TokenRequest, error) {
	for _, account := range []string{enrolment.AccountPrefix, enrolment.ClaimPrefix} {
		key := client.ObjectKey{Namespace: f.namespace, Name: account + environment}
		if err := c.Get(ctx, key, &corev1.ServiceAccount{}); apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("ServiceAccount %s does not exist; apply flux/agent-access for Environment %s to the landscaper cluster", key, environment)
		} else if err != nil {
			return nil, err
		}
	}
	claim := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.namespace, Name: enrolment.ClaimPrefix + environment, Labels: map[string]string{v1alpha1.DeployerEnvironmentLabel: environment},
		Annotations: map[string]string{enrolment.ExpiresAnnotation: time.Now().Add(f.expiry).UTC().Format(time.RFC3339)},
	}}
	if err := client.IgnoreNotFound(c.Delete(ctx, claim.DeepCopy())); err != nil {
		return nil, err
	}
	if err := c.Create(ctx, claim); err != nil {
		return nil, err
	}
	seconds := int64(f.expiry.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: claim.Name, UID: claim.UID},
	}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: enrolment.ClaimPrefix + environment}}
	return request, c.SubResource("token").Create(ctx, account, request)
}

// secret is the manifest for the repository of the fenced cluster.
func (f *bootstrapFlags) secret(config *rest.Config, token string) ([]byte, error) {
	const name = "landscaper"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{
		Server: config.Host + config.APIPath, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName,
	}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: f.namespace}
	kubeconfig.CurrentContext = name
	text, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   map[string]any{"name": f.secretName, "namespace": f.secretNamespace},
		"stringData": map[string]string{"bootstrap-kubeconfig": string(text)},
	})
}

func (f *bootstrapFlags) write(stdout io.Writer, text []byte) error {
	if f.file == "" {
		_, err := stdout.Write(text)
		return err
	}
	file, err := os.OpenFile(f.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}
