/** The scopes of a key, as checkboxes. */
import { type Scope } from "../../domain/Key.ts"
import { CheckField } from "../parts/Field.tsx"

export const scopeWords: Readonly<Record<Scope, string>> = {
  "chat:write": "chat",
  "embeddings:write": "embeddings",
  "models:read": "list models",
  "generations:read": "read its generations",
  "privacy:preview": "privacy preview"
}

export const allScopes = Object.keys(scopeWords) as ReadonlyArray<Scope>

interface ScopesProps {
  readonly legend: string
  /** The scopes to choose from. */
  readonly of: ReadonlyArray<Scope>
  readonly chosen: ReadonlyArray<Scope>
  readonly onChosen: (chosen: ReadonlyArray<Scope>) => void
  readonly fault?: string | undefined
}

export const Scopes = ({ chosen, fault, legend, of, onChosen }: ScopesProps) => (
  <fieldset>
    <legend>{legend}</legend>
    <div class="checks">
      {of.map((scope) => (
        <CheckField
          key={scope}
          label={scopeWords[scope]}
          checked={chosen.includes(scope)}
          onChecked={(checked) => onChosen(of.filter((one) => (one === scope ? checked : chosen.includes(one))))}
        />
      ))}
    </div>
    {fault === undefined ? null : (
      <p class="alert" role="alert">
        {fault}
      </p>
    )}
  </fieldset>
)
