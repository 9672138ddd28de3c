import { anyTime, anyUuid } from '@trestle/testing/any-text.ts'
import type { LightMyRequestResponse } from 'fastify'
import { expect } from 'vitest'

/** Any number, such as an id. */
export const anyNumber: unknown = expect.any(Number)

/** The seconds that a client must wait, as text. */
export const anySeconds: unknown = expect.stringMatching(/^[1-9]\d*$/)

/** The differences from a whole body, or from all headers. */
export type Differences = Readonly<Record<string, unknown>>

/** The body of a refusal with 400 for one problem, whole. @param path of the value; '' for the request itself */
export function invalidBody(path: string, message: string): object {
  const description = `${path === '' ? 'The request' : path}: ${message}`
  return { statusCode: 400, error: { type: 'VALIDATION_ERROR', description, issues: [{ path, message }] } }
}

export function expectBody(status: number, answer: LightMyRequestResponse) {
  expect(answer.statusCode, answer.body).toBe(status)
  return answer.json()
}

/** The envelope of an answer, which repeats the status of the answer (reference: Envelopes). */
export function envelopeOf(answer: LightMyRequestResponse) {
  const envelope = answer.json()
  expect(envelope.statusCode).toBe(answer.statusCode)
  return envelope
}

/**
 * The headers of an answer in JSON, whole, as `withoutConnection` leaves them. `undefined` stands for a header that is not
 * sent.
 */
export const jsonHeaders = (differences: Differences = {}): object => ({
  'x-request-id': anyUuid,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-type': 'application/json; charset=utf-8',
  'content-length': expect.stringMatching(/^[1-9]\d*$/),
  ...differences,
})

/** Headers without those of the connection, and without the validators of caches: these depend on how a request arrived. */
export function withoutConnection({ connection, date, vary, ...headers }: Differences): object {
  return headers
}

export const refusedBody = (statusCode: number, type: string, description: string, details: object = {}): object => ({
  statusCode,
  error: { type, description, ...details },
})

/** The report of an import, whole: by default without products of any outcome. */
export const importReport = (differences: Differences & { readonly received: number }): object => ({
  created: 0,
  updated: 0,
  skipped: 0,
  failed: 0,
  line: anyNumber,
  durationMs: anyNumber,
  errors: [],
  ...differences,
})

/** A reservation as answers show it, whole: by default an active one that does not expire. */
export const shownReservation = (
  differences: Differences & { readonly quantity: number; readonly remaining: number },
): object => ({
  id: anyNumber,
  productId: anyNumber,
  locationId: anyNumber,
  status: 'active',
  reference: null,
  expiresAt: null,
  createdAt: anyTime,
  ...differences,
})

/** A movement as answers show it, whole: by default one that changes nothing reserved. */
export const shownMovement = (
  differences: Differences & { readonly type: string; readonly onHandDelta: number; readonly onHandAfter: number },
): object => ({
  id: anyNumber,
  productId: anyNumber,
  locationId: anyNumber,
  reservedDelta: 0,
  reservedAfter: 0,
  reason: null,
  reference: null,
  transferId: null,
  reservationId: null,
  actor: null,
  createdAt: anyTime,
  ...differences,
})

/** The log line of a request, whole: by default of an answer with 200. */
export const requestLine = (
  differences: Differences & { readonly method: string; readonly path: string; readonly route: string },
): object => ({
  level: 'info',
  time: anyTime,
  request_id: expect.any(String),
  status: 200,
  duration_ms: anyNumber,
  bytes: anyNumber,
  msg: 'request',
  ...differences,
})

/** The result of an SQL function of stock, whole: by default without a body. */
export const callResult = (differences: Differences & { readonly verdict: string }): object => ({
  body: null,
  quantity: null,
  line: null,
  ...differences,
})
