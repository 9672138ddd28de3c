import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { ErrorVocabulary } from '@trestle/common/errors/error-handler.ts'
import * as errors from './errors.ts'

/** The console's errors for the shared error handler. Pages show the same errors as HTML. */
export const errorVocabulary: ErrorVocabulary = {
  envelope: ({ code, message }) => ({ code, message }),
  invalid: () => errors.valuesInvalid(),
  malformed: (cause) => errors.requestMalformed({ cause }),
  tooLarge: (cause) => errors.bodyTooLarge({ cause }),
  unsupportedMediaType: (cause) => errors.mediaTypeUnsupported({ cause }),
  notFound: () => errors.pageNotFound(),
  unavailable: busy,
  busy,
  timedOut: busy,
  unexpected: (cause) => errors.consoleFailed({ cause }),
  // The console has no database. For unavailable services it has its own errors.
  isUnavailable: () => false,
}

function busy(cause?: unknown): HttpError {
  return errors.consoleBusy({ cause })
}
