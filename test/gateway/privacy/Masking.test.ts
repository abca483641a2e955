/**
 * Masks and restores the texts of a request: every place, stable placeholders, ambiguous
 * placeholders, and the way back.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { makeDice } from "../../../scripts/privacyEval/Dice.ts"
import { valueOf } from "../../../scripts/privacyEval/Values.ts"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { parseExactly } from "../../../src/domain/json/Json.ts"
import { allEntities } from "../../../src/domain/Privacy.ts"
import { TimeBudget } from "../../../src/gateway/privacy/TimeBudget.ts"
import { countsOf } from "../../../src/gateway/privacy/Masking.ts"
import { restoredReply } from "../../../src/gateway/privacy/restoring/RestoredReply.ts"
import { makeRestorer } from "../../../src/gateway/privacy/restoring/Restoring.ts"
import { makeScanner } from "../../../src/gateway/privacy/Scanner.ts"
import { PlaceholderMap } from "../../../src/gateway/privacy/PlaceholderMap.ts"
import { requestWith } from "../plans.ts"
import { everything, maskAtOnce } from "./scanning.ts"

const scan = await Effect.runPromise(makeScanner([]))

const masked = <A extends Readonly<Record<string, unknown>>>(target: A) =>
  maskAtOnce(scan, target) ?? assert.fail("over budget")
const maskedChat = (request: Partial<ChatRequest>) => masked(requestWith(request))

/** One text, as the content of a message. */
const maskedText = (text: string) => {
  const { findings, value, placeholders } = masked({ messages: [{ role: "user", content: text }] })
  return { findings, value: value.messages[0]?.content ?? "", placeholders }
}

const parts = (...content: ReadonlyArray<Readonly<Record<string, unknown>>>) => ({
  messages: [{ role: "user" as const, content }]
})

describe("placeholders", () => {
  it("are the same for the same value, and count by type", () => {
    const { findings, value } = maskedText("ann@x.com, bob@x.com, ann@x.com, 192.168.1.1")
    assert.strictEqual(value, "[EMAIL_1], [EMAIL_2], [EMAIL_1], [IP_ADDRESS_1]")
    assert.deepStrictEqual(countsOf(findings), { email: 3, ip_address: 1 })
    assert.deepStrictEqual(findings[1], {
      type: "email",
      placeholder: "[EMAIL_2]",
      start: 11,
      end: 20,
      message: 0,
      path: "content"
    })
  })

  it("that a text contains already are never used, whatever their case", () => {
    const { value, placeholders } = maskedChat({
      messages: [
        { role: "system", content: "Write [EMAIL_1] or [email_3] for an address." },
        { role: "user", content: "ann@x.com bob@x.com" }
      ]
    })
    assert.strictEqual(value.messages[1]?.content, "[EMAIL_2] [EMAIL_4]")
    const restorer = makeRestorer(placeholders)
    assert.strictEqual(
      restorer.text("[EMAIL_1] [EMAIL_2] [email_3] [EMAIL_4] [EMAIL_5]"),
      "[EMAIL_1] ann@x.com [email_3] bob@x.com [EMAIL_5]"
    )
  })

  it("that a text contains in Markdown are never used either", () => {
    const document = "Fill in \\[EMAIL\\_1\\] and \\[CREDIT\\_CARD\\_1\\]."
    const { value, placeholders } = maskedChat({
      messages: [
        { role: "user", content: `${document} ann@x.com 4111 1111 1111 1111` },
        { role: "tool", content: JSON.stringify({ form: "\\[EMAIL\\_2\\]" }) }
      ]
    })
    assert.include(JSON.stringify(value.messages[0]), "[EMAIL_3] [CREDIT_CARD_2]")
    assert.strictEqual(makeRestorer(placeholders).text(document), document)
  })

  it("are restored in another case and with Markdown's backslashes, but not under another label", () => {
    const { placeholders } = maskedText("ann@x.com 4111 1111 1111 1111")
    const { text } = makeRestorer(placeholders)
    assert.strictEqual(text("[email_1], [Email_1]; \\[EMAIL\\_1\\]"), "ann@x.com, ann@x.com; ann@x.com")
    assert.strictEqual(text("[CREDIT\\_CARD\\_1]"), "4111 1111 1111 1111")
    assert.strictEqual(text("[EMAIL_01] [EMAIL 1] [PHONE_1] EMAIL_1 ["), "[EMAIL_01] [EMAIL 1] [PHONE_1] EMAIL_1 [")
  })

  it("differ for the same value of another type", () => {
    const placeholders = new PlaceholderMap()
    assert.isTrue(placeholders.isEmpty)
    assert.strictEqual(placeholders.placeholder("email", "x"), "[EMAIL_1]")
    assert.strictEqual(placeholders.placeholder("employee", "x"), "[EMPLOYEE_1]")
    assert.strictEqual(placeholders.placeholder("email", "x"), "[EMAIL_1]")
    assert.isUndefined(placeholders.value("[EMAIL_2]"))
  })
})

