/** A conversation at a terminal: Markdown, typing, turns, and the file that is kept. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue, Result } from "effect"
import { PassThrough } from "node:stream"
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { conversation, type State } from "../../src/cli/chat/Conversation.ts"
import { imageOf } from "../../src/cli/chat/ImageFile.ts"
import { keep, takenUp } from "../../src/cli/chat/Kept.ts"
import { markdown, visible } from "../../src/cli/chat/Markdown.ts"
import { chatPayload, messagesPayload, responsesPayload } from "../../src/cli/chat/Turns.ts"
import { type Event, typedAt } from "../../src/cli/chat/Typed.ts"

/** Styles as tags, so that expectations can be read. */
const tags = (style: string | ReadonlyArray<string>, text: string) => `<${[style].flat().join("+")}>${text}</>`

const rendered = (pieces: ReadonlyArray<string>): string => {
  const { end, push } = markdown(tags)
  return pieces.map(push).join("") + end()
}
/** Without the seams between pieces, which have equal styles on both sides. */
const joined = (text: string) =>
  text.replaceAll(/<\/><([^>]*)>/g, (seam, style: string, at: number) => {
    const before = text.slice(0, at).lastIndexOf("<")
    return text.slice(before).startsWith(`<${style}>`) ? "" : seam
  })

describe("Markdown for a terminal", () => {
  const cases: ReadonlyArray<readonly [markdown: string, shown: string]> = [
    ["plain *and* **bold** `code`", "plain <italic>and</> <bold>bold</> <cyan>code</>"],
    ["# Title\n## Part\ntext", "<bold+underline>Title</>\n<bold>Part</>\ntext"],
    ["- one\n  - **two**\n1. three\n", "• one\n  • <bold>two</>\n1. three\n"],
    ["> said\n---\n", `<dim>│</> said\n<dim>${"─".repeat(24)}</>\n`],
    ["```js\nconst a = `*b*`\n\n```\nafter", "<dim>```js</>\n<cyan>const a = `*b*`</>\n\n<dim>```</>\nafter"],
    ["| a | bb |\n|---|---|\n| ccc | d |\nend", "<bold>a</>    <bold>bb</>\n<dim>───  ──</>\nccc  d\nend"],
    ["| a |\n|---|\n| b |", "<bold>a</>\n<dim>─</>\nb\n"],
    ["3 * 4 ** 2", "3 * 4 <bold> 2</>"],
    ["**open\nnext", "<bold>open</>\nnext"],
    ["last *", "last *"],
    ["#", "#"],
    ["-", "-"]
  ]

  it("shows headings, lists, quotes, code, tables and emphasis", () => {
    for (const [text, shown] of cases) assert.strictEqual(rendered([text]), shown, JSON.stringify(text))
  })

  it("shows the same however the text is cut, without losing any", () => {
    for (const [text, shown] of cases) {
      for (let at = 1; at < text.length; at++) {
        assert.strictEqual(joined(rendered([text.slice(0, at), text.slice(at)])), joined(shown), text.slice(0, at))
      }
      assert.strictEqual(joined(rendered(Array.from(text))), joined(shown), text)
    }
  })

  it("shows words before their line ends", () => {
    const { push } = markdown(tags)
    assert.strictEqual(push("A long para"), "A long para")
    assert.strictEqual(push("graph"), "graph")
  })

  it("lets no control character through, wherever it stands", () => {
    const every = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join("")
    const attack = `a\u001b]0;title\u0007 \u001b[2J\u009b31m ${every}`
    for (const around of [
      (text: string) => text,
      (text: string) => `\`\`\`\n${text}\n\`\`\``,
      (text: string) => `| ${text} |\n|-|\n`
    ]) {
      assert.notMatch(rendered(Array.from(around(attack))), /[^\P{Cc}\t\n]/u)
    }
    assert.strictEqual(visible("\u001b[31m\u009b\u007f\r\n\t"), "␛[31m\\x9b␡\n\t")
  })
})

