/**
 * The schema, by subject. Times are Unix milliseconds, money is nano-USD. Identifiers compare byte
 * by byte (`COLLATE "C"`), as in JavaScript. Each part refers only to earlier ones.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type MigrationFacts } from "../sql/MigrationFacts.ts"
import { archive } from "./0001/archive.ts"
import { keys } from "./0001/keys.ts"
import { ledger } from "./0001/ledger.ts"
import { ledgerEnd } from "./0001/ledgerEnd.ts"
import { ledgerHold } from "./0001/ledgerHold.ts"
import { ledgerLocks } from "./0001/ledgerLocks.ts"
import { ledgerWrite } from "./0001/ledgerWrite.ts"
import { people } from "./0001/people.ts"
import { presence } from "./0001/presence.ts"
import { replies } from "./0001/replies.ts"
import { signIn } from "./0001/signIn.ts"
import { usage } from "./0001/usage.ts"
import { webhooks } from "./0001/webhooks.ts"

const statements = [
  ...keys,
  ...ledger,
  ...usage,
  ...archive,
  ...ledgerLocks,
  ...ledgerEnd,
  ...ledgerHold,
  ...ledgerWrite,
  ...replies,
  ...people,
  ...signIn,
  ...webhooks,
  ...presence
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)

export const facts: MigrationFacts = {
  changes: "Creates every table, index and function of an empty database.",
  locks: "Locks nothing, because nothing is there yet, and takes about a second.",
  oldVersion: "No older version has run on this database."
}
