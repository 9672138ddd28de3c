import { HttpError, withHeaders } from '@trestle/common/errors/define-error.ts'
import type { Behaviours } from '../config/behaviours.ts'
import { type AnsweredSession, sessionHeaders } from './session-headers.ts'

/** Names in an error the session that a request had found, or begun, when it was refused. Only the profile supabase names it. */
export function nameInError(
  { sendSessionHeaders: areSent }: Pick<Behaviours, 'sendSessionHeaders'>,
  error: unknown,
  named: AnsweredSession,
): unknown {
  return areSent && error instanceof HttpError ? withHeaders(error, sessionHeaders(named)) : error
}
