/** Decodes a body as an endpoint does, so that the texts of its long members are kept. */
import { Effect, type Schema } from "effect"
import { ChatGroup } from "../../src/api/Chat.ts"
import { MessagesGroup } from "../../src/api/Messages.ts"
import { ResponsesGroup } from "../../src/api/Responses.ts"
import { JsonShape } from "../../src/domain/json/JsonShape.ts"
import { makeDecode } from "../../src/http/body/Payload.ts"

/** `size`: the bytes of a packet. */
export const receivedAs = <S extends Schema.Codec<unknown, unknown>>(
  schema: S,
  text: string,
  size = 1_000
): Effect.Effect<S["Type"], unknown> =>
  Effect.suspend(() => {
    const bytes = Buffer.from(text)
    const shape = new JsonShape()
    for (let at = 0; at < bytes.length; at += size) shape.take(bytes.subarray(at, at + size))
    const { hasLongNumber } = shape
    return Effect.flatMap(makeDecode(schema), (decode) =>
      decode({ text, hasLongNumber, sent: hasLongNumber ? null : { bytes, shape } })
    )
  })

const payloadOf = <Payload extends Schema.Top>({
  payload
}: {
  readonly payload: ReadonlyMap<string, { readonly schemas: ReadonlyArray<Schema.Top> }>
  readonly "~Payload": Payload
}) => payload.get("application/json")?.schemas[0] as unknown as Schema.Codec<Payload["Type"], unknown>

export const chatPayload = payloadOf(ChatGroup.endpoints.complete)
export const messagesPayload = payloadOf(MessagesGroup.endpoints.create)
export const responsesPayload = payloadOf(ResponsesGroup.endpoints.create)
