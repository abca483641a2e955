/** A form that calls the gateway. It is busy during the call, and shows the gateway's errors. */
import { type ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { asFailure, type Failure } from "../client.ts"

export interface Submitting {
  readonly busy: boolean
  readonly failure: Failure | undefined
  readonly submit: (work: () => Promise<void>) => void
}

export const useSubmit = (): Submitting => {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  return {
    busy,
    failure,
    submit: (work) => {
      setBusy(true)
      setFailure(undefined)
      work().then(
        () => setBusy(false),
        (thrown: unknown) => {
          setBusy(false)
          setFailure(asFailure(thrown))
        }
      )
    }
  }
}

interface FormProps {
  readonly of: Submitting
  readonly onSubmit: () => Promise<void>
  readonly action: string
  readonly tone?: "primary" | "danger" | "plain"
  readonly onCancel?: () => void
  readonly children: ComponentChildren
}

export const Form = ({ action, children, of, onCancel, onSubmit, tone = "primary" }: FormProps) => (
  <form
    class="form"
    onSubmit={(event) => {
      event.preventDefault()
      if (!of.busy) of.submit(onSubmit)
    }}
  >
    {children}
    {of.failure?.rest === undefined ? null : (
      <p class="alert" role="alert">
        {of.failure.rest}
      </p>
    )}
    <footer>
      {onCancel === undefined ? null : (
        <button type="button" class="button" onClick={onCancel}>
          Cancel
        </button>
      )}
      <button type="submit" class={`button ${tone}`} aria-disabled={of.busy}>
        {action}
      </button>
    </footer>
  </form>
)
