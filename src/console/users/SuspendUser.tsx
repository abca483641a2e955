/** The dialog that confirms suspending or reinstating a user. */
import { type Account } from "../../api/signin/Users.ts"
import { call } from "../client.ts"
import { Dialog } from "../parts/Dialog.tsx"
import { Form, useSubmit } from "../parts/Form.tsx"

interface SuspendUserProps {
  readonly of: Account
  readonly onDone: (news: string) => void
  readonly onClose: () => void
}

export const SuspendUser = ({ of: { email, id, phone, status }, onClose, onDone }: SuspendUserProps) => {
  const submitting = useSubmit()
  const change = async (to: Account["status"], news: string) => {
    await call(`/v1/admin/users/${id}`, { method: "PATCH", body: { status: to } })
    onDone(news)
  }
  const name = email ?? phone ?? id
  return status === "active" ? (
    <Dialog title={`Suspend ${name}?`} onClose={onClose}>
      <Form
        of={submitting}
        action="Suspend"
        tone="danger"
        onCancel={onClose}
        onSubmit={() => change("suspended", "User suspended")}
      >
        <p>
          All sessions end at once, and keys of this user are refused from now on, everywhere within a second. Nothing
          is deleted: reactivating the user brings the keys back.
        </p>
      </Form>
    </Dialog>
  ) : (
    <Dialog title={`Reactivate ${name}?`} onClose={onClose}>
      <Form
        of={submitting}
        action="Reactivate"
        onCancel={onClose}
        onSubmit={() => change("active", "User reactivated")}
      >
        <p>The user may sign in again, and keys that are not revoked work as before.</p>
      </Form>
    </Dialog>
  )
}
