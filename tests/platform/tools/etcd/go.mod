module github.com/flux-landscaper/flux-landscaper/tests/platform/tools/etcd

go 1.26.0

require go.etcd.io/etcd/server/v3 v3.7.3
