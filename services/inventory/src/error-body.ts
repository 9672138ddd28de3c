import type { ErrorFactory, HttpError } from '@trestle/common/errors/define-error.ts'
import type { ErrorVocabulary, InvalidInput } from '@trestle/common/errors/error-handler.ts'
import { isDatabaseUnavailable, isLockTimeout } from '@trestle/database/unavailable.ts'
import { type CallError, ValidationError } from '@trestle/endpoints/endpoints.ts'
import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { z } from 'zod'
import * as errors from './errors.ts'
import {
  type Issue,
  limitTooHigh,
  operatorForbidden,
  operatorUnauthorized,
  unsupportedFileType,
  validationError,
} from './errors.ts'
import { FIELD_TEXTS, ISSUES_MAX } from './field-errors.ts'
import { ImportReportView } from './imports/import-report.ts'

const Quantity = z.int().min(0)
const IssueView = z.object({
  path: z.string().meta({ description: 'Keys joined with dots; empty for the request as a whole' }),
  message: z.string().meta({ description: 'What the value must be' }),
})

/** The body of every answer with a status of 400 or above. */
export const ErrorView = z
  .object({
    statusCode: z.int().min(400).max(599).meta({ description: 'The status of the answer' }),
    error: z.object({
      type: z.string().meta({ description: 'The code of the error, which never changes' }),
      description: z.string().meta({ description: 'What is wrong, for people' }),
      issues: z
        .array(IssueView)
        .max(ISSUES_MAX)
        .optional()
        .meta({ description: 'What is wrong with each value, with VALIDATION_ERROR' }),
      available: Quantity.optional().meta({ description: 'How much is available, with INSUFFICIENT_STOCK' }),
      reserved: Quantity.optional().meta({ description: 'How much is reserved, where a count is below it' }),
      current: Quantity.optional().meta({ description: 'How much is on hand, with STALE_QUANTITY' }),
      remaining: Quantity.optional().meta({ description: 'How much is left of the reservation' }),
      line: z.int().min(0).optional().meta({ description: 'Which line of several was refused, from 0' }),
      report: ImportReportView.optional().meta({ description: 'What became of each record of an import' }),
      action: z.string().optional().meta({ description: 'What the operator may not do, with OPERATOR_FORBIDDEN' }),
      role: z.string().optional().meta({ description: 'The role of the operator, with OPERATOR_FORBIDDEN' }),
    }),
  })
  .meta({ id: 'Error' })

/** Returns `{ statusCode, error: { type, description } }`. `error` also contains the details. */
export function errorBody({ status, code, message, details }: HttpError): z.output<typeof ErrorView> {
  return { statusCode: status, error: { type: code, description: message, ...details } }
}

/** The errors and the envelope of this service, for the shared error handler. */
export const errorVocabulary = {
  envelope: errorBody,
  invalid: ({ issues }) => invalidBySchema(toIssues(issues)),
  malformed,
  tooLarge: (cause) => byStatus[413]({ cause }),
  uriTooLong: (cause) => byStatus[414]({ cause }),
  unsupportedMediaType: (cause) => byStatus[415]({ cause }),
  notFound: () => errors.notFound({}),
  methodNotAllowed: (allow) => byStatus[405]({ headers: { Allow: allow.join(', ') } }),
  unavailable: (cause) => errors.serviceUnavailable({ cause }),
  busy: () => errors.serverBusy(),
  timedOut: (cause) => errors.serviceUnavailable({ cause }),
  bodyTimedOut: (cause) => errors.requestTimeout({ cause }),
  unexpected: (cause) => errors.serverError({ cause }),
  // The database is unavailable, too slow or too contended. All these states are temporary.
  isUnavailable: (error) => isDatabaseUnavailable(error) || isLockTimeout(error),
} satisfies ErrorVocabulary

/** Maps a framework error to an error of this service. @param contentType of the request */
export function fromCallError(error: CallError, contentType: string | undefined): HttpError {
  const { status, message, headers } = error
  const issues = error instanceof ValidationError ? error.issues : []
  const [first, ...others] = isJsonAsForm(issues, contentType) ? [JSON_AS_FORM] : issues
  if (first !== undefined) return invalidBySchema([first, ...others])
  const factory = errorsByStatus[status]
  if (factory !== undefined) return factory({ headers, cause: error })
  if (status === 400) return errors.malformedRequest({ problem: message }, { cause: error })
  return errorVocabulary.unexpected(error)
}

/**
 * Returns the error for values that a schema refuses, of the framework or of the service. Both use this function, because each
 * error must be created on only one line.
 */
