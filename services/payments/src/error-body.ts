import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { ErrorVocabulary } from '@trestle/common/errors/error-handler.ts'
import { STATUS_CODES } from '@trestle/common/server/node-http.ts'
import { isDatabaseUnavailable, isLockTimeout, isRebalancingError } from '@trestle/database/unavailable.ts'
import pg from 'pg'
import { z } from 'zod'
import * as errors from './errors.ts'
import { FIELD_TEXTS } from './field-errors.ts'

const ErrorView = z.object({ code: z.string(), message: z.string() }).meta({ id: 'Error' })

const FieldErrorsView = z
  .array(z.object({ field: z.string(), message: z.string(), code: z.string() }))
  .meta({ id: 'FieldErrors' })

type ErrorStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415
type ErrorAnswers<Status extends number> = {
  readonly [Each in Status]: Each extends 400 ? typeof FieldErrorsView : typeof ErrorView
}

/** The pages of a route by status. The type is open, because handlers send or throw pages as they are. */
type PageAnswers<Status extends number> = { readonly [Each in Status]: unknown }

/** Returns the errors of a route, for its schema. Adds the statuses of all routes with a rate limit. */
export function errorAnswers<const Status extends ErrorStatus>(
  ...statuses: readonly Status[]
): ErrorAnswers<Status | 429 | 500 | 503> {
  return toAnswers([...statuses, 429, 500, 503])
}

/** Returns the errors of a route that no rate limit guards. */
export function errorAnswersWithoutLimit<const Status extends ErrorStatus>(
  ...statuses: readonly Status[]
): ErrorAnswers<Status | 500 | 503> {
  return toAnswers([...statuses, 500, 503])
}

const OperatorForbiddenView = ErrorView.extend({
  action: z.string().describe('What the route does'),
  role: z.string().describe('The role of the operator'),
}).meta({ id: 'OperatorForbidden' })

const OPERATOR_FORBIDDEN = { 403: OperatorForbiddenView.describe('Forbidden') } as const

const RefundLimitView = ErrorView.extend({
  limit: z.int().describe('The most of one refund, in minor units'),
  left: z.int().describe('What is left of the UTC day'),
}).meta({ id: 'RefundLimitExceeded' })

/** The 403 of captures and voids by operators: the console role is too low, or the merchant lacks the permission. */
export const operationForbidden = { 403: z.union([OperatorForbiddenView, ErrorView]).describe('Forbidden') }

export const refundForbidden = {
  403: z.union([OperatorForbiddenView, RefundLimitView, ErrorView]).describe('Forbidden'),
}

type OperatorAnswers<Status extends number> = {
  readonly [Each in Status]: Each extends 403 ? typeof OperatorForbiddenView : ErrorAnswers<Each>[Each]
}

/** Returns the errors of a route for operators, for its schema. Adds the statuses that all these routes have. */
export function operatorAnswers<const Status extends ErrorStatus = never>(
  ...statuses: readonly Status[]
): OperatorAnswers<Status | 401 | 404 | 429 | 500 | 503> {
  const forbidden = statuses.some((status) => status === 403) ? OPERATOR_FORBIDDEN : {}
  // The spread drops the statuses from the type.
  return { ...toAnswers([401, 404, ...statuses, 429, 500, 503]), ...forbidden } as OperatorAnswers<
    Status | 401 | 404 | 429 | 500 | 503
  >
}

/**
 * The views of errors by status. All routes share them, because creating them for each route would take a tenth of the start
 * time.
 */
const ERROR_ANSWERS: ReadonlyMap<number, z.ZodType> = new Map(
  [400, 401, 403, 404, 409, 413, 415, 429, 500, 503].map((status) => [
    status,
    (status === 400 ? FieldErrorsView : ErrorView).describe(STATUS_CODES[status] ?? ''),
  ]),
)

function toAnswers<Status extends number>(statuses: readonly Status[]): ErrorAnswers<Status> {
  const views = statuses.map((status) => [status, ERROR_ANSWERS.get(status)])
  // `Object.fromEntries` drops the statuses from the type. The map above has a view for each of them.
  return Object.fromEntries(views) as ErrorAnswers<Status>
}

/** Returns the answers of a page for browsers, for its schema. They are HTML, and the errors are JSON. */
export function pageAnswers<const Status extends number>(...statuses: readonly Status[]): PageAnswers<Status> {
  const answers = statuses.map((status) => [status, { description: describePage(status), content: PAGE }])
  // `Object.fromEntries` drops the statuses from the type.
  return Object.fromEntries(answers) as PageAnswers<Status>
}

const PAGE = { 'text/html': { schema: z.string() } } as const

function describePage(status: number): string {
  return status < 400 ? 'A page' : `A page that says what is wrong: ${STATUS_CODES[status]}`
}

/**
 * Returns the errors of a path that is a page only at one host, or only if its parameter can be decoded. Otherwise the errors are
 * JSON.
 */
