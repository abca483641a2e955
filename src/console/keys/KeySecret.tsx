/** A new secret, which is shown only once. */
import { Copy } from "../parts/Copy.tsx"
import { Dialog } from "../parts/Dialog.tsx"

interface KeySecretProps {
  readonly secret: string
  readonly name: string
  readonly onClose: () => void
}

export const KeySecret = ({ name, onClose, secret }: KeySecretProps) => (
  <Dialog title={`The secret of ${name}`} onClose={onClose} insistent>
    <div class="form">
      <p>Store it now: the gateway keeps only its hash and cannot show it again.</p>
      <div class="secret">
        <code data-secret>{secret}</code>
        <Copy text={secret} label="Copy the secret" words="Copy" />
      </div>
      <footer>
        <button type="button" class="button primary" onClick={onClose}>
          I have stored it
        </button>
      </footer>
    </div>
  </Dialog>
)
