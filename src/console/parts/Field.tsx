/** Form fields: label, control, hint, and the gateway's fault with the value. */
import { type ComponentChildren } from "preact"
import { useId } from "preact/hooks"

interface Around {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly fault?: string | undefined
}

interface FrameProps extends Around {
  readonly id: string
  readonly children: ComponentChildren
}

const Frame = ({ children, fault, hint, id, label }: FrameProps) => (
  <div class={fault === undefined ? "field" : "field wrong"}>
    <label for={id}>{label}</label>
    {children}
    {fault === undefined && hint === undefined ? null : (
      <p class="hint" id={`${id}-hint`} role={fault === undefined ? undefined : "alert"}>
        {fault === undefined || hint === undefined ? (
          (fault ?? hint)
        ) : (
          <>
            {fault} ({hint})
          </>
        )}
      </p>
    )}
  </div>
)

const describedBy = (id: string, { fault, hint }: Around) => ({
  "aria-describedby": fault === undefined && hint === undefined ? undefined : `${id}-hint`,
  "aria-invalid": fault === undefined ? undefined : true
})

interface TextProps extends Around {
  readonly value: string
  readonly onValue: (value: string) => void
  readonly type?: "text" | "password" | "number" | "email" | "tel" | "date" | "datetime-local"
  readonly required?: boolean
  readonly placeholder?: string
  readonly autocomplete?: string
  readonly inputMode?: "decimal" | "numeric" | "email" | "tel" | "text"
  readonly min?: string
  readonly max?: string
  readonly step?: string
  readonly list?: ReadonlyArray<string>
  readonly autofocus?: boolean
}

export const TextField = (props: TextProps) => {
  const id = useId()
  const { autocomplete = "off", autofocus, list, onValue, type = "text", value } = props
  return (
    <Frame id={id} {...props}>
      <input
        id={id}
        // The type limits the other attributes; the browser ignores those that do not fit.
        type={type as "text"}
        value={value}
        required={props.required}
        placeholder={props.placeholder}
        autocomplete={autocomplete}
        inputMode={props.inputMode}
        min={props.min}
        max={props.max}
        step={props.step}
        autoFocus={autofocus}
        spellcheck={false}
        list={list === undefined ? undefined : `${id}-list`}
        onInput={(event) => onValue(event.currentTarget.value)}
        {...describedBy(id, props)}
      />
      {list === undefined ? null : (
        <datalist id={`${id}-list`}>
          {list.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </Frame>
  )
}

interface AreaProps extends Around {
  readonly value: string
  readonly onValue: (value: string) => void
  readonly rows?: number
  readonly placeholder?: string
  readonly onSubmit?: () => void
}

export const AreaField = (props: AreaProps) => {
  const id = useId()
  const { onSubmit, onValue, placeholder, rows = 3, value } = props
  return (
    <Frame id={id} {...props}>
      <textarea
        id={id}
        rows={rows}
        value={value}
        placeholder={placeholder}
        onInput={(event) => onValue(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey) && onSubmit !== undefined) {
            event.preventDefault()
            onSubmit()
          }
        }}
        {...describedBy(id, props)}
      />
    </Frame>
  )
}

interface SelectProps extends Around {
  readonly value: string
  readonly onValue: (value: string) => void
  /** Value and label, or one string for both. */
  readonly options: ReadonlyArray<readonly [value: string, words: string] | string>
}

export const SelectField = (props: SelectProps) => {
  const id = useId()
  const { onValue, options, value } = props
  return (
    <Frame id={id} {...props}>
      <select
        id={id}
        value={value}
        onChange={(event) => onValue(event.currentTarget.value)}
        {...describedBy(id, props)}
      >
        {options.map((option) => {
          const [of, words] = typeof option === "string" ? [option, option] : option
          return (
            <option key={of} value={of}>
              {words}
            </option>
          )
        })}
      </select>
    </Frame>
  )
}

interface CheckProps {
  readonly label: ComponentChildren
  readonly checked: boolean
  readonly onChecked: (checked: boolean) => void
  readonly disabled?: boolean
}

export const CheckField = ({ checked, disabled, label, onChecked }: CheckProps) => (
  <label class="check">
    <input
      type="checkbox"
      checked={checked}
      disabled={disabled}
      onChange={(event) => onChecked(event.currentTarget.checked)}
    />
    <span>{label}</span>
  </label>
)

interface ChoiceProps {
  readonly legend: string
  readonly value: string
  readonly onValue: (value: string) => void
  readonly options: ReadonlyArray<readonly [value: string, words: string]>
}

/** A group of toggle buttons. */
export const Choice = ({ legend, onValue, options, value }: ChoiceProps) => (
  <div class="choice" role="group" aria-label={legend}>
    {options.map(([of, words]) => (
      <button key={of} type="button" aria-pressed={of === value} onClick={() => onValue(of)}>
        {words}
      </button>
    ))}
  </div>
)
