/**
 * Decodes a body by its endpoint's schema, or lists all its faults. A short body is parsed and
 * decoded at once. A long one is parsed in its own turn and decoded in turns, with the same result.
 */
import { Effect, Result, Schema, SchemaParser, type SchemaAST, type SchemaIssue } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type ValidationError } from "../../api/Failure.ts"
import { parseExactly, parseJson } from "../../domain/json/Json.ts"
import { keepTexts } from "../../domain/json/SentText.ts"
import { makeTurns } from "../../domain/Turns.ts"
import { type BodyText } from "./Body.ts"
import { CurrentRequest } from "../edge/CurrentRequest.ts"
import { validationResponse } from "../errors/ErrorResponse.ts"
import { firstFaults, stopAtFirst } from "./FirstFaults.ts"
import { type Beyond, jsonFault, schemaFaults } from "./JsonBody.ts"
import { pausing } from "./PausingCodec.ts"
import { plainMembers } from "./PlainMembers.ts"

/**
 * Longer bodies are decoded in turns. A shorter one takes some milliseconds at most, whatever its
 * content.
 */
export const SHORT_CHARACTERS = 16_384

export type Decode<A> = (body: BodyText) => Effect.Effect<A, ReadonlyArray<ValidationError>>

/**
 * `options` are further options of the decode. `beyond` are additional checks of a body that the
 * schema refuses.
 */
export const makeDecode = <S extends Schema.Codec<unknown, unknown>>(
  payload: S,
  options: SchemaAST.ParseOptions = {},
  beyond: Beyond = () => []
): Effect.Effect<Decode<S["Type"]>> =>
  Effect.map(makeTurns, (turns) => {
    const decodeOptions = { ...options, ...stopAtFirst }
    const codec = Schema.toCodecJson(payload)
    const atOnce = SchemaParser.decodeUnknownResult(codec, decodeOptions)
    const slowly = SchemaParser.decodeUnknownEffect(pausing(codec, turns), decodeOptions)
    const faultsOf = ({ hasLongNumber, text }: BodyText, parsed: unknown, issue: SchemaIssue.Issue) => {
      // Faults must describe numbers as they are in plain JSON.
      const value = hasLongNumber ? parseJson(text) : parsed
      return schemaFaults(value, firstFaults(codec, decodeOptions, value, issue), beyond)
    }

    const plain = plainMembers(payload.ast)
    const withTexts = ({ sent }: BodyText, parsed: unknown, decoded: S["Type"]) => {
      if (sent) keepTexts(sent, parsed, decoded, plain)
      return decoded
    }

    const inTurns = Effect.fnUntraced(function* (body: BodyText) {
      // Joining the body took a turn.
      yield* turns.next
      const value = valueOf(body)
      if (value === undefined) return yield* Effect.fail([jsonFault(body.text)])
      yield* turns.next
      const decoded = yield* Effect.mapError(slowly(value), (issue) => faultsOf(body, value, issue))
      return withTexts(body, value, decoded)
    })

    return (body) => {
      if (body.text.length > SHORT_CHARACTERS) return inTurns(body)
      const value = valueOf(body)
      if (value === undefined) return Effect.fail([jsonFault(body.text)])
      const decoded = atOnce(value)
      return Result.isSuccess(decoded)
        ? Effect.succeed(withTexts(body, value, decoded.success))
        : Effect.fail(faultsOf(body, value, decoded.failure))
    }
  })

/** Undefined when the text is not valid JSON. */
const valueOf = ({ hasLongNumber, text }: BodyText): unknown => (hasLongNumber ? parseExactly(text) : parseJson(text))

/**
 * For an HttpApi endpoint with a large body: runs `handle` with the payload, or responds with the
 * 422 that lists the faults.
 */
export const decoded = <A, B, E, R>(
  { text }: HttpServerRequest.HttpServerRequest,
  decode: Decode<A>,
  handle: (payload: A) => Effect.Effect<B, E, R>
) =>
  Effect.flatMap(Effect.orDie(text), (text) =>
    Effect.matchEffect(decode({ text, hasLongNumber: false }), {
      onFailure: (faults) => Effect.map(CurrentRequest, (state) => validationResponse(faults, state)),
      onSuccess: handle
    })
  )
