/**
 * A search box. It reports a text when typing pauses, and at once on Enter; `onEnter` may do more
 * with it, such as opening the thing that an id names.
 */
import { type ComponentChildren } from "preact"
import { useEffect, useId, useRef, useState } from "preact/hooks"

const PAUSE_MS = 250

interface SearchProps {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  readonly onEnter?: (value: string) => void
  readonly placeholder?: string
  readonly hint?: ComponentChildren
}

export const SearchField = ({ hint, label, onEnter, onValue, placeholder, value }: SearchProps) => {
  const id = useId()
  const [text, setText] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const sent = useRef(value)
  const input = useRef<HTMLInputElement>(null)
  const latest = useRef(onValue)
  latest.current = onValue
  // Another value than the one sent comes from Back, or from a button that clears the filters.
  useEffect(() => {
    if (value === sent.current) return
    sent.current = value
    setText(value)
  }, [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const send = (typed: string) => {
    clearTimeout(timer.current)
    sent.current = typed.trim()
    latest.current(sent.current)
  }
  return (
    <form
      class="field search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        clearTimeout(timer.current)
        // Of the field itself: Enter may come before what was typed is drawn.
        const typed = input.current?.value ?? text
        if (onEnter === undefined) send(typed)
        else onEnter(typed.trim())
      }}
    >
      <label for={id}>{label}</label>
      <input
        ref={input}
        id={id}
        type="search"
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={(event) => {
          const typed = event.currentTarget.value
          setText(typed)
          clearTimeout(timer.current)
          timer.current = setTimeout(() => send(typed), PAUSE_MS)
        }}
      />
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </form>
  )
}
