/**
 * Decodes whole answers by the contract's schemas: JSON, plain text or CSV, and nothing. Smaller
 * than Effect's own client of an API, which also sends requests and decodes errors.
 */
import { Effect, Schema } from "effect"
import { type HttpClientError, type HttpClientResponse } from "effect/http"

export type Decode = (
  response: HttpClientResponse.HttpClientResponse
) => Effect.Effect<unknown, Schema.SchemaError | HttpClientError.HttpClientError>

/** An answer without a schema for its status. */
const undeclared = Schema.decodeUnknownEffect(Schema.Never)

/** Schemas by status. One of a status may be a text, in place of JSON. */
type Answers = ReadonlyMap<number, ReadonlyArray<Schema.Top>>

const isText = ({ ast }: Schema.Top): boolean => ast._tag === "String"

const decoderOf = (schema: Schema.Top): Decode => {
  if (schema.ast._tag === "Void") return () => Effect.void
  if (isText(schema)) return ({ text }) => text
  const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(Schema.make<Schema.Decoder<unknown>>(schema.ast)))
  return ({ json }) => Effect.flatMap(json, (body) => decode(body))
}

export const decoderOfAnswers = (answers: Answers): Decode => {
  const made = new Map<Schema.Top, Decode>()
  return (response) => {
    const schemas = answers.get(response.status) ?? []
    const isJson = /\bjson\b/.test(response.headers["content-type"] ?? "")
    const schema = schemas.find((each) => isText(each) !== isJson) ?? schemas[0]
    if (schema === undefined) return undeclared(response.status)
    const decode = made.get(schema) ?? decoderOf(schema)
    made.set(schema, decode)
    return decode(response)
  }
}
