import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { serviceUnavailable } from './errors.ts'

/**
 * The error while something is missing that a request needs: the database, the keys of tokens, a place for a
 * file, a turn. Only the log gets the cause.
 */
export function unavailable(cause: unknown): HttpError {
  return serviceUnavailable({ cause })
}
