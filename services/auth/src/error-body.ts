import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { ErrorVocabulary, InvalidInput } from '@trestle/common/errors/error-handler.ts'
import { isDatabaseUnavailable, isLockTimeout } from '@trestle/database/unavailable.ts'
import { type ApplicationReport, reportOfApplication } from '@trestle/database/violations.ts'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import * as errors from './errors.ts'
import * as externalErrors from './external-errors.ts'
import { fieldText, toFieldError } from './field-errors.ts'
import * as requestErrors from './request-errors.ts'

/** The parts of a request that determine the format of an error body. */
export interface ErrorBodyContext {
  /** The unchanged header X-Supabase-Api-Version. */
  readonly apiVersion: string | undefined
  /**
   * Whether error bodies contain the names of RFC 6749. `beside`: in addition to other members, at `POST /token`. `of id_tokens`:
   * instead of them, as in supabase/auth's refusals of id_tokens.
   */
  readonly oauthNames: 'none' | 'beside' | 'of id_tokens'
  readonly requestId: string
}

/** The first API version whose errors have their code as text. The answer states it in a header too. */
export const API_VERSION = '2024-01-01'

const IsoDate = z.iso.date()

const more = {
  error_id: z.string().optional().meta({ description: 'The id of the request. Only a 5xx has it' }),
  weak_password: z.object({ reasons: z.array(z.string()) }).optional(),
  error: z.string().optional().meta({ description: 'The name of the error in RFC 6749. Only POST /token has it' }),
  error_description: z.string().optional(),
  hint: z.string().optional().meta({ description: 'Of a trigger or a constraint of an application, as is `detail`' }),
  detail: z.string().optional(),
  action: z.string().optional().meta({ description: 'What an operator may not do, by the role in `role`' }),
  role: z.string().optional(),
}

/** An error body of either API version. */
const ErrorView = z
  .union([
    z.object({
      code: z.int().meta({ description: 'The status of the answer' }),
      error_code: z.string(),
      msg: z.string(),
      ...more,
    }),
    z.object({ code: z.string().meta({ description: 'The code of the error' }), message: z.string(), ...more }),
  ])
  .meta({ id: 'AuthError' })

const errorSchema = {
  description: '`{code, error_code, msg}`, or with X-Supabase-Api-Version `{code, message}`',
  content: { 'application/json': { schema: ErrorView } },
} as const

/** The statuses of every operation: a long URL, long headers, an unexpected failure, an outage or full queue, a timeout. */
const ANY_STATUS = [400, 431, 500, 503, 504] as const

/** The error answers of an operation, for the OpenAPI document. */
export function errorAnswers<const Status extends number>(
  ...statuses: readonly Status[]
): Readonly<Record<Status | (typeof ANY_STATUS)[number], typeof errorSchema>> {
  const entries = [...statuses, ...ANY_STATUS].map((status) => [status, errorSchema] as const)
  // `Object.fromEntries` drops the statuses from the type. The line above sets the schema of each.
  return Object.fromEntries(entries) as Record<Status | (typeof ANY_STATUS)[number], typeof errorSchema>
}

/** Whether a client requests the newer error bodies. An invalid date does not count. */
export function isVersioned(apiVersion: string | undefined): boolean {
  return IsoDate.safeParse(apiVersion).success && (apiVersion ?? '') >= API_VERSION
}

/** A refusal by an application's trigger or constraint. Its report is the whole body (reference: Errors of applications). */
class ApplicationError extends HttpError {
  constructor({ code, message, detail, hint }: ApplicationReport, cause: unknown) {
    const status = code.startsWith('PT') ? Number(code.slice(2)) : 500
    super(status, errors.unexpectedFailure.code, { message, details: { code, message, hint, detail }, cause })
  }
}

/** Returns the body of an error, with its members in the documented order (reference: Error bodies). */
export function toErrorBody(error: HttpError, context: ErrorBodyContext): Record<string, unknown> {
  const { status, code, message, details } = error
  if (error instanceof ApplicationError) return details
  const refusal = context.oauthNames === 'of id_tokens' ? OAUTH_REFUSALS.get(message) : undefined
  if (refusal !== undefined) return { error: refusal, error_description: message }
  const body = isVersioned(context.apiVersion)
    ? { code, message, ...details }
    : {
        code: status,
        error_code: code,
        msg: message,
        ...(status >= 500 ? { error_id: context.requestId } : {}),
        ...details,
      }
  return context.oauthNames === 'beside' ? { ...body, error: oauthName(error), error_description: message } : body
}

// Most of these errors have the code of any bad request, so use their texts.
const OAUTH_REFUSALS: ReadonlyMap<string, string> = new Map([
  ...[
    externalErrors.idTokenMissing,
    externalErrors.idTokenSourceMissing,
    externalErrors.idTokenInvalid,
    externalErrors.idTokenAudienceForeign,
    externalErrors.idTokenNonceRequired,
    externalErrors.idTokenNonceUnpaired,
  ].map(({ message }) => [message, 'invalid request'] as const),
  [externalErrors.idTokenNonceWrong.message, 'invalid nonce'],
  [requestErrors.oauthClientRequired.message, requestErrors.oauthClientRequired.code],
])

