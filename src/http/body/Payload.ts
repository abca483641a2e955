/**
 * Decodes a body by its endpoint's schema, or lists all its faults. A short body is parsed and
 * decoded at once, and a middling one if it is valid. A long one is parsed in its own turn and
 * decoded in turns, with the same result.
 */
import { Effect, Result, Schema, SchemaParser, type SchemaAST, type SchemaIssue } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type ValidationError } from "../../api/Failure.ts"
import { parseExactly, parseJson } from "../../domain/json/Json.ts"
import { keepTexts } from "../../domain/json/SentText.ts"
import { makeTurns } from "../../domain/runtime/Turns.ts"
import { type BodyText, ownText } from "./Body.ts"
import { CurrentRequest } from "../edge/CurrentRequest.ts"
import { validationResponse } from "../errors/ErrorResponse.ts"
import { firstFaults, stopAtFirst } from "./FirstFaults.ts"
import { type Beyond, jsonFault, schemaFaults } from "./JsonBody.ts"
import { pausing } from "./PausingCodec.ts"
import { plainBody } from "./PlainBody.ts"

/**
 * Longer bodies are decoded in turns. A shorter one takes some milliseconds at most, whatever its
 * content.
 */
export const SHORT_CHARACTERS = 16_384
/** A body up to this length is parsed and checked in one turn. */
export const MIDDLING_CHARACTERS = 131_072
/** A body up to this length is checked in one turn. */
const CHECKED_CHARACTERS = 262_144

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

    // A codec that refuses unknown members looks at each of them.
    const plain = options.onExcessProperty === undefined ? plainBody(codec) : null
    const withTexts = ({ sent }: BodyText, parsed: unknown, decoded: S["Type"]) => {
      if (sent && plain !== null) keepTexts(sent, parsed, decoded, plain.isPlain)
      return decoded
    }
    const isMiddling = ({ hasLongNumber, text }: BodyText) =>
      text.length <= MIDDLING_CHARACTERS && !hasLongNumber && plain !== null

    const inTurns = Effect.fnUntraced(function* (body: BodyText) {
      // Joining the body took a turn.
      yield* turns.next
      const value = valueOf(body)
      if (value === undefined) return yield* Effect.fail([jsonFault(ownText(body))])
      yield* turns.next
      const quick = body.text.length <= CHECKED_CHARACTERS ? plain?.decode(value) : undefined
      return quick === undefined ? yield* decodedInTurns(body, value) : withTexts(body, value, quick)
    })

    const decodedInTurns = (body: BodyText, value: unknown) =>
      Effect.mapBoth(slowly(value), {
        onFailure: (issue) => faultsOf(body, value, issue),
        onSuccess: (decoded) => withTexts(body, value, decoded)
      })

    return (body) => {
      const isShort = body.text.length <= SHORT_CHARACTERS
      if (!isShort && !isMiddling(body)) return inTurns(body)
      const value = valueOf(body)
      if (value === undefined) return Effect.fail([jsonFault(ownText(body))])
      const quick = plain?.decode(value)
      if (quick !== undefined) return Effect.succeed(withTexts(body, value, quick))
      if (!isShort) return decodedInTurns(body, value)
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
