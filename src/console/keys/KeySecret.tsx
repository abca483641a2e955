/** A new secret, which is shown only once, with how to use it. */
import { Copy } from "../parts/Copy.tsx"
import { Dialog } from "../parts/Dialog.tsx"

interface KeySecretProps {
  readonly secret: string
  readonly name: string
  readonly onClose: () => void
}

const Sample = ({ label, text }: { readonly label: string; readonly text: string }) => (
  <>
    <h3>{label}</h3>
    <div class="secret">
      <pre>
        <code>{text}</code>
      </pre>
      <Copy text={text} label={`Copy ${label.toLowerCase()}`} words="Copy" />
    </div>
  </>
)

export const KeySecret = ({ name, onClose, secret }: KeySecretProps) => {
  const { origin } = location
  return (
    <Dialog title={`The secret of ${name}`} onClose={onClose} insistent>
      <div class="form">
        <p>Store it now: the gateway keeps only its hash and cannot show it again.</p>
        <div class="secret">
          <code data-secret>{secret}</code>
          <Copy text={secret} label="Copy the secret" words="Copy" />
        </div>
        <p>
          The base URL is <code>{origin}/v1</code>.
        </p>
        <Sample label="For a shell" text={`export TOLLGATE_API_KEY=${secret}\nexport TOLLGATE_URL=${origin}`} />
        <Sample
          label="A first call"
          text={`curl "$TOLLGATE_URL/v1/models" -H "Authorization: Bearer $TOLLGATE_API_KEY"`}
        />
        <footer>
          <button type="button" class="button primary" onClick={onClose}>
            I have stored it
          </button>
        </footer>
      </div>
    </Dialog>
  )
}
