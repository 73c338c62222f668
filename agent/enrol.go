// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/enrolment"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

const (
	// agentTokenLifetime is asked for; a token is replaced when a third of what the API server made of it has passed.
	agentTokenLifetime = 7 * 24 * time.Hour
	// enrolTimeout is how long one step may take, and enrolInterval how often the bootstrap token is looked at while there is a credential.
	enrolTimeout  = 30 * time.Second
	enrolInterval = time.Minute
	enrolRetry    = time.Second
	maxEnrolRetry = time.Minute
	// maxReachRetry is the longest pause while nobody has answered: a way that is whole again is used within seconds.
	maxReachRetry = 5 * time.Second
	// enrolGrace is how long it may take until somebody is told that there is no credential yet.
	enrolGrace = 10 * time.Second
	// usedAnnotation, on the Secret with the credential, is the digest of the bootstrap token that it was given for, and leftAnnotation says that the
	// claim of this token is still to be deleted.
	usedAnnotation = "landscaper.gardener.cloud/bootstrap-used"
	leftAnnotation = "landscaper.gardener.cloud/bootstrap-left"
	// Keys of that Secret: the token, the key of a claim that is not answered yet, and the bootstrap token which that was made for.
	tokenKey, pendingKey, pendingFor = "token", "pending-key", "pending-for"
)

// credential is a token that changes. It is safe for concurrent use.
type credential struct{ token atomic.Pointer[string] }

// OpenBootstrapLink reads a kubeconfig with a bootstrap token. The agent exchanges that once for a credential of its own, which the link uses.
func OpenBootstrapLink(path string) (*Link, error) { return openLink(path, &credential{}) }

// refusal is why a bootstrap token is of no use: nothing is tried again with it.
type refusal struct{ reason, text string }

// Error returns the message.
func (r *refusal) Error() string { return r.text }

const newToken = "; make a new one by `flux landscaper agent bootstrap-token` and replace the Secret" // #nosec G101 -- the text of an error

// enrol keeps the credential of the agent for the landscaper cluster in a Secret of the own cluster. It is got for a bootstrap token and renewed by the
// agent from then on.
type enrol struct {
	config *Configuration
	link   *Link
	client client.Client
	live   client.Reader
	say    func(eventType, reason, message string)
	now    func() time.Time
	retry  *queue.Backoff
	// enrolled is closed when there is a credential for the first time.
	enrolled chan struct{}
	once     sync.Once
	// refused is the digest of the bootstrap token that was refused last.
	refused string
	// way leads to the landscaper cluster with the bootstrap token; nil until it is needed.
	way *line
	// failing is since when no step has succeeded; zero where the last one has.
	failing time.Time

	// trouble is why there is no credential, or none that lasts.
	trouble *trouble
	// kept is the Secret as this agent wrote or read it last.
	kept *corev1.Secret
}

// run works until ctx ends.
func (e *enrol) run(ctx context.Context) {
	for ctx.Err() == nil {
		after := enrolInterval
		if err := e.step(ctx); err != nil && ctx.Err() == nil {
			after = e.explain(err)
		} else {
			e.retry.Forget(e.key())
			e.failing = time.Time{}
			e.trouble.over()
		}
		queue.Sleep(ctx, after)
	}
}

// explain tells what is wrong and returns when to look again. A refused token is not tried again; its file is only read.
func (e *enrol) explain(err error) time.Duration {
	if refused, ok := errors.AsType[*refusal](err); ok {
		e.trouble.tell(refused.reason, refused.text)
		return beatInterval
	}
	if e.failing.IsZero() {
		e.failing = e.now()
	}
	after := e.retry.After(e.key(), err)
	if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		after = min(after, maxReachRetry)
	}
	if e.now().Sub(e.failing) >= enrolGrace {
		e.trouble.tell("EnrolmentWaits", fmt.Sprintf("the credential of the agent for the landscaper cluster is not there or not renewed yet: %v", err))
	}
	ctrl.Log.WithName("agent").Info("the credential for the landscaper cluster is tried again", "reason", err.Error(), "after", after.String())
	return after
}

func (e *enrol) key() client.ObjectKey {
	return client.ObjectKey{Namespace: e.config.Namespace, Name: e.config.credentialName()}
}

