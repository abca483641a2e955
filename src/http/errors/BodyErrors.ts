/**
 * The wire errors of requests that cannot be read. A part of the table in http/errors/WireErrors.
 */
import {
  type BodyTooLarge,
  type BodyTooSlow,
  type EncodingUnsupported,
  type RequestUnreadable
} from "../../domain/Errors.ts"
import { type Wire } from "./WireErrors.ts"

export const bodyWireOf = (reason: BodyTooLarge | RequestUnreadable | EncodingUnsupported | BodyTooSlow): Wire => {
  switch (reason._tag) {
    case "RequestUnreadable":
      return unreadable(reason.fault)
    case "BodyTooLarge":
      return {
        status: 413,
        type: "payload_too_large",
        code: "payload_too_large",
        message: `The body is larger than the ${reason.limitBytes} bytes that are accepted.${reason.setting === null ? "" : ` The operator of this gateway can raise ${reason.setting}.`}`,
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

const unreadable = (fault: RequestUnreadable["fault"]): Wire => {
  switch (fault) {
    case "headers_too_large":
      return {
        status: 431,
        type: "invalid_request_error",
        code: "headers_too_large",
        message: "The request's headers are larger than the 16 KiB that are accepted.",
        retryable: false
      }
    case "too_slow":
      return {
        status: 408,
        type: "request_timeout",
        code: "request_timeout",
        message: "The request did not arrive in time.",
        retryable: true
      }
    case "malformed":
      return {
        status: 400,
        type: "invalid_request_error",
        code: "malformed_request",
        message: "The request is not valid HTTP/1.1.",
        retryable: false
      }
  }
}