describe("the texts of a chat", () => {
  it("are searched wherever the model or the provider reads them", () => {
    const { findings, value } = maskedChat({
      messages: [
        { role: "system", content: "I am ann@x.com" },
        { role: "user", name: "bob@x.com", content: [{ type: "text", text: "and 10.0.0.1" }] },
        {
          role: "assistant",
          content: null,
          reasoning: "hm, ann@x.com",
          tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: '{"to":"ann@x.com"}' } }]
        },
        { role: "tool", tool_call_id: "call_1", content: '{"note":"Hi\\nbob@x.com","n":4111111111111111}' }
      ],
      user: "carla@x.com",
      metadata: { contact: "dora@x.com" },
      stop: ["ann@x.com"],
      prediction: { type: "content", content: "eve@x.com" },
      tools: [{ type: "function", function: { name: "f", description: "mails help@x.com" } }],
      own_member: { deep: ["frank@x.com"] }
    })
    assert.deepStrictEqual(value, {
      ...requestWith(),
      messages: [
        { role: "system", content: "I am [EMAIL_1]" },
        { role: "user", name: "[EMAIL_2]", content: [{ type: "text", text: "and [IP_ADDRESS_1]" }] },
        {
          role: "assistant",
          content: null,
          reasoning: "hm, [EMAIL_1]",
          tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: '{"to":"[EMAIL_1]"}' } }]
        },
        { role: "tool", tool_call_id: "call_1", content: '{"note":"Hi\\n[EMAIL_2]","n":"[CREDIT_CARD_1]"}' }
      ],
      user: "[EMAIL_3]",
      metadata: { contact: "[EMAIL_4]" },
      stop: ["[EMAIL_1]"],
      prediction: { type: "content", content: "[EMAIL_5]" },
      tools: [{ type: "function", function: { name: "f", description: "mails [EMAIL_6]" } }],
      own_member: { deep: ["[EMAIL_7]"] }
    })
    const at = findings.find(({ path }) => path === "tool_calls[0].function.arguments")
    assert.deepInclude(at, { message: 2, start: 7, end: 16 })
    assert.deepInclude(
      findings.find(({ type }) => type === "credit_card"),
      { message: 3, path: "content", start: 28, end: 44 }
    )
  })

  it("are searched in integers with all their digits", () => {
    const body = `{"note":{"card":4000000000000000006,"order":12345678901234567891,"few":[6200000000000000000]},"seed":4000000000000000006}`
    const own = parseExactly(body) as Readonly<Record<string, unknown>>
    const { findings, value } = masked({ ...requestWith(), ...own })
    assert.deepStrictEqual(countsOf(findings), { credit_card: 2 })
    assert.deepStrictEqual(
      findings.map(({ path }) => path),
      ["note.card", "note.few[0]"]
    )
    const { note, seed } = value as Readonly<Record<string, unknown>>
    assert.strictEqual(
      JSON.stringify({ note, seed }),
      `{"note":{"card":"[CREDIT_CARD_1]","order":12345678901234567891,"few":["[CREDIT_CARD_2]"]},"seed":4000000000000000006}`
    )
  })

  it("are searched in metadata and in tools' schemas under any member name", () => {
    const address = { description: "such as ann@x.com" }
    const parameters = { type: "object", properties: { id: address, type: address, data: address } }
    const { value } = masked(
      requestWith({
        messages: [{ role: "user", content: "Hi" }],
        metadata: { id: "ann@x.com", data: "ann@x.com", type: "ann@x.com", file: "ann@x.com" },
        tools: [{ type: "function", function: { name: "f", parameters } }]
      })
    )
    assert.notInclude(JSON.stringify(value), "ann@x.com")
    assert.deepStrictEqual(value.metadata, { id: "[EMAIL_1]", data: "[EMAIL_1]", type: "[EMAIL_1]", file: "[EMAIL_1]" })
  })

  it("are not searched in listed places of the listed form", () => {
    const bytes = "iVBORw0KGgo4111111111111111".repeat(4)
    const request = requestWith({
      model: "a@b.com/x",
      models: ["a@b.com/y"],
      provider: { allow_fallbacks: true, order: ["a@b.com"] },
      seed: 4111111111111111,
      logit_bias: { 50256: 4111111111111111 },
      messages: [
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: "data:image/png;base64,4111111111111111" } },
            { type: "input_audio", input_audio: { data: bytes, format: "wav" } },
            { type: "file", file: { file_data: `data:application/pdf;base64,${bytes}` } },
            { type: "document", source: { type: "base64", media_type: "application/pdf", data: bytes } }
          ]
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "hm", signature: bytes },
            { type: "redacted_thinking", data: bytes }
          ],
          reasoning_details: [{ type: "reasoning.text", text: "hm", signature: bytes, id: "rs_4111111111111111" }],
          tool_calls: [{ id: "4111111111111111", type: "function", function: { name: "f", arguments: "{}" } }]
        },
        { role: "tool", tool_call_id: "4111111111111111", content: "ok" }
      ],
      response_format: { type: "json_schema", json_schema: { schema: { maxLength: 4111111111111111 } } }
    })
    const { findings, value } = masked(request)
    assert.strictEqual(value, request)
    assert.deepStrictEqual(findings, [])
  })

  it("are searched in listed places of another form", () => {
    const { value } = masked(
      requestWith({
        messages: [
          {
            role: "user",
            content: [
              { type: "image_url", image_url: { url: "https://a.com/ann@x.com.png" } },
              { type: "image_url", image_url: { url: "data:text/plain,ann@x.com" } },
              { type: "file", file: { filename: "ann@x.com", file_data: `${"words ".repeat(20)}ann@x.com` } },
              { type: "document", source: { type: "text", data: "ann@x.com" } },
              { type: "ann@x.com", id: "to ann@x.com", signature: "ann@x.com" }
            ]
          },
          { role: "assistant", content: "ok", reasoning_details: [{ signature: "ann@x.com", id: "ann@x.com" }] },
          { role: "tool", tool_call_id: "ann@x.com", content: "" }
        ]
      })
    )
    assert.notInclude(JSON.stringify(value), "ann@x.com")
    assert.lengthOf(JSON.stringify(value).match(/\[EMAIL_\d\]/g) ?? [], 11)
  })

  it.each<readonly [shape: string, request: Readonly<Record<string, unknown>>]>([
    ["a result as a part", parts({ type: "tool_result", tool_use_id: "t", content: "ann@x.com" })],
    ["a result of parts", parts({ type: "tool_result", content: [{ type: "text", text: "ann@x.com" }] })],
    ["a document", parts({ type: "document", title: "ann@x.com", context: "c", citations: { note: "ann@x.com" } })],
    ["a thought", parts({ type: "thinking", thinking: "ann@x.com" })],
    ["a part without a type", parts({ anything: ["ann@x.com"] })],
    ["a part beside its text", parts({ type: "text", text: "Hi", citations: [{ cited_text: "ann@x.com" }] })],
    [
      "a member beside arguments",
      {
        tools: [],
        messages: [{ role: "assistant", tool_calls: [{ function: { name: "f", arguments: "{}", note: "ann@x.com" } }] }]
      }
    ],
    [
      "data, id, signature, type and media anywhere",
      {
        documents: [{ data: "ann@x.com", id: "ann@x.com" }],
        signature: "ann@x.com",
        type: "ann@x.com",
        file: "ann@x.com",
        image_url: { url: "ann@x.com" }
      }
    ],
    ["names of members", { metadata: { "ann@x.com": { "about ann@x.com": 1 } }, own: [{ "ann@x.com": 2 }] }],
    [
      "a schema's names and texts",
      {
        response_format: {
          type: "json_schema",
          json_schema: {
            name: "n",
            schema: { properties: { "ann@x.com": { enum: ["ann@x.com"], default: "ann@x.com" } } }
          }
        }
      }
    ],
    [
      "stop, user, prediction, tool_choice",
      {
        stop: "ann@x.com",
        user: "ann@x.com",
        prediction: { content: [{ text: "ann@x.com" }] },
        logit_bias: { "ann@x.com": "ann@x.com" },
        tool_choice: { note: "ann@x.com" }
      }
    ]
  ])("have nothing left in %s", (_, request) => {
    const { findings, value } = masked(requestWith(request))
    assert.notInclude(JSON.stringify(value), "ann@x.com")
    assert.isAbove(findings.length, 0)
    assert.notInclude(JSON.stringify(findings), "ann@x.com")
  })

  it("include numbers, which a placeholder turns into texts", () => {
    const { findings, value } = masked(
      requestWith({
        messages: [{ role: "user", content: [{ type: "card", number: 4111111111111111, cents: 1250 }] }],
        metadata: { ssn: 123456789, order: 123456789 }
      })
    )
    assert.deepStrictEqual(value.messages[0]?.content, [{ type: "card", number: "[CREDIT_CARD_1]", cents: 1250 }])
    assert.deepStrictEqual(value.metadata, { ssn: "[US_SSN_1]", order: 123456789 })
    assert.deepInclude(findings[0], { message: 0, path: "content[0].number", start: 0, end: 16 })
  })

  it("are classified by their member's name", () => {
    const { value } = maskedChat({
      messages: [
        {
          role: "assistant",
          tool_calls: [{ function: { name: "f", arguments: '{"password":"hunter22","n":"hunter22"}' } }]
        }
      ],
      metadata: { db_password: "hunter22", password: ["hunter22"], note: "hunter22" }
    })
    const text = JSON.stringify(value)
    assert.include(text, String.raw`{\"password\":\"[SECRET_1]\",\"n\":\"hunter22\"}`)
    assert.deepStrictEqual(value.metadata, { db_password: "[SECRET_1]", password: ["[SECRET_1]"], note: "hunter22" })
  })

  it("include names of tools, which are masked without brackets, equally everywhere, and restored in a reply", () => {
    const name = "ask-123-45-6789"
    const { value, placeholders } = maskedChat({
      tools: [
        { type: "function", function: { name } },
        { type: "function", function: { name: "us_ssn_1" } }
      ],
      tool_choice: { type: "function", function: { name } },
      messages: [
        { role: "user", content: "123-45-6789" },
        { role: "assistant", tool_calls: [{ id: "c", type: "function", function: { name, arguments: "{}" } }] },
        { role: "tool", tool_call_id: "c", name, content: "ok" }
      ]
    })
    const text = JSON.stringify(value)
    assert.notInclude(text, "123-45")
    // US_SSN_1 is the name of another tool.
    assert.lengthOf(text.match(/"ask-US_SSN_2"/g) ?? [], 4)
    assert.strictEqual(value.messages[0]?.content, "[US_SSN_2]")
    const { toolName } = makeRestorer(placeholders)
    assert.deepStrictEqual([toolName("ask-US_SSN_2"), toolName("us_ssn_1"), toolName("g")], [name, "us_ssn_1", "g"])
  })

  it("stay the same object without a match", () => {
    const request = requestWith({ messages: [{ role: "user", content: "Hello [EMAIL_1]" }] })
    assert.strictEqual(masked(request).value, request)
  })

  it("keep every other byte of arguments, escapes included", () => {
    const given = '{ "a" : "x\\u00e9 \\"ann@x.com\\" \\n", "id":12345678901234567890, "b": "C:\\\\bob@x.com" }'
    const { findings, value } = maskedChat({
      messages: [{ role: "assistant", tool_calls: [{ function: { name: "f", arguments: given } }] }]
    })
    const call = value.messages[0]?.tool_calls?.[0] as { readonly function: { readonly arguments: string } }
    assert.strictEqual(
      call.function.arguments,
      '{ "a" : "x\\u00e9 \\"[EMAIL_1]\\" \\n", "id":12345678901234567890, "b": "C:\\\\[EMAIL_2]" }'
    )
    assert.deepStrictEqual(
      findings.map(({ end, start }) => given.slice(start, end)),
      ["ann@x.com", "bob@x.com"]
    )
  })

  it("are searched in arguments that are not JSON, too", () => {
    for (const given of ["to ann@x.com", '{"to": "ann@x.com', '{"to": "\\q ann@x.com"}']) {
      const { value } = maskedChat({
        messages: [{ role: "assistant", tool_calls: [{ function: { name: "f", arguments: given } }] }]
      })
      assert.include(JSON.stringify(value), "[EMAIL_1]")
      assert.notInclude(JSON.stringify(value), "ann@x.com")
    }
  })
})

