/** `GET /v1/admin/settings`: the settings in force, with every secret hidden. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AdminAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"

export const SettingsReport = Schema.Struct({
  object: Schema.Literal("settings"),
  /** In snake case, as in the settings file. A secret is `(hidden)` if set, otherwise null. */
  settings: Schema.Record(Schema.String, Schema.Unknown)
}).annotate({ identifier: "SettingsReport" })

export class AdminSettingsGroup extends HttpApiGroup.make("adminSettings")
  .add(
    HttpApiEndpoint.get("read", "/v1/admin/settings", { success: SettingsReport, error: errors(500) }).annotateMerge(
      OpenApi.annotations({ summary: "The settings in force, with every secret hidden" })
    )
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration: settings" })) {}
