/**
 * What the filters of lists of generations need: the providers that a request was sent to before
 * the last one, and the indexes of the archive. Those of recent generations are built in the
 * background (sql/Sql.ts).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type MigrationFacts } from "../sql/MigrationFacts.ts"

const failed = "error_type IS NOT NULL"

const statements = [
  // Providers that were called and did not answer. The last one that was called is the generation's
  // own. A row may outlive its generation by some seconds.
  `CREATE TABLE attempted_providers (
    provider text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    PRIMARY KEY (provider, id)
  )`,
  `CREATE INDEX attempted_providers_id ON attempted_providers (id)`,
  `CREATE FUNCTION ledger_attempted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO attempted_providers
      SELECT DISTINCT attempt->>'provider', NEW.id FROM jsonb_array_elements(NEW.receipt->'attempts') AS attempt
      WHERE attempt->>'provider' <> NEW.provider
      ON CONFLICT DO NOTHING;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER generations_attempted AFTER INSERT OR UPDATE ON generations FOR EACH ROW
    WHEN (jsonb_array_length(NEW.receipt->'attempts') > 1) EXECUTE FUNCTION ledger_attempted()`,
  ...Object.entries({
    request: "((receipt->'request'->>'id'))",
    status: `((receipt->'request'->>'status'), id DESC) WHERE error_type IS NOT NULL OR cancelled`,
    error: `(error_type, id DESC) WHERE ${failed}`,
    key_failed: `(key_id, id DESC) WHERE ${failed}`,
    owner_failed: `(owner_id, id DESC) WHERE ${failed}`,
    model_failed: `(model, id DESC) WHERE ${failed}`,
    provider_failed: `(provider, id DESC) WHERE ${failed}`,
    cancelled: "(id DESC) WHERE cancelled",
    fallback: "(id DESC) WHERE fallback_used",
    cache_hit: "(id DESC) WHERE cache_hit"
  }).map(([name, covered]) => `CREATE INDEX generations_archive_${name} ON generations_archive ${covered}`)
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)

export const facts: MigrationFacts = {
  changes:
    "Adds ten indexes to the archive of generations, and a table of the providers that were tried before the last " +
    "one, which a trigger fills.",
  locks:
    "Moving generations to the archive waits while its indexes are built, longer the more rows the archive has. " +
    "Requests wait only while the trigger is made, for an instant.",
  oldVersion: "The old version runs beside it, and the trigger writes its attempts too.",
  growsWith: "generations_archive"
}
