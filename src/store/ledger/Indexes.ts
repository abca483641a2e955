/**
 * The indexes of generations, beside those of the first migration. Each is for a filter of a list,
 * newest first, so that a page reads few rows even if it finds none. They cover the rows that the
 * filter selects and no others, because most requests succeed at once. The archive has the same, by
 * a migration.
 */

const failed = "error_type IS NOT NULL"

/** What an index covers, by the end of its name. */
const covered: Readonly<Record<string, string>> = {
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
}

/** Built in the background: the table may be large, and requests write to it. */
export const generationIndexes = Object.fromEntries(
  Object.entries(covered).map(([name, what]) => [`generations_${name}`, `generations ${what}`])
)