// These names depend on the error code. An error in a list stands for all errors with its code.
const UNAUTHORIZED_CLIENT = codesOf(
  errors.emailSignInsDisabled,
  errors.phoneSignInsDisabled,
  errors.anonymousDisabled,
  errors.web3Disabled,
  errors.samlDisabled,
  errors.signupDisabled,
  externalErrors.providerDisabled,
)
const INVALID_GRANT = codesOf(
  errors.invalidCredentials,
  errors.userBanned,
  errors.emailNotConfirmed,
  errors.phoneNotConfirmed,
  errors.refreshTokenNotFound,
  errors.refreshTokenAlreadyUsed,
  errors.sessionNotFound,
  errors.sessionExpired,
  errors.flowStateNotFound,
  errors.flowStateExpired,
  errors.badCodeVerifier,
  externalErrors.stateUsed,
)

/** Returns the name of an error in RFC 6749, section 5.2 (reference: OAuth error names). */
export function oauthName({ status, code, message }: Pick<HttpError, 'status' | 'code' | 'message'>): string {
  if (status >= 500) return 'server_error'
  if (status === 429) return 'slow_down'
  // Compare the text, because the code is that of a wrong password.
  if (message === errors.unsupportedGrantType.message) return 'unsupported_grant_type'
  if (code === requestErrors.oauthClientRequired.code) return code
  if (UNAUTHORIZED_CLIENT.has(code)) return 'unauthorized_client'
  return INVALID_GRANT.has(code) ? 'invalid_grant' : 'invalid_request'
}

function codesOf(...factories: readonly { readonly code: string }[]): ReadonlySet<string> {
  return new Set(factories.map(({ code }) => code))
}

/** Errors of failures outside of routes, such as broken HTTP, unknown paths and an unavailable database. */
export const errorVocabulary: ErrorVocabulary = {
  envelope: (error, request) =>
    toErrorBody(error, {
      apiVersion: apiVersionOf(request),
      oauthNames: oauthNamesOf(request),
      requestId: request?.id ?? '',
    }),
  invalid: toInvalid,
  malformed: (cause) => requestErrors.malformedRequest({ cause }),
  tooLarge: (cause, { routeOptions }) => requestErrors.requestTooLarge({ bytesMax: routeOptions.bodyLimit }, { cause }),
  unsupportedMediaType: (cause) => requestErrors.unsupportedContentType({ cause }),
  notFound: toNotFound,
  methodNotAllowed: toMethodNotAllowed,
  unavailable: (cause) => errors.serviceUnavailable({ cause }),
  busy: () => errors.serverBusy(),
  timedOut: (cause) => errors.requestTimeout({ cause }),
  unexpected: (cause, request) => toApplicationError(cause, request) ?? toUnexpected(cause),
  isUnavailable: (error) => isDatabaseUnavailable(error) || isLockTimeout(error),
}

/** Errors of failures in redirects: `errorVocabulary` without the reports of applications. */
export const redirectVocabulary: ErrorVocabulary = {
  ...errorVocabulary,
  unexpected: toUnexpected,
}

function toUnexpected(cause: unknown): HttpError {
  return errors.unexpectedFailure({ cause })
}

/**
 * Returns the error of a statement that an application's trigger or constraint refused, in the profile supabase (reference:
 * Errors of applications). Clients that request the newer bodies do not get the report of the application.
 */
function toApplicationError(cause: unknown, request: FastifyRequest | undefined): HttpError | undefined {
  if (!request?.server.hasDecorator('deps') || isVersioned(apiVersionOf(request))) return undefined
  const { config, names } = request.server.deps
  const report = config.compatibility.showErrorsOfTriggers ? reportOfApplication(cause, names) : undefined
  return report && new ApplicationError(report, cause)
}

function oauthNamesOf(request: FastifyRequest | undefined): ErrorBodyContext['oauthNames'] {
  if (!request?.routeOptions.config.oauthNames) return 'none'
  return request.server.deps.config.compatibility.showOAuthErrorMembers
}

function apiVersionOf(request: FastifyRequest | undefined): string | undefined {
  return headerOf(request, 'x-supabase-api-version') ?? headerOf(request, 'x-auth-api-version')
}

function toNotFound(): HttpError {
  return errors.notFound()
}

/** The service answers OPTIONS at every path because of CORS. So a path that allows only OPTIONS is unknown. */
function toMethodNotAllowed(allow: readonly string[]): HttpError {
  const methods = allow.filter((method) => method !== 'OPTIONS')
  return methods.length === 0 ? toNotFound() : errors.methodNotAllowed({ headers: { allow: methods.join(', ') } })
}

/** Returns the error of a request that violates its schema. A member of a wrong type is `bad_json`, as in GoTrue. */
function toInvalid({ context, issues }: InvalidInput, request: FastifyRequest): HttpError {
  const [first] = issues
  const field = first?.path.join('.') ?? ''
  const issue = first && { ...first.params, code: first.keyword, message: first.message }
  if (context !== 'body' || request.routeOptions.config.namesFields) return toFieldError(field, issue)
  // A parsed body is always an object, so a problem without a member means that the body is missing.
  return field === '' ? requestErrors.bodyEmpty() : requestErrors.bodyFieldInvalid({ field, problem: fieldText(issue) })
}

function headerOf(request: FastifyRequest | undefined, name: string): string | undefined {
  const value = request?.headers[name]
  return typeof value === 'string' ? value : undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether errors of the route also contain the names of RFC 6749 (reference: OAuth error names). */
    oauthNames?: boolean
    /** Whether a wrong member gets `validation_failed` with its name. Otherwise the error is that of invalid JSON. */
    namesFields?: boolean
  }
}
