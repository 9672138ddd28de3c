import { defineError } from '../src/errors/define-error.ts'
import type { ErrorVocabulary } from '../src/errors/error-handler.ts'
import type { Missing } from '../src/lifecycle/readiness.ts'

/** The error vocabulary of a test server. An error with the message `gone` means that a dependency does not answer. */
export const plainVocabulary: ErrorVocabulary = {
  envelope: ({ status, code, message, details }) => ({ status, code, message, ...details }),
  invalid: ({ issues }) => plainErrors.invalid({ details: { paths: issues.map(({ path }) => path.join('.')) } }),
  malformed: (cause) => plainErrors.malformed({ cause }),
  tooLarge: (cause) => plainErrors.tooLarge({ cause }),
  unsupportedMediaType: (cause) => plainErrors.mediaType({ cause }),
  notFound: () => plainErrors.notFound(),
  methodNotAllowed: (allow) => plainErrors.method({ headers: { allow: allow.join(', ') } }),
  unavailable: (cause) => plainErrors.away({ cause }),
  busy: () => plainErrors.busy(),
  timedOut: (cause) => plainErrors.late({ cause }),
  bodyTimedOut: (cause) => plainErrors.slowBody({ cause }),
  unexpected: (cause) => plainErrors.defect({ cause }),
  isUnavailable: (error) => error instanceof Error && error.message === 'gone',
}

/** The errors of a test service. */
export const plainErrors = {
  notFound: defineError(404, 'not_found', 'Not found'),
  method: defineError(405, 'method_not_allowed', 'Method not allowed'),
  malformed: defineError(400, 'malformed', 'Malformed request'),
  invalid: defineError(400, 'invalid', 'Invalid'),
  tooLarge: defineError(413, 'too_large', 'Too large'),
  mediaType: defineError(415, 'media_type', 'Unsupported media type'),
  away: defineError(503, 'away', 'Away', { 'retry-after': '1' }),
  notReady: defineError(
    503,
    'away',
    (missing: Missing) =>
      'state' in missing ? `The process is ${missing.state}` : `The check of ${missing.check} fails`,
    { 'retry-after': '1' },
  ),
  busy: defineError(503, 'busy', 'Busy', { 'retry-after': '1' }),
  late: defineError(504, 'late', 'Late'),
  slowBody: defineError(408, 'slow_body', 'Slow body'),
  defect: defineError(500, 'defect', 'Defect'),
}
