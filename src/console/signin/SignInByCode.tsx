/** Sign-in by a six-digit code, sent by e-mail or SMS. */
import { useEffect, useState } from "preact/hooks"
import { type Challenge } from "../../api/signin/Auth.ts"
import { call } from "../client.ts"
import { notify } from "../notices.ts"
import { Choice, TextField } from "../parts/Field.tsx"
import { Form, useSubmit } from "../parts/Form.tsx"
import { type Channel, enterByCode, sendCode } from "../signIn.ts"

type Sent = typeof Challenge.Type

interface SignInByCodeProps {
  readonly channels: ReadonlyArray<Channel>
  /** True in development, where the gateway shows the codes instead of sending them. */
  readonly hasMailbox: boolean
}

export const SignInByCode = ({ channels, hasMailbox }: SignInByCodeProps) => {
  const [channel, setChannel] = useState<Channel>(channels[0] ?? "email")
  const [destination, setDestination] = useState("")
  const [sent, setSent] = useState<Sent | null>(null)
  const submitting = useSubmit()
  if (sent !== null) {
    return (
      <Code
        key={sent.challenge_id}
        sent={sent}
        hasMailbox={hasMailbox}
        destination={destination}
        onBack={() => setSent(null)}
        onAgain={async () => setSent(await sendCode(channel, destination.trim()))}
      />
    )
  }
  const byMail = channel === "email"
  return (
    <Form
      of={submitting}
      action="Send me a code"
      onSubmit={async () => setSent(await sendCode(channel, destination.trim()))}
    >
      {channels.length > 1 ? (
        <Choice
          legend="Send it by"
          value={channel}
          onValue={(value) => setChannel(value as Channel)}
          options={[
            ["email", "E-mail"],
            ["sms", "SMS"]
          ]}
        />
      ) : null}
      <TextField
        key={channel}
        label={byMail ? "E-mail address" : "Phone number"}
        type={byMail ? "email" : "tel"}
        autocomplete={byMail ? "email" : "tel"}
        placeholder={byMail ? "you@example.com" : "+44 20 7946 0958"}
        value={destination}
        onValue={setDestination}
        required
        fault={submitting.failure?.faultOf(byMail ? "email" : "phone")}
      />
    </Form>
  )
}

interface CodeProps {
  readonly sent: Sent
  readonly destination: string
  readonly hasMailbox: boolean
  /** To another address, at once. */
  readonly onBack: () => void
  /** Sends another code to the same address. */
  readonly onAgain: () => Promise<void>
}

const Code = ({ destination, hasMailbox, onAgain, onBack, sent }: CodeProps) => {
  const [code, setCode] = useState("")
  const submitting = useSubmit()
  const [wait, setWait] = useState(sent.resend_after)
  useEffect(() => {
    if (wait <= 0) return
    const timer = setTimeout(() => setWait(wait - 1), 1_000)
    return () => clearTimeout(timer)
  }, [wait])
  return (
    <Form
      of={submitting}
      action="Sign in"
      onSubmit={() => enterByCode(sent.channel, sent.challenge_id, code.replaceAll(/\D/g, ""))}
    >
      <p>
        If it can be reached, <b>{sent.masked_destination}</b> gets a code that works for{" "}
        {Math.round(sent.expires_in / 60)} minutes.
      </p>
      <TextField
        label="Code"
        inputMode="numeric"
        autocomplete="one-time-code"
        value={code}
        onValue={setCode}
        required
        autofocus
      />
      {hasMailbox ? <Mailbox destination={destination} onCode={setCode} /> : null}
      <p class="actions">
        <button type="button" class="button" onClick={onBack}>
          Use another {sent.channel === "email" ? "address" : "number"}
        </button>
        {wait > 0 ? (
          <span class="quiet">Another code in {wait} s</span>
        ) : (
          <button type="button" class="button" onClick={() => submitting.submit(onAgain)}>
            Send another code
          </button>
        )}
      </p>
    </Form>
  )
}

interface Letter {
  readonly code: string
  readonly destination: string
}

const Mailbox = ({
  destination,
  onCode
}: {
  readonly destination: string
  readonly onCode: (code: string) => void
}) => {
  const submitting = useSubmit()
  const [missing, setMissing] = useState(false)
  const look = () =>
    submitting.submit(async () => {
      const { data } = await call<{ readonly data: ReadonlyArray<Letter> }>("/auth/dev/mailbox")
      const digits = (text: string) => text.toLowerCase().replaceAll(/[\s()-]/g, "")
      const letter = data.find((one) => digits(one.destination) === digits(destination))
      setMissing(letter === undefined)
      if (letter === undefined) return
      onCode(letter.code)
      notify("The code is filled in")
    })
  return (
    <p class="note">
      This gateway is in development and sends nothing.{" "}
      <button type="button" class="button small" onClick={look}>
        Take the code from its mailbox
      </button>
      {missing ? " There is none for this address yet." : null}
    </p>
  )
}
