/** A dialog in front of the page: the browser's own, which keeps the focus inside, closes at Escape and gives the focus back. */
import { type ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { Icon } from "./Icon.tsx"

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  /** Nothing but its own buttons closes it: what it shows is shown once. */
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
