/** A row of figures: name, value and note. */
import { type ComponentChildren } from "preact"

export interface FactsProps {
  readonly facts: ReadonlyArray<readonly [name: string, figure: ComponentChildren, aside?: ComponentChildren]>
}

export const Facts = ({ facts }: FactsProps) => (
  <dl class="facts">
    {facts.map(([name, figure, aside]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd class="figure">{figure}</dd>
        {aside === undefined ? null : <dd class="aside">{aside}</dd>}
      </div>
    ))}
  </dl>
)
