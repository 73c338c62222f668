// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// Later leaves it to workers to find out whom events concern: events of all namespaces come one after the other, so that none may take long. An object is
// noted, and a worker of its namespace looks once for all of its events. It is safe for concurrent use.
type Later struct {
	mu sync.Mutex
	// noted are the objects by namespace, and there by kind and name.
	noted map[string]map[string]noted
}

// noted is an object that something has happened to.
type noted struct {
	object    client.Object
	concerned handler.MapFunc
}

// Noted returns a function that notes objects of a kind, for which it returns a request that names their namespace only. concerned finds out whom an object
// concerns, anybody quickly whether there is one: a namespace that concerns nobody takes no worker from others.
func (l *Later) Noted(kind string, anybody func(context.Context, client.Object) bool, concerned handler.MapFunc) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []ctrl.Request {
		if !anybody(ctx, object) {
			return nil
		}
		l.note(kind, noted{object, concerned})
		return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace()}}}
	}
}

func (l *Later) note(kind string, one noted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	namespace := one.object.GetNamespace()
	if l.noted == nil {
		l.noted = map[string]map[string]noted{}
	}
	if l.noted[namespace] == nil {
		l.noted[namespace] = map[string]noted{}
	}
	l.noted[namespace][kind+"/"+one.object.GetName()] = one
}

// Look wakes those whom the noted objects of a namespace concern, if a request names only that, and reports whether it does.
func (l *Later) Look(ctx context.Context, request ctrl.Request, wake func(ctrl.Request)) bool {
	if request.Name != "" {
		return false
	}
	for _, one := range l.take(request.Namespace) {
		for _, concerned := range one.concerned(ctx, one.object) {
			wake(concerned)
		}
	}
	return true
}

func (l *Later) take(namespace string) map[string]noted {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.noted[namespace]
	delete(l.noted, namespace)
	return found
}
