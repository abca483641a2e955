/**
 * The input of a request with what it takes from stored responses: the conversation that it
 * continues, and the items that it refers to. A reference to an item of the same request stays.
 */
import { Effect, Option } from "effect"
import { type ResponsesRequest } from "../../api/responses/Request.ts"
import { type Members } from "../../domain/Chat.ts"
import { gatewayError, type GatewayError, InvalidRequest } from "../../domain/Errors.ts"
import { type HasRoom, type Keeper, quotable, type StoredResponses } from "../../gateway/responses/StoredResponses.ts"
import { itemsOf } from "./Request.ts"

/** Most stored responses that the references of one request may be searched in. */
const MAX_SEARCHED = 16

const isReference = ({ id, type }: Members): boolean => type === "item_reference" && typeof id === "string"

/**
 * Whether the request takes anything from stored responses, which may be far larger than itself.
 */
export const isContinued = ({ input, previous_response_id: previous }: ResponsesRequest): boolean =>
  typeof previous === "string" || (Array.isArray(input) && input.some(isReference))

export const makeConversation =
  (responses: StoredResponses["Service"]) =>
  (keeper: Keeper, body: ResponsesRequest, hasRoom: HasRoom): Effect.Effect<ReadonlyArray<Members>, GatewayError> => {
    const own = itemsOf(body.input)
    const previous = body.previous_response_id
    const history =
      typeof previous === "string" ? responses.history(keeper, previous, hasRoom) : Effect.succeed<typeof own>([])
    return Effect.flatMap(history, (before) =>
      own.some(isReference) && responses.keeps(true)
        ? Effect.map(resolved(responses, keeper, own, before, hasRoom), (items) => [...before, ...items])
        : Effect.succeed([...before, ...own])
    )
  }

/** The items with the stored ones in place of their references. */
const resolved = Effect.fnUntraced(function* (
  responses: StoredResponses["Service"],
  keeper: Keeper,
  own: ReadonlyArray<Members>,
  before: ReadonlyArray<Members>,
  hasRoom: HasRoom
) {
  const found = new Map<unknown, Members>()
  const add = (items: ReadonlyArray<Members>) => {
    for (const item of items) if (typeof item["id"] === "string" && !isReference(item)) found.set(item["id"], item)
  }
  add(before)
  const searched = new Set<string>()
  // The newest response has the items of the earlier ones too.
  for (const { id } of own.filter(isReference).toReversed()) {
    if (found.has(id) || searched.size === MAX_SEARCHED) continue
    const responseId = Option.getOrElse(yield* responses.ofItem(keeper, String(id)), () => "")
    if (searched.has(responseId)) continue
    searched.add(responseId)
    add(yield* Effect.catchIf(responses.history(keeper, responseId, hasRoom), isUnknown, () => Effect.succeed([])))
  }
  return yield* Effect.forEach(own, (item, at) => {
    if (!isReference(item)) return Effect.succeed(item)
    const stored = found.get(item["id"])
    return stored === undefined ? Effect.fail(notFound(at, String(item["id"]))) : Effect.succeed(stored)
  })
})

const isUnknown = ({ reason }: GatewayError): boolean => reason._tag === "InvalidRequest"

/** OpenAI's words. */
const notFound = (at: number, id: string) =>
  gatewayError(
    new InvalidRequest({
      message: `Item with id '${quotable(id)}' not found.`,
      param: `input.${at}`,
      code: null,
      provider: null
    })
  )

/**
 * The error with the places that the client knows: it counts its own items, and those before them
 * came by `previous_response_id`.
 */
export const withOwnPlaces =
  (before: number) =>
  (error: GatewayError): GatewayError => {
    const { reason } = error
    if (before === 0 || reason._tag !== "InvalidRequest") return error
    const own = (text: string) =>
      text.replaceAll(/\binput\.(\d+)/g, (_, at: string) =>
        Number(at) < before ? "previous_response_id" : `input.${Number(at) - before}`
      )
    return gatewayError(
      new InvalidRequest({
        message: own(reason.message),
        param: reason.param === null ? null : own(reason.param),
        code: reason.code,
        provider: reason.provider
      })
    )
  }
