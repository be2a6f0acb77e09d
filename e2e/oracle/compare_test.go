package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/apache/yunikorn-core/pkg/common"
	"github.com/apache/yunikorn-core/pkg/common/configs"
	"github.com/apache/yunikorn-core/pkg/common/security"
	"github.com/apache/yunikorn-core/pkg/scheduler"
)

// The inputs of e2e/compare, with which YuniKorn is measured. QUEUEWARDEN_COMPARE_INPUTS names their file.
type compareInputs struct {
	ACL       string            `json:"acl"`
	Queues    string            `json:"queues"`
	Decisions []compareDecision `json:"decisions"`
}

type compareDecision struct {
	Name    string         `json:"name"`
	Config  string         `json:"config"`
	Lists   []compareLists `json:"lists"`
	User    string         `json:"user"`
	Groups  []string       `json:"groups"`
	Allowed bool           `json:"allowed"`
}

type compareLists struct {
	Path string `json:"path"`
}

func inputs(b *testing.B) compareInputs {
	b.Helper()
	file := os.Getenv("QUEUEWARDEN_COMPARE_INPUTS")
	if file == "" {
		b.Skip("run by `cargo run --release -p queuewarden-compare`")
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	var read compareInputs
	if err := json.Unmarshal(raw, &read); err != nil {
		b.Fatal(err)
	}
	silence()
	return read
}

func started(b *testing.B, text string) *scheduler.PartitionContext {
	b.Helper()
	context := fresh()
	b.Cleanup(func() { dispose(context) })
	if failure := start(context, text); failure != "" {
		b.Fatal(failure)
	}
	return context.GetPartitionMapClone()[common.GetNormalizedPartitionName("default", rmID)]
}

// BenchmarkParse is activation's reading of one ACL.
func BenchmarkParse(b *testing.B) {
	acl := inputs(b).ACL
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if _, err := security.NewACL(acl, true); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad is the text as the validator reads it, which leaves no queue behind.
func BenchmarkLoad(b *testing.B) {
	text := []byte(inputs(b).Queues)
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if _, err := configs.LoadSchedulerConfigFromByteArray(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart is the text as a scheduler starts with it: read, and turned into queues that can be queried.
func BenchmarkStart(b *testing.B) {
	text := inputs(b).Queues
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		context := fresh()
		if failure := start(context, text); failure != "" {
			b.Fatal(failure)
		}
		b.StopTimer()
		dispose(context)
		b.StartTimer()
	}
}

// BenchmarkDecision decides for the path of a queue, a user and groups; BenchmarkOnQueue has found the queue
// before.
func BenchmarkDecision(b *testing.B) {
	for _, decision := range inputs(b).Decisions {
		partition := started(b, decision.Config)
		user := security.UserGroup{User: decision.User, Groups: decision.Groups}
		path := decision.Lists[0].Path
		b.Run(decision.Name, func(b *testing.B) {
			for i := 0; i < b.N; i++ {
				if partition.GetQueue(path).CheckSubmitAccess(user) != decision.Allowed {
					b.Fatal("another answer")
				}
			}
		})
	}
}

func BenchmarkOnQueue(b *testing.B) {
	for _, decision := range inputs(b).Decisions {
		queue := started(b, decision.Config).GetQueue(decision.Lists[0].Path)
		user := security.UserGroup{User: decision.User, Groups: decision.Groups}
		b.Run(decision.Name, func(b *testing.B) {
			for i := 0; i < b.N; i++ {
				if queue.CheckSubmitAccess(user) != decision.Allowed {
					b.Fatal("another answer")
				}
			}
		})
	}
}
