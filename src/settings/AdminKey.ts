/**
 * The required strength of the admin key in production. A key that the gateway generates has 256
 * random bits.
 */
import { Redacted } from "effect"
import { type Faults } from "./Faults.ts"

/** The fault of an admin key that could be guessed. It gives access to everything. */
export const weakAdminKey = (adminKey: Redacted.Redacted | null): Faults => {
  if (adminKey === null) return []
  const key = Redacted.value(adminKey)
  return key.length >= 32 && new Set(key).size >= 10
    ? []
    : [
        {
          setting: "TOLLGATE_ADMIN_KEY",
          problem: "is too easy to guess for production",
          expected: "at least 32 random characters, such as `openssl rand -hex 32` prints"
        }
      ]
}
