/** The vendor's own events of the Messages API, as the writer passes them on. */
import { type Members, type UsageInfo } from "../../domain/Chat.ts"
import { type Head } from "../../gateway/request/Answer.ts"
import { membersOf } from "./Blocks.ts"
import { type MessageForm, messageHead } from "./Reply.ts"
import { firstUsage, nativeUsage, withStopReason } from "./Usage.ts"

export type WireEvent = Members & { readonly type: string }

/** The event, if its name can stand in a line. */
export const namedEvent = (event: Members): WireEvent | null => {
  const { type } = event
  return typeof type === "string" && /^[\w.]{1,64}$/.test(type) ? { ...event, type } : null
}

/**
 * The beginning of the message. Its id and its model are the gateway's. Members that other servers
 * of this API leave out are added, because clients need them.
 */
export const nativeStart = (event: WireEvent, head: Head, form: MessageForm): WireEvent => {
  const { id, model, role, stop_sequence, type } = messageHead(head, form)
  const needed = {
    type,
    role,
    content: [],
    stop_reason: null,
    stop_sequence,
    usage: firstUsage(head.promptTokens ?? 0)
  }
  return { ...event, message: { ...needed, ...membersOf(event["message"]), id, model } }
}

export const isTextDelta = ({ delta }: WireEvent): boolean => membersOf(delta)["type"] === "text_delta"

/** The place of the stream after an event. */
interface Place {
  /** The block that is open, or the next one; undefined: unchanged. */
  readonly block: number | undefined
  /** Null: none is open; undefined: unchanged. */
  readonly open: "text" | "native" | null | undefined
  readonly isCall: boolean
}

export const placeOf = ({ content_block, index, type }: WireEvent): Place => {
  const kind = membersOf(content_block)["type"]
  const at = typeof index === "number" ? index : undefined
  switch (type) {
    case "content_block_start":
      return { block: at, open: kind === "text" ? "text" : "native", isCall: kind === "tool_use" }
    case "content_block_stop":
      return { block: at === undefined ? undefined : at + 1, open: null, isCall: false }
    default:
      return { block: undefined, open: undefined, isCall: false }
  }
}

const billed = (event: WireEvent, usage: UsageInfo, hasCalls: boolean): WireEvent => ({
  ...event,
  delta: withStopReason(membersOf(event["delta"]), hasCalls),
  usage: nativeUsage(membersOf(event["usage"]), usage)
})

/**
 * The events that end the message, with what is billed. `isEnded`: they tell the stop reason.
 * `hasCalls`: the client was sent calls.
 */
export const nativeEnd = (events: ReadonlyArray<Members>, usage: UsageInfo, hasCalls: boolean) => {
  const named = events.map(namedEvent).filter((event) => event !== null)
  return {
    before: named
      .filter(({ type }) => type !== "message_stop")
      .map((event) => (event.type === "message_delta" ? billed(event, usage, hasCalls) : event)),
    stop: named.find(({ type }) => type === "message_stop"),
    isEnded: named.some(({ type }) => type === "message_delta")
  }
}
