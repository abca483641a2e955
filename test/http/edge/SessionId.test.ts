import { assert, it } from "@effect/vitest"
import { sessionIdOf } from "../../../src/http/edge/SessionId.ts"

it("takes the client's own header before those of coding agents, and passes over empty ones", () => {
  const all = {
    "x-session-id": "a",
    "x-claude-code-session-id": "a2",
    "session-id": "b",
    session_id: "c",
    conversation_id: "d"
  }
  assert.strictEqual(sessionIdOf(all), "a")
  assert.strictEqual(sessionIdOf({ ...all, "x-session-id": "" }), "a2")
  assert.strictEqual(sessionIdOf({ ...all, "x-session-id": "", "x-claude-code-session-id": "" }), "b")
  assert.strictEqual(sessionIdOf({ session_id: "c", conversation_id: "d" }), "c")
  assert.strictEqual(sessionIdOf({ conversation_id: "d" }), "d")
  assert.isNull(sessionIdOf({ "session-id": "" }))
})
