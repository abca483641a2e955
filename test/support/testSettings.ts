/**
 * The settings of most tests: the gateway's defaults, except that every request uses the prompt
 * cache.
 */
import { defaultSettings, type SettingsShape } from "../../src/Settings.ts"

export const testSettings: SettingsShape = { ...defaultSettings, cache: { ...defaultSettings.cache, when: "always" } }

/** Routing by price that tries each provider once. */
export const triedOnce: SettingsShape["routing"] = {
  defaultSort: "price",
  retries: 0,
  hedgeAfterMs: null,
  continueStreams: true,
  modelsFallback: []
}
