/** What the reasons for refusing a body say on the wire: a part of the table of http/WireErrors. */
import { type BodyTooLarge, type BodyTooSlow, type EncodingUnsupported } from "../domain/Errors.ts"
import { type Wire } from "./WireErrors.ts"

export const bodyWireOf = (reason: BodyTooLarge | EncodingUnsupported | BodyTooSlow): Wire => {
  switch (reason._tag) {
    case "BodyTooLarge":
      return {
        status: 413,
        type: "payload_too_large",
        code: "payload_too_large",
        message: `The body is larger than the ${reason.limitBytes} bytes that are accepted.`,
        retryable: false,
        details: { limit_bytes: reason.limitBytes }
      }
    case "EncodingUnsupported":
      return {
        status: 415,
        type: "unsupported_media_type",
        code: "unsupported_encoding",
        message: "The body's content-encoding is not supported. Send it as gzip, deflate or br, or without one.",
        retryable: false,
        details: { encoding: reason.encoding },
        headers: { "accept-encoding": "gzip, deflate, br" }
      }
    case "BodyTooSlow":
      return {
        status: 408,
        type: "request_timeout",
        code: "request_timeout",
        message: `The body did not arrive within ${reason.limitMs} ms.`,
        retryable: true,
        headers: { connection: "close" }
      }
  }
}