it("embeddings are masked in every input", () => {
  const request = { model: "test/embed", input: ["ann@x.com", "nothing", "ann@x.com, bob@x.com"], user: "eve@x.com" }
  const { value } = masked(request)
  assert.deepStrictEqual(value, {
    model: "test/embed",
    input: ["[EMAIL_1]", "nothing", "[EMAIL_1], [EMAIL_2]"],
    user: "[EMAIL_3]"
  })
  assert.deepInclude(masked({ model: "m", input: "ann@x.com" }).value, { input: "[EMAIL_1]" })
})

it("a search that runs out of time neither masks nor passes a request", () => {
  let nanos = 0n
  const budget = new TimeBudget(() => (nanos += 1_000_000n), 3)
  assert.isNull(maskAtOnce(scan, { text: "ann@x.com ".repeat(20) }, everything, budget))
})

it("a reply gets its values back, escaped in arguments as JSON", () => {
  const secret = `-----BEGIN PRIVATE KEY-----\n${"MIIE".repeat(16)}\n-----END PRIVATE KEY-----`
  const { placeholders } = maskedText(`ann@x.com ${secret}`)
  const reply = restoredReply(
    {
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "To [EMAIL_1]",
            reasoning: "[email_1]?",
            refusal: null,
            annotations: [{ text: "[EMAIL_1]" }],
            tool_calls: [
              { id: "[EMAIL_1]", function: { name: "f", arguments: '{"k":"[SECRET_1]","to":"[Email_1]"}' } },
              { custom: { input: "[EMAIL_1]" } }
            ]
          },
          finish_reason: "stop"
        }
      ],
      usage: null,
      systemFingerprint: null
    },
    makeRestorer(placeholders)
  )
  const message = reply.choices[0]?.message
  assert.deepInclude(message, { content: "To ann@x.com", reasoning: "ann@x.com?", refusal: null })
  assert.deepStrictEqual(message?.["annotations"], [{ text: "ann@x.com" }])
  const [first, second] = message?.tool_calls ?? []
  assert.deepStrictEqual(second, { custom: { input: "ann@x.com" } })
  assert.deepInclude(first, { id: "[EMAIL_1]" })
  assert.deepStrictEqual(JSON.parse((first as { function: { arguments: string } }).function.arguments), {
    k: secret,
    to: "ann@x.com"
  })
})