// step brings the credential on: it uses the one that there is, renews it, or exchanges a bootstrap token that is new.
func (e *enrol) step(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, enrolTimeout)
	defer cancel()
	bootstrap, err := readConfig(e.link.path)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{}
	if err := e.read(ctx, secret); err != nil {
		return fmt.Errorf("read Secret %s: %w", e.key(), err)
	}
	digest := digestOfToken(bootstrap.BearerToken)
	isUsable := e.isUsable(secret)
	var failed error
	if isUsable {
		failed = e.use(ctx, secret, bootstrap, digest)
	}
	switch {
	case secret.Annotations[usedAnnotation] == digest && isUsable, e.refused == digest:
		return failed
	case secret.Annotations[usedAnnotation] == digest:
		return &refusal{"AgentCredentialExpired", "the credential of the agent for the landscaper cluster has expired, and its bootstrap token was used" + newToken}
	}
	// A new bootstrap token also replaces a credential that the landscaper cluster accepts no more.
	err = e.exchange(ctx, secret, bootstrap, digest)
	if _, ok := errors.AsType[*refusal](err); ok {
		e.refused = digest
	}
	return err
}

// read reads the Secret with the credential. One that somebody has deleted is made again.
func (e *enrol) read(ctx context.Context, into *corev1.Secret) error {
	err := e.live.Get(ctx, e.key(), into)
	if apierrors.IsNotFound(err) && e.kept != nil {
		again := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.kept.Namespace, Name: e.kept.Name, Annotations: e.kept.Annotations}, Data: e.kept.Data}
		if err := e.client.Create(ctx, again); err != nil {
			return err
		}
		again.DeepCopyInto(into)
		return nil
	}
	return client.IgnoreNotFound(err)
}

// use hands the credential to the link, renews it when it is due, and deletes the claim it came from.
func (e *enrol) use(ctx context.Context, secret *corev1.Secret, bootstrap *rest.Config, digest string) error {
	e.hand(string(secret.Data[tokenKey]))
	e.kept = secret.DeepCopy()
	if secret.Annotations[leftAnnotation] != "" {
		if secret.Annotations[usedAnnotation] == digest {
			if err := e.deleteClaim(ctx, bootstrap); err != nil {
				return err
			}
		}
		delete(secret.Annotations, leftAnnotation)
		if err := e.client.Update(ctx, secret); err != nil {
			return fmt.Errorf("write Secret %s: %w", e.key(), err)
		}
	}
	if due, err := time.Parse(time.RFC3339, secret.Annotations[renewAnnotation]); err == nil && e.now().Before(due) {
		return nil
	}
	return e.renew(ctx, secret)
}

func (e *enrol) hand(token string) {
	e.link.credential.token.Store(&token)
	e.once.Do(func() {
		_, _ = e.link.Reload() // the heartbeat reloads, too, and says what is wrong
		close(e.enrolled)
	})
}

// isUsable reports whether a Secret holds a token that has not expired.
func (e *enrol) isUsable(secret *corev1.Secret) bool {
	expires, err := time.Parse(time.RFC3339, secret.Annotations[expiresAnnotation])
	return err == nil && e.now().Before(expires) && len(secret.Data[tokenKey]) > 0
}

// renew asks for a new token with the one that there is.
func (e *enrol) renew(ctx context.Context, secret *corev1.Secret) error {
	centre, err := kubernetes.NewForConfig(e.link.probeConfig())
	if err != nil {
		return err
	}
	seconds := int64(agentTokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	account := enrolment.AccountPrefix + e.config.Name
	issued, err := centre.CoreV1().ServiceAccounts(e.config.LandscaperNamespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("renew the token of ServiceAccount %s/%s of the landscaper cluster: %w", e.config.LandscaperNamespace, account, err)
	}
	e.fill(secret, enrolment.Credential{Token: issued.Status.Token, Expires: issued.Status.ExpirationTimestamp.Time})
	if err := e.client.Update(ctx, secret); err != nil {
		return fmt.Errorf("write Secret %s: %w", e.key(), err)
	}
	e.hand(issued.Status.Token)
	e.kept = secret.DeepCopy()
	return nil
}

func (e *enrol) fill(secret *corev1.Secret, got enrolment.Credential) {
	renew := e.now().Add(got.Expires.Sub(e.now()) / 3)
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, expiresAnnotation, got.Expires.UTC().Format(time.RFC3339))
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, renewAnnotation, renew.UTC().Format(time.RFC3339))
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[tokenKey] = []byte(got.Token)
}

