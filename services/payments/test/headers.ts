import { anyUuid } from '@trestle/testing/any-text.ts'
import { expect } from 'vitest'

/** Headers of an answer by their names in lower case. `undefined` stands for a header that is not sent. */
type Headers = Readonly<Record<string, unknown>>

/** The headers that let pages of any site call the checkout. */
export const CHECKOUT_CORS: Headers = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'Content-Type, Accept-Version, X-Client, Idempotency-Key',
  'access-control-expose-headers': 'X-Request-Id, X-Status-Code, Retry-After',
  'access-control-max-age': '600',
}

/** The headers of an answer in JSON, whole. */
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

/** The headers of a refusal, whole. */
export const refusalHeaders = (code: string, differences: Headers = {}): Headers =>
  jsonHeaders({ 'x-status-code': code, ...differences })

/** The headers of a refusal that ends by itself, whole: it names the seconds to wait. */
export const temporaryHeaders = (code: string, differences: Headers = {}): Headers =>
  refusalHeaders(code, { 'retry-after': expect.stringMatching(/^[1-9]\d*$/), ...differences })

/** A page is compressed from 1 KiB on, for clients that accept it. */
export const COMPRESSIBLE: Headers = { vary: 'accept-encoding' }

const OWN_FILES = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:"

/**
 * The headers of a page for customers, whole.
 * @param more what its policy allows beside files of the service, and who may frame the page. Default: its own forms, nobody
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
