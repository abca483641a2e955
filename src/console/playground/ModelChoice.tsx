/** Chooses one model, or up to three that get the same messages side by side. */
import { SelectField } from "../parts/Field.tsx"
import { labelOf, type Model, MOST_MODELS } from "./models.ts"
import { change } from "./thread.ts"

interface ModelChoiceProps {
  readonly asked: ReadonlyArray<string>
  readonly models: ReadonlyArray<Model>
}

export const ModelChoice = ({ asked, models }: ModelChoiceProps) => {
  const next = models.find(({ id }) => !asked.includes(id)) ?? models[0]
  return (
    <div class="model-choice">
      {asked.map((chosen, index) => (
        <div key={index}>
          <SelectField
            label={index === 0 ? "Model" : `Model ${index + 1}`}
            value={chosen}
            onValue={(id) => change({ models: asked.with(index, id) })}
            options={models.map((model) => [model.id, labelOf(model)])}
            {...(index === 0 ? { hint: "USD a million tokens: prompt / answer" } : {})}
          />
          {asked.length === 1 ? null : (
            <button
              type="button"
              class="button small"
              onClick={() => change({ models: asked.filter((_, other) => other !== index) })}
            >
              Remove <span class="unseen">{chosen}</span>
            </button>
          )}
        </div>
      ))}
      {asked.length >= MOST_MODELS || next === undefined ? null : (
        <button type="button" class="button" onClick={() => change({ models: [...asked, next.id] })}>
          Compare with another model
        </button>
      )}
    </div>
  )
}
