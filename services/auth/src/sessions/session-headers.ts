import type { Behaviours } from '../config/behaviours.ts'

/** How much of a refresh token supabase/auth shows to those who read its logs. */
const PREFIX_LENGTH = 5

/** The session that an answer is about, and its user. A refusal may know less than a session. */
export interface AnsweredSession {
  readonly userId: string
  readonly sessionId?: string | undefined
  readonly refreshToken?: string | undefined
}

/** The headers by which gateways and logs follow a session in the profile supabase. */
export function sessionHeaders({ userId, sessionId, refreshToken }: AnsweredSession): Record<string, string> {
  return {
    'sb-auth-user-id': userId,
    ...(sessionId !== undefined && { 'sb-auth-session-id': sessionId }),
    ...(refreshToken !== undefined && { 'sb-auth-refresh-token-prefix': refreshToken.slice(0, PREFIX_LENGTH) }),
  }
}

/**
 * The header of a refresh in the profile supabase. It is sent with a new refresh token alone, not with a token that the client
 * could have already.
 */
export function refreshHeaders(
  { sendSessionHeaders: areSent }: Pick<Behaviours, 'sendSessionHeaders'>,
  { isNewToken }: { readonly isNewToken: boolean },
): Record<string, string> {
  return areSent && isNewToken ? { 'sb-auth-refresh-token-reuse': 'false' } : {}
}
