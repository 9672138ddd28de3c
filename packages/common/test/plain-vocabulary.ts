import type { ErrorVocabulary } from '../src/errors/error-handler.ts'
import { plainErrors } from './plain-errors.ts'

/**
 * The errors of a service that exists only in tests, as the vocabulary of a server. An error with the message `gone` means that a
 * dependency does not answer.
 */
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
