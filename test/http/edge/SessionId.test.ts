import { assert, it } from "@effect/vitest"
import { sessionIdOf } from "../../../src/http/edge/SessionId.ts"

it("takes the client's own header before Codex's, and passes over empty ones", () => {
  const all = { "x-session-id": "a", "session-id": "b", session_id: "c", conversation_id: "d" }
  assert.strictEqual(sessionIdOf(all), "a")
  assert.strictEqual(sessionIdOf({ ...all, "x-session-id": "" }), "b")
  assert.strictEqual(sessionIdOf({ session_id: "c", conversation_id: "d" }), "c")
  assert.strictEqual(sessionIdOf({ conversation_id: "d" }), "d")
  assert.isNull(sessionIdOf({ "session-id": "" }))
})
