/** `POST /v1/privacy/preview`: what masking would make of a text or of messages (contract §11). It answers no value that it found. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ChatMessage } from "../domain/Chat.ts"
import { KeyPrivacy } from "../domain/Privacy.ts"
import { Authorization, RequiredScope } from "./Authorization.ts"
import { BodyBytes, errors, Validation } from "./Failure.ts"

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** `text` or `messages`, or both. `entities` are names of built-in entities or of the operator's patterns. */
export const PrivacyPreviewRequest = Schema.Struct({
  text: nullable(Schema.String),
  messages: nullable(Schema.Array(ChatMessage).check(Schema.isMinLength(1))),
  entities: nullable(Schema.Array(Schema.String)),
  mode: nullable(KeyPrivacy)
})
  .check(
    Schema.makeFilter(
      ({ messages, text }: { readonly messages?: unknown; readonly text?: unknown }) =>
        (text ?? messages ?? null) === null ? { path: ["text"], issue: "missing" } : undefined,
      { ofAnyObject: true }
    )
  )
  .annotate({ identifier: "PrivacyPreviewRequest" })
export type PrivacyPreviewRequest = typeof PrivacyPreviewRequest.Type

/**
 * One value that was found. `start` and `end` are UTF-16 units of the original text; `message_index` and `path` name that text: null and
 * `text`, or the message's index and the place within it, such as `content` or `content[0].text`.
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
  /** There when `text` was sent. */
  masked_text: Schema.optionalKey(Schema.String),
  /** There when `messages` were sent. */
  messages: Schema.optionalKey(Schema.Array(ChatMessage)),
  entities: Schema.Array(PrivacyFinding),
  /** How many values of each type. */
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
          title: "Preview masking",
          description:
            "Masks a text or messages by the code that masks prompts, and tells what it found by type and place, never by value."
        })
      )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Privacy" })) {}
