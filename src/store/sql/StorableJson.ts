/**
 * JSON that Postgres takes. Its texts hold neither NUL nor lone surrogates, and a client or a provider may write both: a NUL is left out, a
 * lone surrogate becomes U+FFFD. Every text that goes to the database inside JSON goes through here.
 */

/** The escapes that JSON.stringify writes for them. An escaped backslash is passed over, so that what follows it stays text. */
const escapes = /(\\\\)|\\u0000|\\ud[89a-f][0-9a-f]{2}/g

export const storableJson = (value: unknown): string => {
  const json = JSON.stringify(value)
  if (!json.includes("\\u")) return json
  return json.replace(escapes, (found, backslash: string | undefined) => {
    if (backslash !== undefined) return backslash
    return found === "\\u0000" ? "" : "\ufffd"
  })
}
