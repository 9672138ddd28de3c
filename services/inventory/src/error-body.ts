import type { ErrorFactory, HttpError } from '@trestle/common/errors/define-error.ts'
import type { ErrorVocabulary, InvalidInput } from '@trestle/common/errors/error-vocabulary.ts'
import { isDatabaseUnavailable, isLockTimeout } from '@trestle/database/unavailable.ts'
import { type CallError, ValidationError } from '@trestle/endpoints/endpoints.ts'
import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { z } from 'zod'
import * as errors from './errors.ts'
import { FIELD_TEXTS, ISSUES_MAX } from './field-errors.ts'
import { ImportReportView } from './imports/import-report.ts'
import { type Issue, validationError } from './request-errors.ts'
import { unavailable } from './unavailable.ts'

const Quantity = z.int().min(0)
const IssueView = z.object({
  path: z.string().meta({ description: 'Keys joined with dots; empty for the request as a whole' }),
  message: z.string().meta({ description: 'What the value must be' }),
})

/** The body of every answer with a status from 400 on. */
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

/** The body of an error: `{ statusCode, error: { type, description } }`, whose member `error` also has the details. */
export function errorBody({ status, code, message, details }: HttpError): z.output<typeof ErrorView> {
  return { statusCode: status, error: { type: code, description: message, ...details } }
}

/** The errors and the envelope with which the shared error handler answers in this service. */
export const errorVocabulary = {
  envelope: errorBody,
  invalid: ({ issues }) => invalidBySchema(toIssues(issues)),
  malformed,
  tooLarge: (cause) => byStatus[413]({ cause }),
  uriTooLong: (cause) => byStatus[414]({ cause }),
  unsupportedMediaType: (cause) => byStatus[415]({ cause }),
  notFound: () => errors.notFound({}),
  methodNotAllowed: (allow) => byStatus[405]({ headers: { Allow: allow.join(', ') } }),
  unavailable,
  busy: () => errors.serverBusy(),
  timedOut: unavailable,
  bodyTimedOut: (cause) => errors.requestTimeout({ cause }),
  unexpected: (cause) => errors.serverError({ cause }),
  // The database is away, too slow or too contended. Each of these passes.
  isUnavailable: (error) => isDatabaseUnavailable(error) || isLockTimeout(error),
} satisfies ErrorVocabulary

/**
 * An error of the framework, in the words of this service.
 *
 * @param contentType of the request
 */
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
 * The error for values that a schema refuses: of the framework for controllers, or of the service for other routes. Both share
 * this line, because an error is made on one line.
 */
function invalidBySchema(issues: readonly [Issue, ...Issue[]]): HttpError {
  return validationError(issues)
}

const JSON_AS_FORM: Issue = { path: '', message: FIELD_TEXTS.jsonAsForm }

/**
 * Whether a client, such as curl, sent JSON without its content type. Then the names of the form are the JSON, with its values,
 * which an error must not repeat.
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

/** Errors of the router and of Node.js arrive here too. Their codes tell them apart. */
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