// exchange claims a credential with a bootstrap token. The key is stored before it is shown to anybody, so that the process may die at any time.
func (e *enrol) exchange(ctx context.Context, secret *corev1.Secret, bootstrap *rest.Config, digest string) error {
	if bootstrap.BearerToken == "" {
		return &refusal{"BootstrapTokenMissing", "the bootstrap kubeconfig has no token" + newToken}
	}
	centre, err := e.centre(bootstrap)
	if err != nil {
		return err
	}
	secrets := centre.CoreV1().Secrets(e.config.LandscaperNamespace)
	claim, err := secrets.Get(ctx, enrolment.ClaimPrefix+e.config.Name, metav1.GetOptions{})
	if err != nil {
		return e.refusalOf(err)
	}
	private, public, err := e.pending(ctx, secret, digest)
	if err != nil {
		return err
	}
	switch present := claim.Data[enrolment.PublicKey]; {
	case len(present) == 0:
		claim.Data = map[string][]byte{enrolment.PublicKey: public}
		if claim, err = secrets.Update(ctx, claim, metav1.UpdateOptions{}); err != nil {
			return e.refusalOf(err)
		}
	case string(present) != string(public):
		return &refusal{"BootstrapTokenUsed", "the bootstrap token was used by somebody else, who may be the agent of Environment " + e.config.Name +
			" now: delete and apply again its ServiceAccount on the landscaper cluster" + newToken}
	}
	answer, err := secrets.Get(ctx, enrolment.AnswerPrefix+e.config.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && answer.Annotations[enrolment.ClaimAnnotation] != string(claim.UID) {
		return errors.New("the landscaper has not answered the claim yet; it does so with --deployer-management")
	}
	if err != nil {
		return e.refusalOf(err)
	}
	got, err := enrolment.Open(private, e.config.Name, string(claim.UID), answer.Data[enrolment.Answer])
	if err != nil {
		return &refusal{"BootstrapTokenUsed", err.Error() + newToken}
	}
	e.fill(secret, got)
	delete(secret.Data, pendingKey)
	delete(secret.Data, pendingFor)
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, usedAnnotation, digest)
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, leftAnnotation, "true")
	if err := e.client.Update(ctx, secret); err != nil {
		return fmt.Errorf("write Secret %s: %w", e.key(), err)
	}
	e.trouble.over()
	e.say(corev1.EventTypeNormal, "AgentEnrolled", fmt.Sprintf("the bootstrap token is exchanged for a credential of Environment %q", e.config.Name))
	return e.use(ctx, secret, bootstrap, digest)
}

// centre is the landscaper cluster as somebody with the bootstrap token sees it.
func (e *enrol) centre(bootstrap *rest.Config) (kubernetes.Interface, error) {
	if e.way == nil || e.way.digest != digestOf(bootstrap) {
		way, err := lineOf(bootstrap)
		if err != nil {
			return nil, err
		}
		e.way = way
	}
	return kubernetes.NewForConfig(&rest.Config{Host: e.way.server.Host, Transport: e.way.send, QPS: -1})
}

// pending returns the key for a bootstrap token, which it makes and stores where there is none.
func (e *enrol) pending(ctx context.Context, secret *corev1.Secret, digest string) (private, public []byte, err error) {
	if string(secret.Data[pendingFor]) == digest {
		if public, err = enrolment.Public(secret.Data[pendingKey]); err == nil {
			return secret.Data[pendingKey], public, nil
		}
	}
	if private, public, err = enrolment.NewKey(); err != nil {
		return nil, nil, err
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[pendingKey], secret.Data[pendingFor] = private, []byte(digest)
	if secret.ResourceVersion != "" {
		err = e.client.Update(ctx, secret)
	} else {
		secret.Namespace, secret.Name = e.config.Namespace, e.config.credentialName()
		err = e.client.Create(ctx, secret)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("write Secret %s: %w", e.key(), err)
	}
	return private, public, nil
}

// deleteClaim ends the bootstrap token. One that has ended already says so by being refused.
func (e *enrol) deleteClaim(ctx context.Context, bootstrap *rest.Config) error {
	centre, err := e.centre(bootstrap)
	if err != nil {
		return err
	}
	err = centre.CoreV1().Secrets(e.config.LandscaperNamespace).Delete(ctx, enrolment.ClaimPrefix+e.config.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// refusalOf tells answers that will not change from those that may.
func (e *enrol) refusalOf(err error) error {
	switch {
	case apierrors.IsUnauthorized(err):
		return &refusal{"BootstrapTokenRefused", "the landscaper cluster does not accept the bootstrap token: it was used already, has expired, or is of another cluster" + newToken}
	case apierrors.IsForbidden(err):
		return &refusal{"BootstrapTokenForeign", fmt.Sprintf("the bootstrap token is not for Environment %q in namespace %q; each of several agents has "+
			"a Secret of its own", e.config.Name, e.config.LandscaperNamespace) + newToken}
	case apierrors.IsNotFound(err):
		return &refusal{"BootstrapTokenRefused", "the bootstrap token was withdrawn" + newToken}
	}
	return fmt.Errorf("exchange the bootstrap token: %w", err)
}

func digestOfToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
