/** The defaults of most tests: those of the gateway, but that the prompt cache is used for every request. */
import { defaultSettings, type SettingsShape } from "../../src/Settings.ts"

export const testSettings: SettingsShape = { ...defaultSettings, cache: { ...defaultSettings.cache, when: "always" } }

/** Routing by price, in which each provider is tried once. */
export const triedOnce: SettingsShape["routing"] = {
  defaultSort: "price",
  retries: 0,
  hedgeAfterMs: null,
  continueStreams: true,
  modelsFallback: []
}