function invalidBySchema(issues: readonly [Issue, ...Issue[]]): HttpError {
  return validationError(issues)
}

const JSON_AS_FORM: Issue = { path: '', message: FIELD_TEXTS.jsonAsForm }

/**
 * Whether a client, such as curl, sent JSON with the content type of a form. The form's names then contain the JSON with its
 * values, which an error must not repeat.
 */
function isJsonAsForm(issues: readonly Issue[], contentType = ''): boolean {
  if (!/^application\/x-www-form-urlencoded\b/i.test(contentType)) return false
  return issues.some(({ path, message }) => message.startsWith(VALUE_TEXTS.unknown) && /^\s*[[{]/.test(path))
}

const byStatus = {
  403: errors.originNotAllowed,
  405: errors.methodNotAllowed,
  413: errors.payloadTooLarge,
  414: errors.uriTooLong,
  415: errors.unsupportedMediaType,
  501: errors.notImplemented,
} as const
const errorsByStatus: Readonly<Record<number, ErrorFactory>> = byStatus

/** Errors of the router and of Node.js arrive here too, and have different codes. */
function malformed(cause: unknown): HttpError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return errorVocabulary.uriTooLong(cause)
  if (code === 'HPE_HEADER_OVERFLOW') return errors.headersTooLarge({ cause })
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return errorVocabulary.bodyTimedOut(cause)
  return errors.badRequest({ cause })
}

function toIssues(issues: InvalidInput['issues']): readonly [Issue, ...Issue[]] {
  const [first = { path: '', message: FIELD_TEXTS.invalid }, ...others] = issues.map(({ path, message }) => ({
    path: path.join('.'),
    message,
  }))
  return [first, ...others]
}

/** The operation and the status of an error example. */
interface FailedOperation {
  readonly operationId: string
  readonly status: string
}

/** The pattern of the operation ids that may answer with this error. */
type Example = readonly [operations: RegExp, error: () => HttpError]

const ANY = /^/

/** Examples by status. The first entry with a matching pattern applies. */
const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  400: [
    [/^get(?:Products|Stock|Movements|Reservations|Locations|Users)$/, () => limitTooHigh(500)],
    [ANY, errors.badRequest],
  ],
  401: [
    [/Operator/, operatorUnauthorized],
    [ANY, errors.missingToken],
  ],
  403: [
    [/Operator/, () => operatorForbidden({ details: { action: 'products.import', role: 'viewer' } })],
    [/^get/, errors.readScopeMissing],
    [ANY, errors.writeScopeMissing],
  ],
  404: [
    [/^getMovements/, errors.movementNotFound],
    [/Reservations.*WithReservationId$/, errors.reservationNotFound],
    [/Locations/, errors.locationNotFound],
    [/Users/, errors.userNotFound],
    [/ImportsWithImportId$/, errors.importNotFound],
    [/Products|Stock|Movements|Reservations/, errors.productNotFound],
    [ANY, () => errors.notFound({})],
  ],
  406: [[ANY, errors.notAcceptable]],
  408: [[ANY, errors.requestTimeout]],
  409: [
    [/^deleteProducts/, errors.productInStock],
    [/Products/, errors.duplicateSku],
    [/^deleteLocations/, errors.locationHasStock],
    [/Locations/, errors.duplicateCode],
    [/ReservationsCommit/, () => errors.aboveRemaining({ details: { remaining: 1 } })],
    [/^deleteReservations/, errors.reservationCommitted],
    [ANY, () => errors.insufficientStock({ details: { available: 2 } })],
  ],
  412: [
    [/Locations/, errors.locationChanged],
    [ANY, errors.productChanged],
  ],
  413: [[ANY, errors.payloadTooLarge]],
  414: [[ANY, errors.uriTooLong]],
  415: [
    [/Imports?$/, unsupportedFileType],
    [ANY, errors.unsupportedMediaType],
  ],
  422: [[ANY, errors.keyMismatch]],
  428: [[ANY, errors.preconditionRequired]],
  429: [[ANY, errors.tooManyRequests]],
  431: [[ANY, errors.headersTooLarge]],
  500: [[ANY, errors.serverError]],
  503: [
    [/^getReady$/, () => errors.notReady({ state: 'draining' })],
    [ANY, errors.serviceUnavailable],
  ],
}

/** Returns the example of an operation's error with this status. @throws Error if there is none */
export function exampleOfError({ operationId, status }: FailedOperation): HttpError {
  const [, error] = EXAMPLES[status]?.find(([operations]) => operations.test(operationId)) ?? []
  if (error === undefined) throw new Error(`there is no example of an error with the status ${status}`)
  return error()
}
