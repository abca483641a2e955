/** Copies a text on click. Works without TLS too, where browsers block the clipboard API. */
import { useState } from "preact/hooks"
import { notify } from "../notices.ts"
import { Icon } from "./Icon.tsx"

const copyOldWay = (text: string): boolean => {
  const area = document.createElement("textarea")
  area.value = text
  area.className = "unseen"
  // Inside an open dialog, because focus cannot leave it.
  const home = document.querySelector("dialog[open]") ?? document.body
  home.append(area)
  area.select()
  const copied = document.execCommand("copy")
  area.remove()
  return copied
}

const copy = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyOldWay(text)
  }
}

interface CopyProps {
  readonly text: string
  /** Describes what is copied: `Copy the key`. */
  readonly label: string
  readonly words?: string
}

export const Copy = ({ label, text, words }: CopyProps) => {
  const [copied, setCopied] = useState(false)
  return (
    <button
      type="button"
      class={words === undefined ? "button bare" : "button"}
      aria-label={words === undefined ? label : undefined}
      title={label}
      onClick={() => {
        void copy(text).then((done) => {
          notify(done ? "Copied" : "The browser refused to copy; select the text and copy it yourself")
          setCopied(done)
          if (done) setTimeout(() => setCopied(false), 2_000)
        })
      }}
    >
      <Icon name={copied ? "check" : "copy"} />
      {words}
    </button>
  )
}
