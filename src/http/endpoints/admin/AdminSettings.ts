/**
 * The endpoints that show and reload the settings in force. They hide all secrets, the values of
 * providers' headers and query parameters, and the user and password in a URL. A value that is
 * neither plain data nor a regular expression is hidden too, so that a new kind of setting cannot
 * leak.
 */
import { Effect, Redacted, String as Str } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../api/Api.ts"
import { SettingsReload } from "../../../gateway/admin/SettingsReload.ts"
import { AuditLog } from "../../../gateway/telemetry/Audit.ts"

export interface ShownSettings {
  readonly file: string | null
  /** The sections of the settings file. */
  readonly sections: Members
  readonly variables: Members
  readonly sources: Readonly<Record<string, "file" | "environment">>
}

export const layer = ({ file, sections, sources, variables }: ShownSettings) =>
  HttpApiBuilder.group(
    Api,
    "adminSettings",
    Effect.fnUntraced(function* (handlers) {
      const { audit } = yield* AuditLog
      const reload = yield* SettingsReload
      const report = {
        object: "settings" as const,
        file,
        settings: shownMembers(sections),
        environment: shownMembers(variables),
        sources
      }
      return handlers
        .handle("read", () => Effect.succeed(report))
        .handle("reload", () =>
          Effect.gen(function* () {
            const { changed, faults, isReloaded, needsRestart } = yield* reload
            yield* audit({
              action: "settings.reload",
              target: null,
              outcome: isReloaded ? "done" : "refused",
              details: isReloaded ? { members: changed } : { cause: "SettingsError" }
            })
            return {
              object: "settings_reload" as const,
              reloaded: isReloaded,
              changed,
              needs_restart: needsRestart,
              faults
            }
          })
        )
    })
  )

const HIDDEN = "(hidden)"

/** Members whose values may contain unmarked credentials. */
const privateMembers = new Set(["headers", "query"])

type Members = Readonly<Record<string, unknown>>

const shownMembers = (members: Members): Members =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) =>
      value === undefined || typeof value === "function"
        ? []
        : [[nameOf(name), privateMembers.has(name) ? hiddenMembers(value) : shown(value)]]
    )
  )

/** Names chosen by the operator (slugs, models) are left unchanged. */
const nameOf = (name: string): string => (/^[a-z][A-Za-z0-9]*$/.test(name) ? Str.camelToSnake(name) : name)

const shown = (value: unknown): unknown => {
  if (value === null || typeof value === "boolean" || typeof value === "number") return value
  if (typeof value === "string") return withoutCredentials(value)
  if (Redacted.isRedacted(value)) return HIDDEN
  if (Array.isArray(value)) return value.map(shown)
  if (value instanceof RegExp) return value.source
  return isMembers(value) ? shownMembers(value) : HIDDEN
}

const hiddenMembers = (value: unknown): unknown =>
  isMembers(value) ? Object.fromEntries(Object.keys(value).map((name) => [name, HIDDEN])) : HIDDEN

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

const withoutCredentials = (text: string): string => text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, `$1${HIDDEN}@`)
