module github.com/flux-landscaper/flux-landscaper/tests/platform/tools/helm-controller

go 1.26.0

require github.com/fluxcd/helm-controller v1.6.2

replace github.com/opencontainers/go-digest => github.com/opencontainers/go-digest v1.0.1-0.20220411205349-bde1400a84be

replace (
	sigs.k8s.io/kustomize/api => sigs.k8s.io/kustomize/api v0.21.1
	sigs.k8s.io/kustomize/kyaml => sigs.k8s.io/kustomize/kyaml v0.21.1
)
