/** A dialog. Uses the browser's element, which traps focus, closes on Escape and restores focus. */
import { type ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { Icon } from "./Icon.tsx"

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  /** Closes only by its own buttons, because its content is shown only once. */
  readonly insistent?: boolean
}

export const Dialog = ({ children, insistent = false, onClose, title }: DialogProps) => {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current
    if (dialog === null) return
    const opener = document.activeElement
    dialog.showModal()
    return () => {
      dialog.close()
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])
  return (
    <dialog
      ref={element}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault()
        if (!insistent) onClose()
      }}
    >
      <header>
        <h2 id="dialog-title">{title}</h2>
        {insistent ? null : (
          <button type="button" class="button bare" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </header>
      {children}
    </dialog>
  )
}
