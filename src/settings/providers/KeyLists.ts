/** Lists of keys of one provider: in the settings file, or in a vendor's variable. */
import { Redacted } from "effect"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { type Faults } from "../Faults.ts"

/** Several keys make a pool; one is the provider's key. */
export const keysOf = (keys: ReadonlyArray<Redacted.Redacted>): Pick<ProviderConfig, "apiKey" | "apiKeys"> => ({
  apiKey: keys[0] ?? null,
  ...(keys.length > 1 ? { apiKeys: keys } : {})
})

/** The most keys of one provider. A request may try each of them. */
const MOST_KEYS = 32

/** Faults of a list of keys: its length, and keys that repeat. `settingOf` names one of them. */
export const keyFaults = (
  setting: string,
  keys: ReadonlyArray<Redacted.Redacted>,
  settingOf: (index: number) => string
): Faults => {
  const values = keys.map(Redacted.value)
  return [
    ...(keys.length === 0 || keys.length > MOST_KEYS
      ? [
          {
            setting,
            problem: keys.length === 0 ? "is empty" : `has ${keys.length} keys`,
            expected: `a list of 1 to ${MOST_KEYS} keys`
          }
        ]
      : []),
    ...values.flatMap((value, index) => {
      const first = values.indexOf(value)
      return first === index
        ? []
        : [
            {
              setting: settingOf(index),
              problem: `repeats ${settingOf(first)}`,
              expected: "a key that is not in the list yet"
            }
          ]
    })
  ]
}
