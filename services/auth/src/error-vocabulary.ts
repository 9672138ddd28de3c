import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { ErrorVocabulary, InvalidInput } from '@trestle/common/errors/error-handler.ts'
import { isDatabaseUnavailable, isLockTimeout } from '@trestle/database/unavailable.ts'
import type { FastifyRequest } from 'fastify'
import { toEnvelope } from './error-envelope.ts'
import {
  badJson,
  methodNotAllowed,
  notFound,
  requestTimeout,
  requestTooLarge,
  serverBusy,
  serviceUnavailable,
  unexpectedFailure,
  validationFailed,
} from './errors.ts'

/** What this service says when something goes wrong before or beside its routes. */
export const vocabulary: ErrorVocabulary = {
  envelope: (error, request) =>
    toEnvelope(error, {
      apiVersion: headerOf(request, 'x-supabase-api-version') ?? headerOf(request, 'x-auth-api-version'),
      isTokenRequest: Boolean(request?.routeOptions.config.oauthNames),
      requestId: request?.id ?? '',
    }),
  invalid: toInvalid,
  malformed: (cause) => validationFailed({ message: 'Malformed request', cause }),
  tooLarge: (cause, { routeOptions }) =>
    requestTooLarge({ message: `Request body too large (max ${routeOptions.bodyLimit} bytes)`, cause }),
  unsupportedMediaType: (cause) => validationFailed({ message: 'Unsupported content type', cause }),
  notFound: () => notFound(),
  methodNotAllowed: toMethodNotAllowed,
  unavailable: (cause) => serviceUnavailable({ cause }),
  busy: () => serverBusy(),
  timedOut: (cause) => requestTimeout({ cause }),
  unexpected: (cause) => unexpectedFailure({ cause }),
  isUnavailable: (error) => isDatabaseUnavailable(error) || isLockTimeout(error),
}

/** OPTIONS is answered at every path, known or not, for CORS; it makes no path a known one. */
function toMethodNotAllowed(allow: readonly string[]): HttpError {
  const methods = allow.filter((method) => method !== 'OPTIONS')
  return methods.length === 0 ? notFound() : methodNotAllowed({ headers: { allow: methods.join(', ') } })
}

/** A body whose known fields have another type is answered like one that is no JSON; anything else names the place. */
function toInvalid({ context, issues }: InvalidInput): HttpError {
  const [issue] = issues
  const place = issue?.path.join('.') ?? ''
  const message = issue?.message ?? 'not valid'
  if (context !== 'body') return validationFailed({ message: place === '' ? message : `${place}: ${message}` })
  // What has been parsed is an object: only a missing body is refused as a whole.
  const reason = place === '' ? 'the body is empty' : `${place}: ${message}`
  return badJson({ message: `Could not parse request body as JSON: ${reason}` })
}

function headerOf(request: FastifyRequest | undefined, name: string): string | undefined {
  const value = request?.headers[name]
  return typeof value === 'string' ? value : undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether errors of the route also carry the names of RFC 6749 (reference: OAuth error names). */
    oauthNames?: boolean
  }
}
