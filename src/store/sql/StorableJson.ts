/**
 * JSON that Postgres accepts. Postgres stores neither NUL nor lone surrogates in JSON, and clients
 * and providers may send both. A NUL is removed and a lone surrogate becomes U+FFFD. All JSON that
 * goes to the database passes through here.
 */

/**
 * The escapes that JSON.stringify writes for both. Escaped backslashes match too, so that the text
 * after them is left alone.
 */
const escapes = /(\\\\)|\\u0000|\\ud[89a-f][0-9a-f]{2}/g

export const storableJson = (value: unknown): string => {
  const json = JSON.stringify(value)
  if (!json.includes("\\u")) return json
  return json.replace(escapes, (found, backslash: string | undefined) => {
    if (backslash !== undefined) return backslash
    return found === "\\u0000" ? "" : "\ufffd"
  })
}
