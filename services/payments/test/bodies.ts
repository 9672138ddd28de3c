import { anyId, anyTime, anyUuid } from '@trestle/testing/any-text.ts'
import type { LightMyRequestResponse } from 'fastify'
import { expect } from 'vitest'
import { completeScenario } from '../src/cards/scenario.ts'

/** The payout settings of tests. */
export const payoutSettings = {
  schedule: 'off',
  minimumMajorUnits: 1,
  delayDays: { live: 2, test: 0 },
  version: 'pain.001.001.09',
  timeZone: 'UTC',
  address: undefined,
} as const

/** The default permissions of a new merchant. */
const CLAIM = {
  canChargeCard: true,
  canSaveCard: true,
  canTransferToCard: false,
  canCapture: true,
  canRefund: true,
  canVoid: true,
}

/** The default fees of a new merchant. */
const PRICING = {
  flat: { currency: 'EUR', amount: 25 },
  rate: 135,
  dispute: { currency: 'EUR', amount: 2_500 },
}

const DESCRIPTOR = 'Coffee & John'

/** A complete transaction in an answer, by default a test payment of EUR 3.00 without amounts. */
export const shownTransaction = (differences: object = {}): object => ({
  id: anyId,
  merchantId: anyId,
  test: true,
  created: anyTime,
  currency: 'EUR',
  amount: 300,
  descriptor: DESCRIPTOR,
  pendingAmount: 0,
  capturedAmount: 0,
  refundedAmount: 0,
  voidedAmount: 0,
  disputedAmount: 0,
  card: shownCard(),
  recurring: false,
  successful: true,
  error: false,
  trail: [],
  ...differences,
})

/** A complete card in an answer, by default a test card with a security code. */
export const shownCard = (differences: object = {}): object => ({
  bin: '100000',
  last4: '0000',
  expiry: '2066-08-31T23:59:59.999Z',
  scheme: 'visa',
  code: { present: true },
  ...differences,
})

/** A complete trail entry in an answer, by default without an effect on the balance. */
export const trailEntry = (differences: { readonly amount: number; readonly [field: string]: unknown }): object => ({
  id: anyId,
  created: anyTime,
  balance: 0,
  fee: { flat: 0, rate: 0 },
  descriptor: DESCRIPTOR,
  ...differences,
})

/** A complete transaction row, by default a charge of EUR 3.00 at a test merchant with nothing pending. */
export const transactionRow = (differences: object = {}): object => ({
  merchant_id: anyId,
  id: anyId,
  created: expect.any(Date),
  instrument_id: anyId,
  source_id: null,
  session_id: null,
  test: true,
  currency: 'EUR',
  funding_currency: 'DKK',
  amount: 300n,
  descriptor: DESCRIPTOR,
  reference: null,
  custom: null,
  tds: null,
  recurring: true,
  plan: null,
  unplanned: null,
  code_present: false,
  successful: true,
  error_code: null,
  acquirer: null,
  acquirer_ref: null,
  pending: 0n,
  captured: 0n,
  refunded: 0n,
  voided: 0n,
  disputed: 0n,
  lost: 0n,
  trail_length: 0,
  disputed_at_capture: false,
  last4: '0000',
  ...differences,
})

/** A complete merchant in an answer, by default a live one with the required fields. */
export const shownMerchant = (differences: object = {}): object => ({
  id: anyId,
  key: anyUuid,
  currency: 'DKK',
  test: false,
  email: 'john@example.com',
  website: 'https://example.com',
  descriptor: DESCRIPTOR,
  company: { country: 'DK' },
  created: anyTime,
  balance: 0,
  claim: CLAIM,
  pricing: PRICING,
  tds: { mode: 'attempt' },
  ...differences,
})

