// The client library KafkaJS for the tests: one operation on standard input, its result on standard output, as JSON.
// tests/support/clients_of_other_languages.py says what is in them.
"use strict";

const { readFileSync } = require("fs");
const { Kafka, logLevel } = require("kafkajs");

const order = JSON.parse(readFileSync(0, "utf8"));
const kafka = new Kafka({
  brokers: order.bootstrap.split(","),
  sasl: { mechanism: order.mechanism.toLowerCase(), username: order.username, password: order.password },
  logLevel: logLevel.NOTHING,
});

// Send all records, a batch for each partition, and wait until all are acknowledged.
async function produce() {
  const producer = kafka.producer({
    idempotent: order.isIdempotent || order.transactionalID !== "",
    transactionalId: order.transactionalID || undefined,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  const messages = order.records.map(({ partition, value }) => ({ partition, value }));
  if (order.transactionalID) {
    const transaction = await producer.transaction();
    await transaction.send({ topic: order.topic, messages });
    await transaction.commit();
  } else {
    await producer.send({ topic: order.topic, messages });
  }
  await producer.disconnect();
  return [];
}

// Read so many records as a member of a group, and commit.
async function consume() {
  const consumer = kafka.consumer({ groupId: order.group });
  const found = [];
  const next = new Map();
  await consumer.connect();
  await consumer.subscribe({ topics: [order.topic], fromBeginning: true });
  await new Promise((done, failed) => {
    setTimeout(() => failed(new Error(`${found.length} of ${order.count} records came in time`)), order.timeoutMs).unref();
    consumer.on(consumer.events.CRASH, ({ payload }) => failed(payload.error));
    consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        found.push({ partition, offset: Number(message.offset), value: message.value.toString() });
        next.set(partition, String(Number(message.offset) + 1));
        if (found.length >= order.count) {
          done();
        }
      },
    });
  });
  const committed = [...next].map(([partition, offset]) => ({ topic: order.topic, partition, offset }));
  await consumer.commitOffsets(committed);
  await consumer.disconnect();
  return found;
}

(order.operation === "produce" ? produce() : consume()).then(
  (found) => process.stdout.write(JSON.stringify(found), () => process.exit(0)),
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
