/**
 * What a body says, by its endpoint's schema; or all that is wrong with it. A short body is parsed and decoded at once. A long one is
 * parsed in a turn of its own and decoded in turns, with the same outcome.
 */
import { Effect, Result, Schema, SchemaParser, type SchemaAST, type SchemaIssue } from "effect"
import { type HttpServerRequest } from "effect/http"
import { type ValidationError } from "../../api/Failure.ts"
import { parseExactly, parseJson } from "../../domain/Json.ts"
import { makeTurns } from "../../domain/Turns.ts"
import { type BodyText } from "./Body.ts"
import { CurrentRequest } from "../edge/CurrentRequest.ts"
import { validationResponse } from "../errors/ErrorResponse.ts"
import { firstFaults, stopAtFirst } from "./FirstFaults.ts"
import { type Beyond, jsonFault, schemaFaults } from "./JsonBody.ts"
import { pausing } from "./PausingCodec.ts"

/** A body of more characters is decoded in turns: a shorter one takes no longer than some milliseconds, whatever it says. */
export const SHORT_CHARACTERS = 16_384

export type Decode<A> = (body: BodyText) => Effect.Effect<A, ReadonlyArray<ValidationError>>

/** `options`: what else the decode is told. `beyond`: what else is wrong with a body that the schema does not take. */
export const makeDecode = <S extends Schema.Codec<unknown, unknown>>(
  payload: S,
  options: SchemaAST.ParseOptions = {},
  beyond: Beyond = () => []
): Effect.Effect<Decode<S["Type"]>> =>
  Effect.map(makeTurns, (turns) => {
    const told = { ...options, ...stopAtFirst }
    const codec = Schema.toCodecJson(payload)
    const atOnce = SchemaParser.decodeUnknownResult(codec, told)
    const slowly = SchemaParser.decodeUnknownEffect(pausing(codec, turns), told)
    const faultsOf = ({ hasLongNumber, text }: BodyText, parsed: unknown, issue: SchemaIssue.Issue) => {
      // Faults speak of numbers as such.
      const value = hasLongNumber ? parseJson(text) : parsed
      return schemaFaults(value, firstFaults(codec, told, value, issue), beyond)
    }

    const inTurns = Effect.fnUntraced(function* (body: BodyText) {
      // Putting the body together was a turn.
      yield* turns.next
      const value = valueOf(body)
      if (value === undefined) return yield* Effect.fail([jsonFault(body.text)])
      yield* turns.next
      return yield* Effect.mapError(slowly(value), (issue) => faultsOf(body, value, issue))
    })

    return (body) => {
      if (body.text.length > SHORT_CHARACTERS) return inTurns(body)
      const value = valueOf(body)
      if (value === undefined) return Effect.fail([jsonFault(body.text)])
      const decoded = atOnce(value)
      return Result.isSuccess(decoded)
        ? Effect.succeed(decoded.success)
        : Effect.fail(faultsOf(body, value, decoded.failure))
    }
  })

/** Undefined: it is no JSON. */
const valueOf = ({ hasLongNumber, text }: BodyText): unknown => (hasLongNumber ? parseExactly(text) : parseJson(text))

/** For an endpoint of the API builder whose body is large: what `handle` makes of the payload, or the 422 with its faults. */
export const decoded = <A, B, E, R>(
  { text }: HttpServerRequest.HttpServerRequest,
  decode: Decode<A>,
  handle: (payload: A) => Effect.Effect<B, E, R>
) =>
  Effect.flatMap(Effect.orDie(text), (text) =>
    Effect.matchEffect(decode({ text, hasLongNumber: false }), {
      onFailure: (faults) => Effect.map(CurrentRequest, ({ requestId }) => validationResponse(faults, requestId)),
      onSuccess: handle
    })
  )
