/**
 * The last line of defence of what is printed: takes out the secrets of the settings, and whatever has the form of a credential. What is
 * printed should hold none in the first place; an error's own words sometimes do.
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

/** Shorter ones would blank out words. */
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

/** Every secret among the settings, wherever it stands. */
const secretsOf = (value: unknown): ReadonlyArray<string> => {
  if (Redacted.isRedacted(value)) {
    const secret = Redacted.value(value)
    return typeof secret === "string" ? [secret] : []
  }
  if (Array.isArray(value)) return value.flatMap(secretsOf)
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(secretsOf) : []
}
