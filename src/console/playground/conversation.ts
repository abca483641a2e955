/**
 * What the user does with the thread: send, stop, regenerate, edit and delete. Replies arrive in
 * the thread itself, so they continue while another page is open.
 */
import { playKey } from "../session.ts"
import { createStore } from "../store.ts"
import { bodyOf, type Members, type Parameters } from "./form.ts"
import { dropPlayKey } from "./playKeys.ts"
import { ask, waitingFor } from "./sendChat.ts"
import {
  change,
  type Exchange,
  type Fault,
  keep,
  messagesOf,
  MOST_CHARACTERS,
  type Reply,
  sizeOf,
  thread
} from "./thread.ts"

/** The last refusal of a request's members, and the parameters that were refused. */
export const refused = createStore<{ readonly fault: Fault; readonly parameters: Parameters } | null>(null)

/** By exchange and column. */
const running = new Map<string, AbortController>()
const nameOf = (id: number, column: number): string => `${id} ${column}`

const putReply = (id: number, column: number, reply: Reply): void =>
  change({
    exchanges: thread
      .get()
      .exchanges.map((exchange) =>
        exchange.id === id ? { ...exchange, replies: exchange.replies.with(column, reply) } : exchange
      )
  })

/** The request of one model for the message `id`, with everything before it. */
const requestOf = (id: number, column: number, model: string): Members => {
  const { exchanges, parameters } = thread.get()
  const end = exchanges.findIndex((exchange) => exchange.id === id) + 1
  return bodyOf(parameters, model, messagesOf(exchanges.slice(0, end), column))
}

/** Asks one model for its reply to the message `id`. */
export const regenerate = (id: number, column: number, model: string): void => {
  const key = playKey.get()
  if (key === null) return
  const name = nameOf(id, column)
  running.get(name)?.abort()
  const controller = new AbortController()
  running.set(name, controller)
  putReply(id, column, waitingFor(model))
  const { parameters } = thread.get()
  const onReply = (reply: Reply): void => {
    if (running.get(name) === controller) putReply(id, column, reply)
    if (reply.fault !== null && reply.fault.detail.length > 0) refused.set({ fault: reply.fault, parameters })
    // A key that has expired or was revoked opens nothing more.
    if (reply.fault?.status === 401 && playKey.get() === key) dropPlayKey()
  }
  void ask({
    body: requestOf(id, column, model),
    model,
    key: key.secret,
    fresh: parameters.fresh,
    signal: controller.signal,
    onReply
  }).finally(() => {
    if (running.get(name) !== controller) return
    running.delete(name)
    keep()
  })
}

export const stop = (): void => {
  for (const controller of running.values()) controller.abort()
}

const askAll = (exchanges: ReadonlyArray<Exchange>, last: Exchange, models: ReadonlyArray<string>): void => {
  change({ exchanges: [...exchanges, { ...last, replies: models.map(waitingFor) }] })
  models.forEach((model, column) => regenerate(last.id, column, model))
}

/** What hinders the next message, or null. */
export const fullness = (): string | null =>
  sizeOf(thread.get()) <= MOST_CHARACTERS
    ? null
    : `The thread is full: it has ${megabytes(sizeOf(thread.get()))} of ${megabytes(MOST_CHARACTERS)}. Delete messages, or clear it.`

export const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`

/** Sends the message in the composer to every model. */
export const send = (models: ReadonlyArray<string>): void => {
  const { exchanges, pictures, prompt } = thread.get()
  const id = Math.max(0, ...exchanges.map((exchange) => exchange.id)) + 1
  change({ prompt: "", pictures: [] })
  askAll(exchanges, { id, prompt, pictures, replies: [] }, models)
}

/** Sends a message again with another text. The messages after it are removed. */
export const resend = (exchange: Exchange, prompt: string, models: ReadonlyArray<string>): void => {
  const { exchanges } = thread.get()
  const at = exchanges.findIndex(({ id }) => id === exchange.id)
  cancel(exchanges.slice(at))
  askAll(exchanges.slice(0, at), { ...exchange, prompt }, models)
}

const cancel = (exchanges: ReadonlyArray<Exchange>): void => {
  for (const { id, replies } of exchanges) replies.forEach((_, column) => running.get(nameOf(id, column))?.abort())
}

export const remove = (exchange: Exchange): void => {
  cancel([exchange])
  change({ exchanges: thread.get().exchanges.filter(({ id }) => id !== exchange.id) })
  keep()
}

export const clear = (): void => {
  cancel(thread.get().exchanges)
  change({ exchanges: [], prompt: "", pictures: [] })
  keep()
}
