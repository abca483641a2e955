/** An app with usage to report: one model answers, another fails, and nothing is retried. */
import { Effect } from "effect"
import { type SettingsShape } from "../../../src/Settings.ts"
import { helloReply } from "../../contract/wire.ts"
import { broken } from "../../gateway/scripts.ts"
import { TestApp } from "../../support/TestApp.ts"
import { triedOnce } from "../../support/testSettings.ts"

export const reportedApp = (settings: Partial<SettingsShape> = {}) =>
  TestApp.layer({
    providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply }, "test/broken": broken } }],
    settings: { ...settings, routing: triedOnce }
  })

/** Reads a path as the admin. */
export const readAsAdmin = (path: string) =>
  Effect.gen(function* () {
    const { adminKey, send } = yield* TestApp
    const { status, text } = yield* send(path, { headers: { "x-admin-key": adminKey } })
    return { status, text, body: JSON.parse(text) }
  })
