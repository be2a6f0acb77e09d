package main

import (
	"time"

	"github.com/apache/yunikorn-core/pkg/common/configs"
	"github.com/apache/yunikorn-core/pkg/rmproxy/rmevent"
	"github.com/apache/yunikorn-core/pkg/scheduler"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

const (
	rmID        = "oracle"
	policyGroup = "queues"
	deadlock    = "deadlock"
)

type configQuestion struct {
	Text string `json:"text"`
	// The configuration that runs before the hot reload; YuniKorn's built-in one if empty.
	From string `json:"from"`
}

type configAnswer struct {
	// The error of /ws/v1/validate-conf and the admission webhook; empty for "valid".
	ValidateError string `json:"validate_error"`
	// The reason why a scheduler does not start with this text.
	StartError string `json:"start_error"`
	// The reason why a running scheduler does not take it; "deadlock" when it hangs forever.
	ReloadError string `json:"reload_error"`
	// As /ws/v1/config shows it; empty if invalid.
	Checksum string `json:"checksum"`
	// As parsed and normalised; null if invalid.
	Config any `json:"config"`
	// After a start: names of the active placement rules by partition.
	Rules map[string][]string `json:"rules"`
}

func answerConfig(question configQuestion) configAnswer {
	result := configAnswer{}
	config, err := configs.LoadSchedulerConfigFromByteArray([]byte(question.Text))
	if err != nil {
		result.ValidateError = err.Error()
	} else {
		result.Config = speakable(config)
		result.Checksum = config.Checksum
	}
	context := fresh()
	result.StartError = start(context, question.Text)
	result.Rules = rules(context)
	dispose(context)
	result.ReloadError = reload(question.From, question.Text)
	return result
}

// answerChecksum is the checksum YuniKorn gives a text, valid or not.
func answerChecksum(text string) string {
	config := &configs.SchedulerConfig{}
	configs.SetChecksum([]byte(text), config)
	return config.Checksum
}

// start is the shim's registration of the resource manager, YuniKorn's first look at its configuration.
func start(context *scheduler.ClusterContext, text string) string {
	reply := make(chan *rmevent.Result, 1)
	register(context, &rmevent.RMRegistrationEvent{
		Registration: &si.RegisterResourceManagerRequest{RmID: rmID, PolicyGroup: policyGroup, Config: text},
		Channel:      reply,
	})
	return reason(<-reply)
}

func reload(from, text string) string {
	context := fresh()
	if failure := start(context, from); failure != "" {
		panic("the configuration to reload from does not start: " + failure)
	}
	before := context.GetPartitionMapClone()
	reply := make(chan *rmevent.Result, 1)
	done := make(chan struct{})
	go func() {
		update(context, &rmevent.RMConfigUpdateEvent{RmID: rmID, PolicyGroup: policyGroup, Config: text, Channel: reply})
		close(done)
	}()
	if hangs(before, done) {
		return deadlock
	}
	dispose(context)
	return reason(<-reply)
}

// hangs waits for the reload, and reports whether it never ends. A reload that drops a partition drains the
// partition's root while it holds the context's lock, and then takes that lock again. So a drained root means
// that a hang is near, and a reload that has not ended a little later means that it has happened.
func hangs(before map[string]*scheduler.PartitionContext, done <-chan struct{}) bool {
	for {
		select {
		case <-done:
			return false
		case <-time.After(100 * time.Microsecond):
		}
		for _, partition := range before {
			if partition.GetQueue(configs.RootQueue).IsDraining() {
				select {
				case <-done:
					return false
				case <-time.After(5 * time.Millisecond):
					return true
				}
			}
		}
	}
}

func rules(context *scheduler.ClusterContext) map[string][]string {
	active := make(map[string][]string)
	for name, partition := range context.GetPartitionMapClone() {
		active[name] = make([]string, 0)
		for _, rule := range partition.GetPlacementRules() {
			active[name] = append(active[name], rule.Name)
		}
	}
	return active
}

func reason(result *rmevent.Result) string {
	switch {
	case result.Succeeded:
		return ""
	case result.Reason == "":
		return "refused without a reason"
	default:
		return result.Reason
	}
}