export function pageOrErrorAnswers<const Status extends number>(...statuses: readonly Status[]): PageAnswers<Status> {
  const content = { ...PAGE, 'application/json': { schema: ErrorView } }
  const answers = statuses.map((status) => [status, { description: STATUS_CODES[status], content }])
  // `Object.fromEntries` drops the statuses from the type.
  return Object.fromEntries(answers) as PageAnswers<Status>
}

export const redirectAnswer = { 303: z.undefined().describe('The browser goes on to the next page') }

const ProcessingErrorView = z
  .object({
    code: z.int(),
    message: z.string(),
    text: z.string(),
    client: z.boolean(),
    merchant: z.boolean(),
  })
  .meta({ id: 'ProcessingError' })

const CheckoutErrorView = ErrorView.extend({
  path: z.string().optional().meta({ description: 'Which field holds the token that is refused' }),
  scheme: z.string().nullable().optional().meta({ description: 'The scheme of the card' }),
  supported: z.array(z.string()).optional().meta({ description: 'The schemes that are taken' }),
  error: ProcessingErrorView.optional(),
}).meta({ id: 'CheckoutError' })

type CheckoutStatus = 400 | 413 | 429 | 500 | 503

type CheckoutAnswers<Status extends number> = { readonly [Each in Status]: typeof CheckoutErrorView }

/** Returns the errors of a checkout endpoint, for its schema. Adds the statuses that all these endpoints have. */
export function checkoutErrors<const Status extends 404 | 409 = never>(
  ...statuses: readonly Status[]
): CheckoutAnswers<CheckoutStatus | Status> {
  const views = [400, ...statuses, 413, 429, 500, 503].map((status) => [
    status,
    CheckoutErrorView.describe(STATUS_CODES[status] ?? ''),
  ])
  // `Object.fromEntries` drops the statuses from the type. The line above sets the view of each of them.
  return Object.fromEntries(views) as CheckoutAnswers<CheckoutStatus | Status>
}

export const chargeRefusal = { 400: z.union([FieldErrorsView, ProcessingErrorView]).describe('Bad Request') }

export const errorVocabulary: ErrorVocabulary = {
  envelope: ({ code, message, details }) => details.fields ?? details.body ?? { code, message, ...details },
  layOut,
  // The plugin `read-request` validates bodies and queries. This handler is for the schemas of other parts, which refuse no
  // request.
  invalid: ({ context }) => errors.invalidFields([{ field: context, message: FIELD_TEXTS.invalid, code: 'FORMAT' }]),
  malformed,
  tooLarge: (cause) => errors.payloadTooLarge({ cause }),
  unsupportedMediaType: (cause) => errors.unsupportedMediaType({ cause }),
  notFound: () => errors.endpointNotFound(),
  unavailable,
  busy: () => errors.serverBusy(),
  timedOut: unavailable,
  bodyTimedOut: (cause) => errors.requestTimeout({ cause }),
  uriTooLong: (cause) => errors.uriTooLong({ cause }),
  unexpected: (cause) => {
    if (isLockTimeout(cause)) return errors.conflict({ cause })
    if (isBalanceBeyondLimit(cause)) return errors.balanceBeyondLimit(cause)
    return isRecordChanged(cause) ? errors.recordChanged({ cause }) : errors.internalError({ cause })
  },
  isUnavailable: isDatabaseUnavailable,
}

/** Returns whether a row differs from its last recorded state (SQL function `expect_recorded`). */
function isRecordChanged(cause: unknown): boolean {
  return cause instanceof pg.DatabaseError && cause.code === 'TL001'
}

/** Returns whether a balance would exceed the limit of its column (SQL function `post`). */
function isBalanceBeyondLimit(cause: unknown): boolean {
  return cause instanceof pg.DatabaseError && cause.code === 'TL002'
}

/**
 * Returns the 503 for an unavailable dependency or a slow handler. During a rebalance, every write is refused for the same
 * reason. The service logs this reason once, so the error of each refused write has no cause to log.
 */
function unavailable(cause: unknown): HttpError {
  const isRefusal = isRebalancingError(cause) && cause.cause === undefined
  return errors.serviceUnavailable(isRefusal ? {} : { cause })
}

/** Returns 404 for a path with broken percent-encoding, because such a path names no endpoint. */
function malformed(cause: unknown): HttpError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'FST_ERR_BAD_URL') return errorVocabulary.notFound()
  return errors.bodyMalformed(cause)
}

/**
 * Returns the exact text of an answer. An object or an error is one line that ends in a newline. A list has one element per line,
 * because the official Node client parses it line by line (reference: Layout of answers).
 */
export function layOut(payload: unknown, status: number): string {
  if (!Array.isArray(payload) || status >= 400) return `${JSON.stringify(payload)}\n`
  return payload.length === 0 ? '[\n]\n' : `[\n${payload.map((item) => JSON.stringify(item)).join(',\n')}\n]\n`
}
