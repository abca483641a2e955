/** Writes the next message: its text, and pictures that are picked, pasted or dropped. */
import { useRef, useState } from "preact/hooks"
import { AreaField } from "../parts/Field.tsx"
import { Icon } from "../parts/Icon.tsx"
import { useStore } from "../store.ts"
import { clear, fullness, megabytes, send, stop } from "./conversation.ts"
import { ACCEPTED, MOST_PICTURES, readPictures } from "./pictures.ts"
import { change, isBusy, MOST_CHARACTERS, sizeOf, thread } from "./thread.ts"

interface ComposerProps {
  readonly asked: ReadonlyArray<string>
  /** The models that may refuse pictures. */
  readonly blind: ReadonlyArray<string>
  /** Why nothing can be sent yet. */
  readonly obstacle: string | null
}

export const Composer = ({ asked, blind, obstacle }: ComposerProps) => {
  const now = useStore(thread)
  const { exchanges, pictures, prompt } = now
  const [faults, setFaults] = useState<ReadonlyArray<string>>([])
  const picker = useRef<HTMLInputElement>(null)
  const busy = exchanges.some(({ replies }) => replies.some(isBusy))
  const hindrance = obstacle ?? fullness()
  const isReady = asked.length > 0 && !busy && hindrance === null && (prompt.trim() !== "" || pictures.length > 0)
  const submit = () => {
    if (isReady) send(asked)
  }
  const add = (list: FileList | null | undefined): boolean => {
    const files = [...(list ?? [])]
    if (files.length === 0) return false
    void readPictures(files).then((found) => {
      const before = thread.get()
      const all = [...before.pictures, ...found.pictures]
      const wanted = { ...before, pictures: all.slice(0, MOST_PICTURES) }
      const size = sizeOf(wanted)
      if (size > MOST_CHARACTERS) {
        const room = `the thread would have ${megabytes(size)}, at most ${megabytes(MOST_CHARACTERS)}`
        return setFaults([`These pictures do not fit: ${room}.`])
      }
      change({ pictures: wanted.pictures })
      const isMore = all.length > MOST_PICTURES || files.length > MOST_PICTURES
      setFaults([...found.faults, ...(isMore ? [`A message takes ${MOST_PICTURES} pictures at most.`] : [])])
    })
    return true
  }
  const size = sizeOf(now)
  return (
    <section
      class="panel form composer"
      aria-label="Message"
      onPaste={(event) => {
        if (add(event.clipboardData?.files)) event.preventDefault()
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        add(event.dataTransfer?.files)
      }}
    >
      <AreaField
        label="Prompt"
        rows={2}
        value={prompt}
        onValue={(text) => change({ prompt: text })}
        onSubmit={submit}
        placeholder="Ctrl or ⌘ with Enter sends it"
      />
      {pictures.length === 0 ? null : (
        <ul class="pictures">
          {pictures.map(({ name, url }, index) => (
            <li key={index}>
              <img src={url} alt={name} />
              <button
                type="button"
                class="button bare"
                aria-label={`Remove ${name}`}
                onClick={() => change({ pictures: pictures.filter((_, other) => other !== index) })}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {pictures.length === 0 || blind.length === 0 ? null : (
        <p class="note">The catalogue lists no pictures for {blind.join(", ")}: the provider may refuse them.</p>
      )}
      {faults.map((fault) => (
        <p key={fault} class="alert" role="alert">
          {fault}
        </p>
      ))}
      {hindrance === null ? null : <p class="note">{hindrance}</p>}
      <div class="actions">
        {busy ? (
          <button type="button" class="button" onClick={stop}>
            Stop
          </button>
        ) : (
          <button type="button" class="button primary" aria-disabled={!isReady} onClick={submit}>
            Send
          </button>
        )}
        <button type="button" class="button" onClick={() => picker.current?.click()}>
          Attach pictures
        </button>
        <input
          ref={picker}
          type="file"
          hidden
          multiple
          accept={ACCEPTED}
          aria-label="Pictures"
          onChange={({ currentTarget }) => {
            add(currentTarget.files)
            currentTarget.value = ""
          }}
        />
        {exchanges.length === 0 ? null : (
          <button type="button" class="button" onClick={clear}>
            Clear the thread
          </button>
        )}
        {size < MOST_CHARACTERS / 4 ? null : (
          <span class="quiet">
            {megabytes(size)} of {megabytes(MOST_CHARACTERS)}
          </span>
        )}
      </div>
    </section>
  )
}
