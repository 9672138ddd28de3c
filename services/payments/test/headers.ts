import { anyUuid } from '@trestle/testing/any-text.ts'
import { expect } from 'vitest'

/** Headers of an answer by lower-case name. `undefined` means that the header is absent. */
type Headers = Readonly<Record<string, unknown>>

/** The headers that let pages of any site call the checkout. */
export const CHECKOUT_CORS: Headers = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'Content-Type, Accept-Version, X-Client, Idempotency-Key',
  'access-control-expose-headers': 'X-Request-Id, X-Status-Code, Retry-After',
  'access-control-max-age': '600',
}

/** The complete headers of a JSON answer. */
export const jsonHeaders = (differences: Headers = {}): Headers => ({
  'x-request-id': anyUuid,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-type': 'application/json; charset=utf-8',
  'content-length': expect.stringMatching(/^[1-9]\d*$/),
  date: expect.stringMatching(/ GMT$/),
  connection: 'keep-alive',
  ...differences,
})

/** The complete headers of a refusal. */
export const refusalHeaders = (code: string, differences: Headers = {}): Headers =>
  jsonHeaders({ 'x-status-code': code, ...differences })

/** The complete headers of a temporary refusal, with the seconds to wait. */
export const temporaryHeaders = (code: string, differences: Headers = {}): Headers =>
  refusalHeaders(code, { 'retry-after': expect.stringMatching(/^[1-9]\d*$/), ...differences })

/** Pages of 1 KiB or more are compressed for clients that accept it. */
export const COMPRESSIBLE: Headers = { vary: 'accept-encoding' }

const OWN_FILES = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:"

/**
 * The complete headers of a page for customers.
 * @param more what its policy allows besides the service's files, and who may frame it; by default its own forms, and nobody
 */
export const pageHeaders = (
  more = "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  differences: Headers = {},
): Headers =>
  jsonHeaders({
    'content-security-policy': `${OWN_FILES}; ${more}`,
    'content-type': 'text/html; charset=utf-8',
    'referrer-policy': 'no-referrer',
    'permissions-policy': 'payment=()',
    ...differences,
  })