describe("typing", () => {
  it.effect("is edited, keeps pastes together, and knows Ctrl-C and Ctrl-D", () =>
    Effect.gen(function* () {
      const input = new PassThrough()
      const output = new PassThrough()
      const { events } = yield* typedAt(input, output, "> ")
      const after = (text: string) =>
        Effect.andThen(
          Effect.sync(() => void input.write(text)),
          Queue.take(events)
        )
      assert.deepStrictEqual(yield* after("helo\u001b[Dl\r"), { _tag: "Text", text: "hello" })
      assert.deepStrictEqual(yield* after("\u001b[200~one\rtwo\rthree\u001b[201~\r"), {
        _tag: "Text",
        text: "one\ntwo\nthree"
      })
      assert.deepStrictEqual(yield* after("first \\\rsecond\r"), { _tag: "Text", text: "first \nsecond" })
      // Up brings back the last line.
      assert.deepStrictEqual(yield* after("\u001b[A\r"), { _tag: "Text", text: "second" })
      assert.deepStrictEqual(yield* after("wrong\u0003right\r"), { _tag: "Text", text: "right" })
      assert.deepStrictEqual(yield* after("\u0003"), { _tag: "Stop" })
      assert.deepStrictEqual(yield* after("\u0004"), { _tag: "End" })
    }).pipe(Effect.scoped)
  )
})

const start: State = { model: "acme/small", system: null, turns: [], images: [] }

/** A conversation whose answers are in capitals; that to "wait" does not come by itself. */
const talk = Effect.fnUntraced(function* () {
  const events = yield* Queue.unbounded<Event>()
  const asked: Array<State> = []
  const said: Array<string> = []
  const kept: Array<State> = []
  const waits = yield* Deferred.make<void>()
  const fiber = yield* Effect.forkChild(
    conversation(
      {
        typed: { events, prompt: Effect.void },
        answered: (state) =>
          Effect.gen(function* () {
            asked.push(state)
            const text = state.turns.at(-1)?.text ?? ""
            if (text === "fail") return null
            if (text === "wait") {
              yield* Deferred.succeed(waits, undefined)
              return yield* Effect.never
            }
            return text.toUpperCase()
          }),
        shownSoFar: Effect.succeed("WA"),
        say: (text) => Effect.sync(() => void said.push(text)),
        imageOf: (file) =>
          file === "chart.png"
            ? Effect.succeed({ mediaType: "image/png", base64: "AAAA" })
            : Effect.fail({ message: "cannot be read" }),
        models: Effect.succeed(["acme/small", "acme/large"]),
        modelOf: (name) =>
          Effect.succeed(name === "acme/large" ? Result.succeed(name) : Result.fail("Similar: acme/large.")),
        keep: (state) => Effect.sync(() => void kept.push(state))
      },
      start
    )
  )
  const type = (...texts: ReadonlyArray<string>) =>
    Effect.forEach(texts, (text) => Queue.offer(events, { _tag: "Text", text }), { discard: true })
  return { events, asked, said, kept, waits, fiber, type }
})

describe("a conversation", () => {
  it.effect("sends what was said before, obeys commands, and forgets on demand", () =>
    Effect.gen(function* () {
      const { asked, fiber, kept, said, type } = yield* talk()
      yield* type(
        "one",
        "/system Be brief.",
        "/model acme/larg",
        "/model acme/large",
        "fail",
        "/image none",
        "/image chart.png"
      )
      yield* type("two", "three", "/clear", "four", "/exti", "/exit")
      yield* Fiber.join(fiber)
      const texts = asked.map(({ turns }) => turns.map(({ text }) => text))
      assert.deepStrictEqual(texts, [
        ["one"],
        ["one", "ONE", "fail"],
        ["one", "ONE", "two"],
        ["one", "ONE", "two", "TWO", "three"],
        ["four"]
      ])
      assert.deepInclude(asked[4], { model: "acme/large", system: "Be brief." })
      assert.deepStrictEqual(asked[2]?.turns.at(-1)?.images, [{ mediaType: "image/png", base64: "AAAA" }])
      assert.isUndefined(asked[3]?.turns.at(-1)?.images)
      assert.includeMembers(said, ["Similar: acme/large.", "cannot be read", "There is no /exti. Did you mean /exit?"])
      assert.deepStrictEqual(
        kept.at(-1)?.turns.map(({ text }) => text),
        ["four", "FOUR"]
      )
    })
  )

  it.effect("is stopped within an answer by Ctrl-C, and left by two of them", () =>
    Effect.gen(function* () {
      const { asked, events, fiber, said, type, waits } = yield* talk()
      yield* type("wait")
      yield* Deferred.await(waits)
      yield* type("next")
      yield* Queue.offer(events, { _tag: "Stop" })
      yield* Queue.offer(events, { _tag: "Stop" })
      yield* Queue.offer(events, { _tag: "Stop" })
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        asked.at(-1)?.turns.map(({ text }) => text),
        ["wait", "WA", "next"]
      )
      assert.deepStrictEqual(said, ["Stopped.", "Ctrl-C again leaves.", ""])
    })
  )
})

