/**
 * `POST /v1/privacy/preview`: the masked form of a text or of messages. It never returns a value
 * that it found.
 */
import { Schema, SchemaIssue } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ChatMessage } from "../domain/Chat.ts"
import { KeyPrivacy } from "../domain/Privacy.ts"
import { Authorization, RequiredScope } from "./Authorization.ts"
import { BodyBytes, errors, Validation } from "./Failure.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** `text`, `messages` or both. `entities`: built-in entities or the operator's patterns. */
export const PrivacyPreviewRequest = Schema.Struct({
  text: nullable(Schema.String),
  messages: nullable(Schema.Array(ChatMessage).check(Schema.isMinLength(1))),
  entities: nullable(Schema.Array(Schema.String)),
  mode: nullable(KeyPrivacy)
})
  .check(
    Schema.makeFilter(
      ({ messages, text }: { readonly messages?: unknown; readonly text?: unknown }) =>
        (text ?? messages ?? null) === null
          ? { path: ["text"], issue: new SchemaIssue.MissingKey(undefined) }
          : undefined,
      { ofAnyObject: true }
    )
  )
  .annotate({ identifier: "PrivacyPreviewRequest" })
export type PrivacyPreviewRequest = typeof PrivacyPreviewRequest.Type

/**
 * One value that was found. `start` and `end` count UTF-16 units of the original text.
 * `message_index` and `path` locate that text: null and `text`, or the message's index and a path
 * in it such as `content` or `content[0].text`.
 */
export const PrivacyFinding = Schema.Struct({
  type: Schema.String,
  placeholder: Schema.String,
  start: Schema.Int,
  end: Schema.Int,
  message_index: Schema.NullOr(Schema.Int),
  path: Schema.String
}).annotate({ identifier: "PrivacyFinding" })

export const PrivacyPreview = Schema.Struct({
  /** Present if `text` was sent. */
  masked_text: Schema.optionalKey(Schema.String),
  /** Present if `messages` were sent. */
  messages: Schema.optionalKey(Schema.Array(ChatMessage)),
  entities: Schema.Array(PrivacyFinding),
  /** Number of values by type. */
  counts: Schema.Record(Schema.String, Schema.Int),
  would_block: Schema.Boolean,
  policy_version: Schema.String
}).annotate({ identifier: "PrivacyPreview" })
export type PrivacyPreview = typeof PrivacyPreview.Type

export class PrivacyGroup extends HttpApiGroup.make("privacy")
  .add(
    HttpApiEndpoint.post("preview", "/v1/privacy/preview", {
      payload: PrivacyPreviewRequest,
      success: PrivacyPreview,
      error: errors(403, 429, 500, 503)
    })
      .annotate(BodyBytes, null)
      .annotate(RequiredScope, "privacy:preview")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Preview masking",
          description:
            "Masks a text or messages with the code that masks prompts. Reports each value found by type and position, never the value itself."
        })
      )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Privacy" })) {}
