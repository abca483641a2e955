/**
 * Redacts log output as a last line of defence: removes the secrets of the settings, and everything
 * that has the form of a credential. Log lines should not contain any, but error messages sometimes
 * do.
 */
import { Redacted } from "effect"
import { type SettingsShape } from "../Settings.ts"

const HIDDEN = "(hidden)"

const forms: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(tga?-)[A-Za-z0-9_-]{6,}/g, `$1${HIDDEN}`],
  [/\b(Bearer|Basic)\s+[^\s"'\\]+/gi, `$1 ${HIDDEN}`],
  [/\b(?:sk|pk|rk|gsk|xai|pplx|csk|ghp|gho|glpat|AIza|AKIA)[-_]?[A-Za-z0-9_-]{12,}/g, HIDDEN],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/g, HIDDEN],
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@"'\\]*@/gi, `$1${HIDDEN}@`]
]

/** Replacing shorter secrets would remove ordinary words. */
const SHORTEST = 6

export const redactor = (settings: SettingsShape): ((text: string) => string) => {
  const secrets = [...new Set(secretsOf(settings))].filter((secret) => secret.length >= SHORTEST)
  return (text) => {
    let shown = text
    for (const secret of secrets) shown = shown.replaceAll(secret, HIDDEN)
    for (const [form, shownForm] of forms) shown = shown.replace(form, shownForm)
    return shown
  }
}

/** All secrets in the settings, at any depth. */
const secretsOf = (value: unknown): ReadonlyArray<string> => {
  if (Redacted.isRedacted(value)) {
    const secret = Redacted.value(value)
    return typeof secret === "string" ? [secret] : []
  }
  if (Array.isArray(value)) return value.flatMap(secretsOf)
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(secretsOf) : []
}
