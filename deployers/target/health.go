// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"sigs.k8s.io/controller-runtime/pkg/client"
	_ "sigs.k8s.io/controller-runtime/pkg/metrics" // registers the metric that is replaced here

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// Health is what a cluster answers to a check.
type Health struct {
	// User is the name of the user whom the cluster takes the credentials for, as a SelfSubjectReview says; empty on clusters older than
	// Kubernetes 1.28.
	User string
	// Version of the API server, such as v1.36.3; empty where the server does not tell.
	Version string
}

const (
	// maxHealthAnswer is the largest answer to a request of a check, in bytes.
	maxHealthAnswer = 64 << 10
	// maxUser is the longest name of a user that is shown, in bytes.
	maxUser = 512
)

// validVersion is how versions of Kubernetes look, those of distributions included.
var validVersion = regexp.MustCompile(`^v?[0-9][0-9A-Za-z.+_-]{0,63}$`)

// CheckHealth asks the cluster of a Target, with the credentials and the ServiceAccount of the Target, who it is and which version it has. It
// sends two requests and none of them twice. An error is of type *Error where it is about the Target or its cluster, and else about the
// landscaper cluster.
func (c *Clients) CheckHealth(ctx context.Context, live client.Reader, target *v1alpha1.Target) (Health, error) {
	connection, err := c.connectionOf(ctx, live, target, Actor{})
	if errors.Is(err, errNoTokens) {
		return Health{}, &Error{
			Reason: ReasonNoTokens, Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem},
			message: fmt.Sprintf("Target %q is opened by tokens of a ServiceAccount, which only deployers may request: its cluster is not checked; "+
				"remove spec.healthCheck", target.Name),
		}
	}
	if err != nil {
		return Health{}, err
	}
	health, err := connection.health(ctx)
	if err != nil {
		return Health{}, sick(target, err)
	}
	return health, nil
}

// health asks who the credentials belong to, and which version the server has.
func (c *connection) health(ctx context.Context) (Health, error) {
	config := rest.CopyConfig(c.cluster.Config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	requests, err := rest.UnversionedRESTClientForConfigAndClient(config, c.http)
	if err != nil {
		return Health{}, err
	}
	whoAmI := &authenticationv1.SelfSubjectReview{}
	err = ask(ctx, requests.Post().AbsPath(reviewPath).SetHeader("Content-Type", "application/json").Body([]byte(review)), whoAmI)
	if err != nil && !apierrors.IsNotFound(err) {
		return Health{}, err
	}
	info := &version.Info{}
	err = ask(ctx, requests.Get().AbsPath("/version"), info)
	if err != nil && !isRefusal(err) {
		return Health{}, err
	}
	health := Health{User: foreign.Beginning(whoAmI.Status.UserInfo.Username, maxUser)}
	if validVersion.MatchString(info.GitVersion) {
		health.Version = info.GitVersion
	}
	return health, nil
}

// isRefusal reports whether a server has answered that there is nothing for these credentials.
func isRefusal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
}

// ask reads the answer to a request, which is sent once.
func ask(ctx context.Context, request *rest.Request, into any) error {
	answer, err := request.MaxRetries(0).Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }()
	content, err := io.ReadAll(io.LimitReader(answer, maxHealthAnswer+1))
	switch {
	case err != nil:
		return err
	case len(content) > maxHealthAnswer:
		return egress.ErrLarge
	case json.Unmarshal(content, into) != nil:
		return errForeign
	}
	return nil
}

// sick says why a check of a cluster has failed, and what to do.
func sick(target *v1alpha1.Target, err error) error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	reason, cure := diagnosis(err)
	return &Error{
		Reason: reason, cause: err,
		message: fmt.Sprintf("the cluster of Target %q cannot be used: %s; %s", target.Name, ShownError(err), cure),
	}
}

// diagnosis returns the reason of a failed check, and the cure.
func diagnosis(err error) (reason, cure string) {
	var verification *tls.CertificateVerificationError
	var network net.Error
	switch {
	case IsHostGone(err):
		return ReasonHostNotFound, "correct the address of the server, or delete the Target if the cluster is gone"
	case errors.As(err, &verification):
		return ReasonCertificate, "correct certificate-authority-data and the address of the server"
	case isRefusal(err):
		return ReasonRefused, "renew the credentials of the Target, or give them the rights that are missing"
	case IsUnusable(err) || errors.Is(err, errForeign):
		return ReasonNoServer, "correct the address of the server"
	case errors.Is(err, egress.ErrSilent), errors.Is(err, egress.ErrSlow), errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return ReasonTimeout, "look at the cluster, and at the network between"
	}
	return ReasonUnreachable, "look at the cluster, and at the network between"
}

// IsHostGone reports whether a request failed because the name of a host does not exist in DNS, and that may be told.
func IsHostGone(err error) bool {
	return egress.MissingHost(err) != "" && !errors.Is(err, egress.ErrPrivate)
}

// HasNoHost reports whether a request to the cluster failed because the name of its server does not exist in DNS. The name of a proxy says nothing
// about the cluster. Where IsUnusable says the same, only who knows that the cluster was once there may let a tenant see it.
func (c *Cluster) HasNoHost(err error) bool {
	server, parseErr := url.Parse(c.Config.Host)
	missing := egress.MissingHost(err)
	return parseErr == nil && c.Config.Proxy == nil && missing != "" && missing == server.Hostname()
}

// otherHost is the label for all hosts that tenants may have chosen: Prometheus clients never forget a label, and panic at one that is not UTF-8.
const otherHost = "target"

// results counts requests of all Kubernetes clients of the process by code, method and host.
type results struct {
	next clientmetrics.ResultMetric
	// own has the hosts that have a label of their own.
	own sync.Map
}

var counted = &results{next: clientmetrics.RequestResult}

func init() { clientmetrics.RequestResult = counted }

// Increment counts a request.
func (r *results) Increment(ctx context.Context, code, method, host string) {
	if _, isOwn := r.own.Load(host); !isOwn {
		host = otherHost
	}
	r.next.Increment(ctx, code, method, host)
}

// CountByHost gives the server of a configuration, which the operator chose, a label of its own in the metric rest_client_requests_total. All others have the
// same, since tenants choose the hosts of Targets.
func CountByHost(config *rest.Config) {
	if base, _, err := rest.DefaultServerUrlFor(config); err == nil {
		counted.own.Store(base.Host, true)
	}
}