describe("requests", () => {
  it("have every turn and image in the form of each API", () => {
    const image = { mediaType: "image/png", base64: "AAAA" }
    const thread = {
      system: "Be brief.",
      turns: [
        { role: "user" as const, text: "one", images: [image] },
        { role: "assistant" as const, text: "ONE" },
        { role: "user" as const, text: "two" }
      ]
    }
    const wishes = { model: "m", maxTokens: 5, temperature: null, provider: {} }
    const url = "data:image/png;base64,AAAA"
    const rest = [
      { role: "assistant", content: "ONE" },
      { role: "user", content: "two" }
    ]
    assert.deepStrictEqual(chatPayload(thread, wishes), {
      model: "m",
      max_tokens: 5,
      provider: {},
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url } },
            { type: "text", text: "one" }
          ]
        },
        ...rest
      ]
    } as never)
    const source = { type: "base64", media_type: "image/png", data: "AAAA" }
    assert.deepInclude(messagesPayload(thread, wishes), {
      system: "Be brief.",
      max_tokens: 5,
      messages: [
        {
          role: "user",
          content: [
            { type: "image", source },
            { type: "text", text: "one" }
          ]
        },
        ...rest
      ] as never
    })
    assert.deepInclude(responsesPayload(thread, wishes), {
      instructions: "Be brief.",
      max_output_tokens: 5,
      input: [
        {
          role: "user",
          content: [
            { type: "input_image", image_url: url },
            { type: "input_text", text: "one" }
          ]
        },
        ...rest
      ] as never
    })
  })
})

describe("files", () => {
  const directory = Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "tollgate-chat-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true }))
  )

  it.effect("keep a conversation for its owner alone, also where another was readable", () =>
    Effect.gen(function* () {
      const path = join(yield* directory, "tollgate")
      const missing = yield* Effect.flip(takenUp(path))
      assert.match(missing.message, /There is no saved conversation/)
      const kept = { model: "m", system: null, turns: [{ role: "user" as const, text: "hello" }] }
      yield* keep(path, kept)
      const file = join(path, "conversation.json")
      chmodSync(file, 0o644)
      yield* keep(path, kept)
      assert.deepStrictEqual([statSync(file).mode & 0o777, statSync(path).mode & 0o777], [0o600, 0o700])
      assert.deepStrictEqual(yield* takenUp(path), kept)
      writeFileSync(file, "{}")
      assert.match((yield* Effect.flip(takenUp(path))).message, /is not a conversation of this version/)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("are images by their first bytes", () =>
    Effect.gen(function* () {
      const file = join(yield* directory, "picture")
      writeFileSync(file, Buffer.from("89504e470d0a1a0a", "hex"))
      assert.deepInclude(yield* imageOf(file), { mediaType: "image/png" })
      writeFileSync(file, "text")
      assert.match((yield* Effect.flip(imageOf(file))).message, /is none of PNG, JPEG, GIF and WebP/)
      assert.match((yield* Effect.flip(imageOf(`${file}-not`))).message, /cannot be read/)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
