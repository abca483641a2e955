/** The settings in force, with every secret hidden, and their reload. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AdminAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"

const described = <S extends Schema.Top>(schema: S, description: string) => schema.annotate({ description })
const members = Schema.Record(Schema.String, Schema.Unknown)

export const SettingsReport = Schema.Struct({
  object: Schema.Literal("settings"),
  file: described(Schema.NullOr(Schema.String), "The path of the settings file. Null: there is none."),
  settings: described(
    members,
    "The sections of the settings file, with its names and units. A secret is `(hidden)` if set, otherwise null."
  ),
  environment: described(members, "The environment variables, by name. A secret is `(hidden)` if set."),
  sources: described(
    Schema.Record(Schema.String, Schema.Literals(["file", "environment"])),
    "Where a member was set, such as `routing.retries`. The others have their defaults."
  )
}).annotate({ identifier: "SettingsReport" })

export const SettingsReloadReport = Schema.Struct({
  object: Schema.Literal("settings_reload"),
  reloaded: described(Schema.Boolean, "False: the file is faulty, and the settings in force stay."),
  changed: described(Schema.Array(Schema.String), "The members that changed."),
  needs_restart: described(Schema.Array(Schema.String), "Members that differ from the file until a restart."),
  faults: described(
    Schema.Array(
      Schema.Struct({
        setting: described(Schema.String, "Where: a variable, or a path in the file."),
        problem: described(Schema.String, "What is wrong."),
        expected: described(Schema.String, "The accepted form.")
      })
    ),
    "Every fault of the file."
  )
}).annotate({ identifier: "SettingsReloadReport" })
export type SettingsReloadReport = typeof SettingsReloadReport.Type

export class AdminSettingsGroup extends HttpApiGroup.make("adminSettings")
  .add(
    HttpApiEndpoint.get("read", "/v1/admin/settings", { success: SettingsReport, error: errors(500) }).annotateMerge(
      OpenApi.annotations({ summary: "The settings in force, with every secret hidden" })
    ),
    HttpApiEndpoint.post("reload", "/v1/admin/settings/reload", {
      success: SettingsReloadReport,
      error: errors(500)
    }).annotateMerge(OpenApi.annotations({ summary: "Read the settings file again" }))
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration: settings" })) {}
