/**
 * The playground's conversation. It stays in this tab: in memory while pages change, and in session
 * storage over a reload. The server never gets it, except as the requests that the user sends. It
 * is bounded in size, and ends when the user clears it, signs out, or another user signs in.
 */
import { type ErrorBody, type HTTPValidationError } from "../../api/Failure.ts"
import { type UsageInfo } from "../../domain/Chat.ts"
import { notify } from "../notices.ts"
import { type Session, session, THREAD } from "../session.ts"
import { createStore } from "../store.ts"
import { emptyParameters, type Members, type Parameters } from "./form.ts"

/** Why a request failed, as plain data. */
export interface Fault {
  readonly status: number
  readonly message: string
  readonly body: Partial<ErrorBody>
  readonly detail: HTTPValidationError["detail"]
}

export interface Reply {
  readonly model: string
  readonly state: "waiting" | "coming" | "ended" | "stopped"
  readonly text: string
  readonly reasoning: string
  readonly provider: string | null
  readonly headers: ReadonlyArray<readonly [string, string]>
  readonly usage: UsageInfo | null
  readonly finishReason: string | null
  readonly fault: Fault | null
  readonly generationId: string | null
  /** By this page's clock, in milliseconds. */
  readonly firstTokenMs: number | null
  readonly totalMs: number | null
}

export interface Picture {
  readonly name: string
  /** A data URL. */
  readonly url: string
}

/** A message of the user, and the reply of each model that is compared. */
export interface Exchange {
  readonly id: number
  readonly prompt: string
  readonly pictures: ReadonlyArray<Picture>
  readonly replies: ReadonlyArray<Reply>
}

export interface Thread {
  /** Whose session it belongs to. */
  readonly owner: string
  /** Empty: the cheapest one. More than one: they are compared. */
  readonly models: ReadonlyArray<string>
  readonly parameters: Parameters
  readonly exchanges: ReadonlyArray<Exchange>
  readonly prompt: string
  readonly pictures: ReadonlyArray<Picture>
}

/** Characters of texts and pictures. Browsers keep about five million for a site's tab. */
export const MOST_CHARACTERS = 4_000_000

const emptyThread = (owner: string): Thread => ({
  owner,
  models: [],
  parameters: emptyParameters,
  exchanges: [],
  prompt: "",
  pictures: []
})

export const isBusy = ({ state }: Reply): boolean => state === "waiting" || state === "coming"

/** After a reload, nothing arrives any more. */
const kept = (): Thread => {
  try {
    const read = JSON.parse(sessionStorage.getItem(THREAD) ?? "") as Thread
    const exchanges = read.exchanges.map((exchange) => ({
      ...exchange,
      replies: exchange.replies.map((reply) => (isBusy(reply) ? { ...reply, state: "stopped" as const } : reply))
    }))
    return { ...read, parameters: { ...emptyParameters, ...read.parameters }, exchanges }
  } catch {
    return emptyThread("")
  }
}

export const thread = createStore<Thread>(kept())

export const change = (part: Partial<Thread>): void => thread.set({ ...thread.get(), ...part })

const sizeOfPictures = (pictures: ReadonlyArray<Picture>): number =>
  pictures.reduce((sum, { url }) => sum + url.length, 0)

export const sizeOf = ({ exchanges, pictures, prompt }: Thread): number =>
  exchanges.reduce(
    (sum, exchange) =>
      sum +
      exchange.prompt.length +
      sizeOfPictures(exchange.pictures) +
      exchange.replies.reduce((length, { reasoning, text }) => length + reasoning.length + text.length, 0),
    prompt.length + sizeOfPictures(pictures)
  )

/** Writes the thread to session storage, or removes it from there if there is nothing to keep. */
export const keep = (): void => {
  const now = thread.get()
  try {
    if (now.owner === "") sessionStorage.removeItem(THREAD)
    else sessionStorage.setItem(THREAD, JSON.stringify(now))
  } catch {
    sessionStorage.removeItem(THREAD)
    notify("This tab's storage is full: a reload would lose the thread. Delete messages or clear it.")
  }
}
addEventListener("pagehide", keep)

const ownerOf = (current: Session): string =>
  current.kind === "user" ? current.user.id : current.kind === "admin" ? "operator" : ""

/** Signing out ends the thread. */
session.watch(() => {
  const current = session.get()
  if (current.kind !== "none" || current.notice !== undefined) return
  thread.set(emptyThread(""))
  sessionStorage.removeItem(THREAD)
})

/** Forgets the thread of another session. */
export const claimThread = (): void => {
  const owner = ownerOf(session.get())
  if (thread.get().owner !== owner) thread.set(emptyThread(owner))
}

const contentOf = ({ pictures, prompt }: Exchange): unknown =>
  pictures.length === 0
    ? prompt
    : [
        ...(prompt === "" ? [] : [{ type: "text", text: prompt }]),
        ...pictures.map(({ url }) => ({ type: "image_url", image_url: { url } }))
      ]

/**
 * The messages of a request that ends with the last of `exchanges`. An earlier message without an
 * answer is left out. A model that came later gets the answers of the first one.
 */
export const messagesOf = (exchanges: ReadonlyArray<Exchange>, column: number): ReadonlyArray<Members> =>
  exchanges.flatMap((exchange, index): ReadonlyArray<Members> => {
    const asked = { role: "user", content: contentOf(exchange) }
    if (index === exchanges.length - 1) return [asked]
    const answer = (exchange.replies[column] ?? exchange.replies[0])?.text ?? ""
    return answer === "" ? [] : [asked, { role: "assistant", content: answer }]
  })
