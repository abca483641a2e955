/**
 * The process of aimock: serves the fixtures that its parent sends, and reports its address.
 * Started by aimock.ts.
 */
import { LLMock } from "@copilotkit/aimock"

process.once("message", (fixtures: Parameters<LLMock["addFixturesFromJSON"]>[0]) => {
  const mock = new LLMock({ port: 0, host: "127.0.0.1", strict: true, journalMaxEntries: 0 })
  mock.addFixturesFromJSON(fixtures)
  void mock.start().then((url) => process.send?.({ url }))
})
process.once("disconnect", () => process.exit(0))
