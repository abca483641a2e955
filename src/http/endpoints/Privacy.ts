/**
 * The endpoint of the privacy preview. Values that were found never appear in a response, a fault
 * or a log line.
 */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authorization.ts"
import { type PrivacyPreview, PrivacyPreviewRequest } from "../../api/Privacy.ts"
import { strict } from "../../api/schemas/Strictness.ts"
import { type Preview, PrivacyPreview as Previews } from "../../gateway/chat/PrivacyPreview.ts"
import { CurrentRequest } from "../edge/CurrentRequest.ts"
import { entityFaults } from "./EntityFaults.ts"
import { guard, validationResponse } from "../errors/ErrorResponse.ts"
import { listIn } from "../body/FaultsBeyondSchema.ts"
import { decoded, makeDecode } from "../body/Payload.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "privacy",
  Effect.fnUntraced(function* (handlers) {
    const previews = yield* Previews
    const decode = yield* makeDecode(PrivacyPreviewRequest, strict, (body) =>
      entityFaults(listIn(body, "entities"), previews.types)
    )

    const preview = Effect.fnUntraced(function* (request: PrivacyPreviewRequest) {
      const current = yield* CurrentRequest
      const { recorder } = current
      // The names include the operator's patterns, which the schema cannot know.
      const unknown = entityFaults(request.entities ?? [], previews.types)
      if (unknown.length > 0) return validationResponse(unknown, current)
      const caller = yield* CurrentKey
      const previewed = yield* previews.of({
        text: request.text ?? null,
        messages: request.messages ?? null,
        entities: request.entities ?? null,
        mode: request.mode ?? null,
        caller,
        note: recorder.note
      })
      return HttpServerResponse.jsonUnsafe(wireOf(previewed))
    })

    return handlers.handleRaw("preview", ({ request }) =>
      decoded(request, decode, (payload) => guard(preview(payload)))
    )
  })
)

const wireOf = ({ counts, findings, maskedText, messages, policyVersion, wouldBlock }: Preview): PrivacyPreview => ({
  ...(maskedText === null ? {} : { masked_text: maskedText }),
  ...(messages === null ? {} : { messages }),
  entities: findings.map(({ end, message, path, placeholder, start, type }) => ({
    type,
    placeholder,
    start,
    end,
    message_index: message,
    path
  })),
  counts,
  would_block: wouldBlock,
  policy_version: policyVersion
})
