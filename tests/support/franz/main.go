// The client library franz-go for the tests: one operation on standard input, its result on standard output, as JSON.
// tests/support/clients_of_other_languages.py says what is in them. An operation that goes on for ever, until the process
// is killed, is the only argument (tests/support/mortal/mortal_client.py).
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type order struct {
	Operation, Bootstrap, Username, Password, Mechanism string
	Topic, Group, TransactionalID                       string
	IsIdempotent                                        bool
	Records                                             []record
	Count, TimeoutMs                                    int
	Kind                                                string
	Partitions, First                                   int
}

// As in tests/support/mortal/life.py.
const (
	atOnce         = 20
	maxAwaited     = 10 * atOnce
	pause          = 20 * time.Millisecond
	sessionTimeout = 6 * time.Second
)

type record struct {
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Value     string `json:"value"`
}

func main() {
	var order order
	if len(os.Args) > 1 {
		check(json.Unmarshal([]byte(os.Args[1]), &order))
		live(order)
	}
	check(json.NewDecoder(os.Stdin).Decode(&order))
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(order.TimeoutMs)*time.Millisecond)
	defer cancel()
	found := []record{}
	if order.Operation == "produce" {
		produce(ctx, order)
	} else {
		found = consume(ctx, order)
	}
	check(json.NewEncoder(os.Stdout).Encode(found))
}

// Send all records, and wait until each is acknowledged.
func produce(ctx context.Context, order order) {
	options := append(common(order), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(order.Topic))
	if order.TransactionalID != "" {
		options = append(options, kgo.TransactionalID(order.TransactionalID))
	} else if !order.IsIdempotent {
		// One request at a time: without idempotence one that is sent again would come behind later ones.
		options = append(options, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	}
	client := connect(ctx, options)
	defer client.Close()
	if order.TransactionalID != "" {
		check(client.BeginTransaction())
	}
	for _, one := range order.Records {
		client.Produce(ctx, &kgo.Record{Partition: one.Partition, Value: []byte(one.Value)}, func(_ *kgo.Record, err error) {
			check(err)
		})
	}
	check(client.Flush(ctx))
	if order.TransactionalID != "" {
		check(client.EndTransaction(ctx, kgo.TryCommit))
	}
}

// Read so many records as a member of a group, and commit.
func consume(ctx context.Context, order order) []record {
	client := connect(ctx, append(common(order),
		kgo.ConsumeTopics(order.Topic),
		kgo.ConsumerGroup(order.Group),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
	))
	defer client.Close()
	found := []record{}
	for len(found) < order.Count {
		fetches := client.PollFetches(ctx)
		for _, one := range fetches.Errors() {
			check(one.Err)
		}
		fetches.EachRecord(func(one *kgo.Record) {
			found = append(found, record{one.Partition, one.Offset, string(one.Value)})
		})
	}
	check(client.CommitUncommittedOffsets(ctx))
	return found
}

// Write or read until the process is killed.
func live(order order) {
	ctx := context.Background()
	switch order.Operation {
	case "write":
		write(ctx, order)
	case "transact":
		number := order.First
		for {
			// When it is fenced, its application makes a new one.
			number = transact(ctx, order, number)
		}
	case "read":
		read(ctx, order)
	}
}

// Say that these are acknowledged, or read, at once.
func tell(values []string) {
	if len(values) > 0 {
		_, err := os.Stdout.WriteString(">" + strings.Join(values, "\n>") + "\n")
		check(err)
	}
}

func numbered(order order, number int) *kgo.Record {
	value := fmt.Sprintf("%s %d", order.Kind, number)
	return &kgo.Record{Partition: int32(number % order.Partitions), Value: []byte(value)}
}

func write(ctx context.Context, order order) {
	client, err := kgo.NewClient(append(common(order), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.DefaultProduceTopic(order.Topic), kgo.MaxBufferedRecords(maxAwaited))...)
	check(err)
	for number := order.First; ; number++ {
		client.Produce(ctx, numbered(order, number), func(one *kgo.Record, err error) {
			check(err)
			tell([]string{string(one.Value)})
		})
	}
}

// Write transactions until one cannot be ended; return the next number.
func transact(ctx context.Context, order order, number int) int {
	client, err := kgo.NewClient(append(common(order), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.DefaultProduceTopic(order.Topic), kgo.TransactionalID(order.TransactionalID))...)
	check(err)
	defer client.Close()
	for {
		if client.BeginTransaction() != nil {
			return number
		}
		var values []string
		failed := false
		for range atOnce {
			record := numbered(order, number)
			values = append(values, string(record.Value))
			client.Produce(ctx, record, func(_ *kgo.Record, err error) { failed = failed || err != nil })
			number++
		}
		if client.Flush(ctx) != nil || failed {
			if client.EndTransaction(ctx, kgo.TryAbort) != nil {
				return number
			}
			continue
		}
		if client.EndTransaction(ctx, kgo.TryCommit) != nil {
			return number
		}
		tell(values)
		time.Sleep(pause)
	}
}

func read(ctx context.Context, order order) {
	client, err := kgo.NewClient(append(common(order),
		kgo.ConsumeTopics(order.Topic),
		kgo.ConsumerGroup(order.Group),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.SessionTimeout(sessionTimeout),
		kgo.HeartbeatInterval(sessionTimeout/3),
		kgo.DisableAutoCommit(),
	)...)
	check(err)
	for {
		var values []string
		client.PollFetches(ctx).EachRecord(func(one *kgo.Record) { values = append(values, string(one.Value)) })
		tell(values)
		// Where the group has changed, or its coordinator is away, what was read comes again.
		_ = client.CommitUncommittedOffsets(ctx)
	}
}

// Connect at once: producing and polling would go on trying with a wrong password until their time is over.
func connect(ctx context.Context, options []kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(options...)
	check(err)
	check(client.Ping(ctx))
	return client
}

func common(order order) []kgo.Opt {
	mechanism := plain.Auth{User: order.Username, Pass: order.Password}.AsMechanism()
	switch order.Mechanism {
	case "SCRAM-SHA-256":
		mechanism = scram.Auth{User: order.Username, Pass: order.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		mechanism = scram.Auth{User: order.Username, Pass: order.Password}.AsSha512Mechanism()
	}
	return []kgo.Opt{kgo.SeedBrokers(order.Bootstrap), kgo.SASL(mechanism)}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
