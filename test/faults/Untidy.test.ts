/** Streams in unusual forms that servers send: the client sees the same as of the usual form. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chunkBody, DONE, sse, usageChunkBody } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { behind, healthy, type Reply, useUpstream } from "./gateway.ts"

const upstream = useUpstream()

type Chunks = NonNullable<Behaviour["chunks"]>

const role = chunkBody({ role: "assistant", content: "" })
const texts = ["Grüße ", "aus 東京 ", "🏔️!"].map((content) => chunkBody({ content }))
const [first, second, third] = texts
const stop = chunkBody({}, "stop")
const usage = usageChunkBody(healthy)
const tidy = [role, ...texts, stop, usage]
const events = (bodies: ReadonlyArray<unknown>): string => bodies.map(sse).join("")
const clean = events(tidy) + DONE
const bytes = Buffer.from(clean)
/** Single bytes, so that no character of several bytes arrives in one piece. */
const bytewise: Chunks = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
/** A packet that ends in the middle of the mountain, and another that begins there. */
const middle = bytes.indexOf("🏔") + 2
const pretty = (body: unknown): string =>
  `${JSON.stringify(body, null, 1)
    .split("\n")
    .map((line) => `data: ${line}`)
    .join("\n")}\n\n`

const forms: Readonly<Record<string, Chunks>> = {
  "in one packet": [clean],
  "byte by byte": bytewise,
  "cut inside a character": [bytes.subarray(0, middle), { waitMs: 20 }, bytes.subarray(middle)],
  "with CRLF": [clean.replaceAll("\n", "\r\n")],
  "with CRLF, cut between CR and LF": clean.replaceAll("\n", "\r\n").split(/(?<=\r)/),
  "with CR alone": [clean.replaceAll("\n", "\r")],
  "with a byte order mark": [`\uFEFF${clean}`],
  "with comments": [`: hello\n\n${clean.replaceAll("data:", ": processing\n\n:\ndata:")}`],
  "with retry lines": [`retry: 3000\n\n${clean.replaceAll("\n\n", "\nretry: 10\n\n")}`],
  "with names and ids of events": [clean.replaceAll("data:", "event: message\nid: 7\ndata:")],
  "with data over several lines": [...tidy.map(pretty), DONE],
  "without a space after the colon": [clean.replaceAll("data: ", "data:")],
  "without the last blank line": [clean.trimEnd()],
  "with empty events": [clean.replaceAll("data:", "\n\ndata:")],
  "with the role in every chunk": [
    events(tidy).replaceAll(`"delta":{"content"`, `"delta":{"role":"assistant","content"`),
    DONE
  ],
  "with the finish reason twice": [events([role, ...texts, stop, stop, usage]), DONE],
  "with two finish reasons": [events([role, ...texts, stop, chunkBody({}, "length"), usage]), DONE],
  "with the finish reason in the last text": [
    events([
      role,
      first,
      second,
      { ...third, choices: [{ index: 0, delta: { content: "🏔️!" }, finish_reason: "stop" }] },
      usage
    ]),
    DONE
  ],
  "with text after the finish reason": [events([role, first, second, stop, third, usage]), DONE],
  "with usage before the end": [events([usage, role, ...texts, stop]), DONE],
  "with usage before the last text": [events([role, first, second, usage, third, stop]), DONE],
  "with usage that grows in every chunk": [
    events(
      [role, ...texts, stop].map((body, at) => ({ ...body, usage: { prompt_tokens: 11, completion_tokens: at } }))
    ),
    sse(usage),
    DONE
  ],
  "with usage twice": [events([...tidy, usage]), DONE],
  "with usage next to the finish reason": [events([role, ...texts, { ...stop, usage: usage["usage"] }]), DONE],
  "with [DONE] twice": [clean, DONE],
  "with more after [DONE]": [clean, sse(chunkBody({ content: "and more" }))],
  "without [DONE]": [events(tidy)],
  "without a role": [events([...texts, stop, usage]), DONE],
  "without an index": [clean.replaceAll(`"index":0,`, "")],
  "with content in parts": [
    events(tidy).replaceAll(/"content":("[^"]+")/g, `"content":[{"type":"text","text":$1}]`),
    DONE
  ],
  "with null for absent members": [
    events(tidy).replaceAll(`"delta":{}`, `"delta":{"content":null,"role":null,"tool_calls":null,"refusal":null}`),
    DONE
  ],
  "with a finish reason that is empty until the end": [clean.replaceAll(`"finish_reason":null`, `"finish_reason":""`)]
}

const seen = ({ content, error, finishReasons, isDone, status, toolArguments, usage }: Reply) => ({
  status,
  content,
  finishReasons,
  toolArguments,
  error,
  isDone,
  usage
})

describe("a stream", () => {
  it.live.each(Object.entries(forms))("%s", ([, chunks]) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does: [{ chunks: [clean] }, { chunks }] } })
      const expected = yield* gateway.ask("stream")
      assert.strictEqual(expected.content, "Grüße aus 東京 🏔️!")
      assert.strictEqual(expected.usage?.completion_tokens, healthy.completion_tokens)
      const reply = yield* gateway.ask("stream")
      assert.deepStrictEqual(seen(reply), seen(expected))
      // One role, and it comes first.
      assert.lengthOf(reply.text.split(`"role":"assistant"`), 2)
      assert.isBelow(reply.text.indexOf(`"role"`), reply.text.indexOf("Grüße"))
      assert.strictEqual(reply.receipt?.usage_source, "provider")
    })
  )
})

describe("parallel tool calls in a stream", () => {
  const call = (index: number | undefined, more: Readonly<Record<string, unknown>>) =>
    chunkBody({ tool_calls: [{ ...(index === undefined ? {} : { index }), ...more }] })
  const begin = (index: number | undefined, id: string) =>
    call(index, { id, type: "function", function: { name: "look", arguments: "" } })
  const more = (index: number | undefined, text: string) => call(index, { function: { arguments: text } })
  const finish = chunkBody({}, "tool_calls")
  const orders: Readonly<Record<string, ReadonlyArray<unknown>>> = {
    "one after the other": [
      begin(0, "a"),
      more(0, `{"at":`),
      more(0, "1}"),
      begin(1, "b"),
      more(1, `{"at":2}`),
      finish
    ],
    interleaved: [
      begin(0, "a"),
      begin(1, "b"),
      more(1, `{"at":`),
      more(0, `{"at":`),
      more(0, "1}"),
      more(1, "2}"),
      finish
    ],
    "without an index": [
      begin(undefined, "a"),
      more(undefined, `{"at":`),
      more(undefined, "1}"),
      begin(undefined, "b"),
      more(undefined, `{"at":2}`),
      finish
    ],
    "with arguments after the finish reason": [
      begin(0, "a"),
      more(0, `{"at":1}`),
      begin(1, "b"),
      more(1, `{"at":`),
      finish,
      more(1, "2}")
    ]
  }
  it.live.each(Object.entries(orders))("%s", ([, bodies]) =>
    Effect.gen(function* () {
      const chunks = [events([role, ...bodies, usage]), DONE]
      const gateway = yield* behind(upstream(), { alpha: { does: { chunks } } })
      const reply = yield* gateway.ask("stream")
      assert.deepStrictEqual(reply.toolArguments, [`{"at":1}`, `{"at":2}`])
      assert.deepStrictEqual(reply.finishReasons, ["tool_calls"])
      assert.isUndefined(reply.error)
      assert.isTrue(reply.isDone)
    })
  )
})
