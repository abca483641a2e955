import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { type ChatMessage } from "../../../src/domain/Chat.ts"
import { type Conversation, conversationName, isContinued } from "../../../src/gateway/request/Conversation.ts"
import { requestWith } from "../plans.ts"

const of = (
  messages: ReadonlyArray<ChatMessage>,
  sessionId: string | null = null,
  members: Readonly<Record<string, unknown>> = {}
): Conversation => ({ request: { ...requestWith({ messages }), ...members }, sessionId })

const named = (conversation: Conversation, client = "key_a", model = "test/small") =>
  conversationName(conversation, client, model)

const user = (content: NonNullable<ChatMessage["content"]>): ChatMessage => ({ role: "user", content })
const system: ChatMessage = { role: "system", content: "Be brief." }
const later: ReadonlyArray<ChatMessage> = [{ role: "assistant", content: "Yes." }, user("And?")]

const Text = Schema.String.check(Schema.isMaxLength(20))

it.prop(
  "the first messages name it, whatever follows; without a user's first message they differ",
  { first: Text, second: Text, rest: Schema.Array(Text).check(Schema.isMaxLength(5)) },
  ({ first, rest, second }) => {
    const start = [system, user(first)]
    const name = named(of(start))
    assert.strictEqual(named(of([...start, ...rest.map(user)])), name)
    assert.strictEqual(named(of([system, user(second)])) === name, first === second)
    assert.strictEqual(isContinued(of([...start, ...rest.map(user)])), rest.length > 0)
  }
)

it("an id names it, whatever the messages: the body's before the header's", () => {
  const byId = named(of([user("a")], null, { prompt_cache_key: "x" }))
  for (const one of [
    of([user("b"), ...later], "other", { prompt_cache_key: "x", session_id: "other" }),
    of([user("c")], "other", { session_id: "x" }),
    of([user("d")], "x"),
    of([user("e")], "x", { prompt_cache_key: null, session_id: "" })
  ]) {
    assert.strictEqual(named(one), byId)
    assert.isTrue(isContinued(one))
  }
  assert.notStrictEqual(named(of([user("a")], "y")), byId)
  assert.notStrictEqual(named(of([user("a")])), byId)
})

it("it belongs to one key of a client and to one model", () => {
  const conversation = of([user("a")])
  const names = [
    named(conversation),
    named(conversation, "key_b"),
    named(conversation, "key_a", "test/large"),
    named(of([system, user("a")])),
    named(of([user([{ type: "text", text: "a" }])]))
  ]
  assert.strictEqual(new Set(names).size, names.length)
})

it("long texts count with their beginning and length, and many messages with the first ones", () => {
  const long = (letter: string, length: number) => of([user("x".repeat(2_048) + letter.repeat(length))])
  assert.strictEqual(named(long("a", 10)), named(long("b", 10)))
  assert.notStrictEqual(named(long("a", 10)), named(long("a", 11)))
  const systems = (last: string) => of([...Array.from({ length: 8 }, () => system), user(last)])
  assert.strictEqual(named(systems("a")), named(systems("b")))
  const parts = (last: string) =>
    of([user([...Array.from({ length: 8 }, () => ({ type: "text", text: "a" })), { type: "text", text: last }])])
  assert.strictEqual(named(parts("a")), named(parts("b")))
  assert.match(named(systems("a")), /^[\w-]{43}$/)
})