/** A complete merchant in an event row, by default a live one with the required fields. */
export const merchantJson = (differences: object = {}): object => ({
  id: anyId,
  key: anyUuid,
  tag: expect.any(String),
  iban: null,
  name: null,
  test: false,
  claim: CLAIM,
  email: 'john@example.com',
  balance: 0,
  country: 'DK',
  created: expect.any(String),
  pricing: PRICING,
  website: 'https://example.com',
  acquirer: null,
  currency: 'DKK',
  tds_mode: 'attempt',
  descriptor: DESCRIPTOR,
  company_number: null,
  holder: null,
  ...differences,
})

/** A complete event row, by default without amounts of a transaction. */
export const eventRow = (differences: { readonly type: string; readonly [field: string]: unknown }): object => ({
  merchant_id: anyId,
  id: anyId,
  created: expect.any(Date),
  version: 1,
  object_id: anyId,
  pending: null,
  captured: null,
  refunded: null,
  voided: null,
  disputed: null,
  trail_length: null,
  ...differences,
})

/** A complete exception about a capture, refund or void, by default a rejected capture of EUR 3.00. */
export const operationException = (differences: object = {}): object => ({
  kind: 'capture',
  type: 'operation',
  money: { amount: 300, currency: 'EUR' },
  reason: null,
  problem: 'rejected',
  acquirer: 'north',
  descriptor: DESCRIPTOR,
  merchantId: anyId,
  acquirerRef: expect.any(String),
  operationId: anyId,
  transactionId: anyId,
  ...differences,
})

/** The complete authorization request to an acquirer, by default a charge of EUR 5.00 with the scenario of a valid card. */
export const askedAuthorization = (differences: {
  readonly card: unknown
  readonly [field: string]: unknown
}): object => ({
  idempotencyRef: anyId,
  merchantId: anyId,
  money: { currency: 'EUR', amount: 500 },
  descriptor: DESCRIPTOR,
  initiator: 'merchant',
  planned: false,
  networkRef: null,
  scenario: completeScenario({}),
  ...differences,
})

/** The status and complete body of the answer to a paid order. */
export const paidOrder = [201, { authorizationId: anyId, transactionId: anyId }] as const

/** The number of rows that clean-up deletes, by table. The default is 0. */
export const deletedRows = (differences: Readonly<Record<string, number>> = {}): object => ({
  idempotency: 0,
  merchant_creations: 0,
  payment_sessions: 0,
  spent_tokens: 0,
  token_merchants: 0,
  invitations: 0,
  app_invitations: 0,
  events: 0,
  apps: 0,
  ...differences,
})

/** The complete bodies of refusals that any operation may answer. */
export const errorBodies = {
  unauthorized: { code: 'UNAUTHORIZED', message: 'The API key is missing, malformed, unknown or revoked' },
  forbidden: { code: 'FORBIDDEN', message: 'The API key has no access to this resource' },
  notFound: { code: 'NOT_FOUND', message: 'There is no such resource' },
  endpointNotFound: { code: 'ENDPOINT_NOT_FOUND', message: 'There is no such endpoint' },
} as const

/** Returns the status and complete body of an answer. An answer without a body has the text ''. */
export const statusAndBody = ({ statusCode, body, json }: LightMyRequestResponse): readonly [number, unknown] => [
  statusCode,
  body === '' ? '' : json(),
]

/** Compares the status of an answer, and returns its body. */
export function expectBody(status: number, answer: LightMyRequestResponse) {
  expect(answer.statusCode, answer.body).toBe(status)
  return answer.json()
}

/** The refusals of a caller that any operation may answer. */
export const refusals = {
  unauthorized: [401, errorBodies.unauthorized],
  forbidden: [403, errorBodies.forbidden],
  notFound: [404, errorBodies.notFound],
  conflict: [409, { code: 'CONFLICT', message: 'The object is being changed by another request' }],
  rateLimited: [429, { code: 'RATE_LIMITED', message: 'Too many requests' }],
  unsupportedMediaType: [415, { code: 'UNSUPPORTED_MEDIA_TYPE', message: 'The body must be JSON or a form, in UTF-8' }],
} as const

/** The refusal of one field. */
export const refusedField = (field: string, message: string, code: string): readonly [number, unknown] => [
  400,
  [{ field, message, code }],
]
