/** The messages of the thread, one after the other, with the replies side by side. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { AreaField } from "../parts/Field.tsx"
import { useStore } from "../store.ts"
import { regenerate, remove, resend } from "./conversation.ts"
import { ReplyView } from "./ReplyView.tsx"
import { type Exchange, isBusy, thread } from "./thread.ts"

/** Pixels below the window at which the end of the thread still counts as seen. */
const NEAR_PX = 120

/** Keeps the end of the thread in view: a new message always, a reply while the reader sees it. */
const useFollow = (exchanges: ReadonlyArray<Exchange>) => {
  const end = useRef<HTMLDivElement>(null)
  const before = useRef(exchanges)
  const follows = useRef(true)
  useEffect(() => {
    const look = () => {
      follows.current = end.current !== null && end.current.getBoundingClientRect().top <= innerHeight + NEAR_PX
    }
    look()
    addEventListener("scroll", look, { passive: true })
    return () => removeEventListener("scroll", look)
  }, [])
  useLayoutEffect(() => {
    const isNew = exchanges.length > before.current.length
    const isSame = exchanges === before.current
    before.current = exchanges
    if (!isSame && (isNew || follows.current)) end.current?.scrollIntoView({ block: "nearest" })
  }, [exchanges])
  return end
}

export const ThreadView = ({ asked }: { readonly asked: ReadonlyArray<string> }) => {
  const { exchanges } = useStore(thread)
  const end = useFollow(exchanges)
  if (exchanges.length === 0) {
    return (
      <section class="panel" aria-label="Thread">
        <div class="empty">
          <h2>No messages yet</h2>
          <p>Answers appear here as they come. They stay in this tab until you clear them, close it or sign out.</p>
        </div>
      </section>
    )
  }
  return (
    <section
      class="thread"
      role="log"
      aria-label="Thread"
      aria-busy={exchanges.some(({ replies }) => replies.some(isBusy))}
    >
      {exchanges.map((exchange, index) => (
        <ExchangeView
          key={exchange.id}
          of={exchange}
          asked={asked}
          isLast={index === exchanges.length - 1}
          number={index + 1}
        />
      ))}
      <div class="thread-end" ref={end} />
    </section>
  )
}

interface ExchangeProps {
  readonly of: Exchange
  readonly asked: ReadonlyArray<string>
  readonly isLast: boolean
  readonly number: number
}

const ExchangeView = ({ asked, isLast, number, of }: ExchangeProps) => {
  const [edited, setEdited] = useState<string | null>(null)
  const canSend = asked.length > 0 && edited?.trim() !== ""
  const sendAgain = () => {
    if (edited === null || !canSend) return
    setEdited(null)
    resend(of, edited, asked)
  }
  return (
    <article class="exchange" aria-label={`Message ${number}`}>
      <div class="message user">
        <h2 class="unseen">You</h2>
        {of.pictures.length === 0 ? null : (
          <ul class="pictures">
            {of.pictures.map(({ name, url }, index) => (
              <li key={index}>
                <img src={url} alt={name} />
              </li>
            ))}
          </ul>
        )}
        {edited === null ? (
          <>
            <p class="plain">{of.prompt}</p>
            <div class="message-actions">
              <button type="button" class="button small" onClick={() => setEdited(of.prompt)}>
                Edit
              </button>
              <button type="button" class="button small" onClick={() => remove(of)}>
                Delete
              </button>
            </div>
          </>
        ) : (
          <div class="form">
            <AreaField
              label="Edited message"
              rows={4}
              value={edited}
              onValue={setEdited}
              onSubmit={sendAgain}
              {...(isLast ? {} : { hint: "The messages after it are removed." })}
            />
            <div class="actions">
              <button type="button" class="button primary" aria-disabled={!canSend} onClick={sendAgain}>
                Resend
              </button>
              <button type="button" class="button" onClick={() => setEdited(null)}>
                Cancel
              </button>
            </div>
          </div>
        )}
      </div>
      <div class="replies">
        {of.replies.map((reply, column) => (
          <ReplyView
            key={column}
            of={reply}
            {...(isLast ? { onRegenerate: () => regenerate(of.id, column, asked[column] ?? reply.model) } : {})}
          />
        ))}
      </div>
    </article>
  )
}