/** Values within any text, placeholders and brackets included. */
const Text = Schema.String.check(Schema.isMaxLength(30))
const Seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

it.prop(
  "restoring a masked text gives the original text, whatever it is",
  { before: Text, after: Text, seed: Seed },
  ({ after, before, seed }) => {
    const dice = makeDice(seed)
    const value = () => valueOf(dice, dice.pick(allEntities)).text
    const literal = dice.pick(["[EMAIL_1]", "[[", "\\[phone_2\\]", "[SECRET_1", ""])
    const text = `${before} ${value()} ${literal} ${value()} ${after}`
    const { findings, value: hidden, placeholders } = maskedText(text)
    assert.isAtLeast(findings.length, 2)
    for (const { end, start } of findings) assert.notInclude(hidden, text.slice(start, end))
    assert.strictEqual(makeRestorer(placeholders).text(hidden), text)
  }
)

it.prop(
  "the same holds for values in the arguments of a tool call",
  { before: Text, seed: Seed },
  ({ before, seed }) => {
    const dice = makeDice(seed)
    const given = { text: `${before} ${valueOf(dice, dice.pick(allEntities)).text}`, [before]: [before] }
    const request = {
      messages: [
        { role: "assistant" as const, tool_calls: [{ function: { name: "f", arguments: JSON.stringify(given) } }] }
      ]
    }
    const { value, placeholders } = maskedChat(request)
    const call = value.messages[0]?.tool_calls?.[0] as { readonly function: { readonly arguments: string } }
    JSON.parse(call.function.arguments)
    assert.deepStrictEqual(JSON.parse(makeRestorer(placeholders).json(call.function.arguments)), given)
  }
)
