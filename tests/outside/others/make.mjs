// SPDX-License-Identifier: Apache-2.0
// Writes the recordings of this folder anew, and beside each what is in it: `npm install && node make.mjs`.
import { writeFileSync } from "node:fs";
import { McapWriter } from "@mcap/core";
import { parse } from "@foxglove/rosmsg";
import { MessageWriter } from "@foxglove/rosmsg2-serialization";

const START = 1_750_000_000_000_000_000n;
const MS = 1_000_000;
const SECOND = 1_000_000_000n;

/** Numbers from 0 to 1 that are the same ones every time. */
function dice(seed) {
  return () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 4_294_967_296;
  };
}

/** Messages at a rate that jitters, each received some time after it was made. */
function traffic(topic, count, periodMs, random) {
  return Array.from({ length: count }, (_, k) => {
    const stamp = START + BigInt(Math.floor((k + random() * 0.6) * periodMs * MS));
    const log = stamp + BigInt(Math.floor((0.05 + random() * 0.3) * periodMs * MS));
    return { topic, k, stamp, log };
  });
}

class Bytes {
  parts = [];
  size = 0n;
  position = () => this.size;
  async write(part) {
    this.parts.push(Buffer.from(part));
    this.size += BigInt(part.byteLength);
  }
}

async function record(name, chunkSize, channels, messages) {
  const file = new Bytes();
  const writer = new McapWriter({ writable: file, chunkSize });
  await writer.start({ profile: "", library: "@mcap/core" });
  for (const channel of Object.values(channels)) {
    const schemaId = channel.schema ? await writer.registerSchema(channel.schema) : 0;
    const { topic, messageEncoding } = channel;
    channel.id = await writer.registerChannel({ topic, messageEncoding, schemaId, metadata: new Map() });
  }
  for (const { topic, k, stamp, log } of messages) {
    const { id, encode } = channels[topic];
    const data = encode(k, Number(stamp / SECOND), Number(stamp % SECOND));
    await writer.addMessage({ channelId: id, sequence: k, logTime: log, publishTime: log, data });
  }
  await writer.end();
  writeFileSync(`${name}.mcap`, Buffer.concat(file.parts));
  const rows = messages.map(({ topic, stamp, log }) => `${topic},${log},${stamp}`);
  writeFileSync(`${name}.csv`, ["topic,log_ns,stamp_ns", ...rows].join("\n") + "\n");
}

const text = (value) => new TextEncoder().encode(value);

function json(topic, properties, encode) {
  const schema = properties && {
    name: `example${topic.replaceAll("/", ".")}`,
    encoding: "jsonschema",
    data: text(JSON.stringify({ type: "object", properties })),
  };
  return { topic, messageEncoding: "json", schema, encode: (...said) => text(JSON.stringify(encode(...said))) };
}

function cdr(topic, type, definition, encode) {
  const writer = new MessageWriter(parse(definition, { ros2: true }));
  const schema = { name: type, encoding: "ros2msg", data: text(definition) };
  return { topic, messageEncoding: "cdr", schema, encode: (...said) => writer.writeMessage(encode(...said)) };
}

const rule = "=".repeat(80);
const HEADER = `${rule}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n`;
const TIME = `${rule}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n`;

const random = dice(7);
const time = { type: "object", title: "time", properties: { sec: { type: "integer" }, nsec: { type: "integer" } } };
const axis = { type: "number" };
const unsorted = [...traffic("/pose", 300, 20, random), ...traffic("/battery", 90, 70, random)]
  .map((message) => [random(), message])
  .sort(([a], [b]) => a - b)
  .map(([, message]) => message);
await record(
  "node-json-unsorted",
  4096,
  {
    "/pose": json("/pose", { timestamp: time, x: axis, y: axis, name: { type: "string" } }, (k, sec, nsec) => ({
      timestamp: { sec, nsec },
      x: k / 2,
      y: -k,
      name: "base",
    })),
    "/battery": json("/battery", undefined, (k, sec, nsec) => ({ volts: 24 - k / 100, timestamp: { sec, nsec } })),
  },
  unsorted,
);

await record(
  "node-cdr-by-topic",
  4096,
  {
    "/twist": cdr(
      "/twist",
      "example_msgs/msg/Twist",
      `std_msgs/Header header\nfloat32[3] linear\nfloat32 yaw_rate\n${HEADER}${TIME}`,
      (k, sec, nanosec) => ({
        header: { stamp: { sec, nsec: nanosec }, frame_id: "base" },
        linear: Float32Array.from([k, 0.5, 0]),
        yaw_rate: k / 4,
      }),
    ),
    "/tick": cdr("/tick", "example_msgs/msg/Tick", `builtin_interfaces/Time at\nuint32 number\n${TIME}`, (k, sec, nsec) => ({
      at: { sec, nsec },
      number: k,
    })),
  },
  [...traffic("/twist", 260, 10, random), ...traffic("/tick", 100, 25, random)],
);
