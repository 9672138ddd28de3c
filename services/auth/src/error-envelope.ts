import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { z } from 'zod'

/** What the form of an error body depends on. */
export interface EnvelopeContext {
  /** The header X-Supabase-Api-Version, as sent. */
  readonly apiVersion: string | undefined
  /** Failures of `POST /token` also carry the names of RFC 6749. */
  readonly isTokenRequest: boolean
  readonly requestId: string
}

/** The version from which errors carry their code as a string. Also what the answer's header says. */
export const API_VERSION = '2024-01-01'

const date = z.iso.date()

/** What some errors say besides. */
const more = {
  error_id: z.string().optional().meta({ description: 'of a 5xx: the id of the request' }),
  weak_password: z.object({ reasons: z.array(z.string()) }).optional(),
  error: z.string().optional().meta({ description: 'of /token: the name in RFC 6749' }),
  error_description: z.string().optional(),
}

/** An error body of either version. */
const ErrorView = z
  .union([
    z.object({
      code: z.int().meta({ description: 'the status' }),
      error_code: z.string(),
      msg: z.string(),
      ...more,
    }),
    z.object({ code: z.string().meta({ description: 'the error code' }), message: z.string(), ...more }),
  ])
  .meta({ id: 'AuthError' })

/** An answer that tells an error, for the API document. */
export const errorSchema = {
  description: '`{code, error_code, msg}`, or with X-Supabase-Api-Version `{code, message}`',
  content: { 'application/json': { schema: ErrorView } },
} as const

/** Whether a client has asked for the newer error bodies. A date that no calendar has is none. */
export function isVersioned(apiVersion: string | undefined): boolean {
  return date.safeParse(apiVersion).success && (apiVersion ?? '') >= API_VERSION
}

/** The body of an error, its members in the documented order (reference: Error bodies). */
export function toEnvelope(error: HttpError, context: EnvelopeContext): Record<string, unknown> {
  const { status, code, message, details } = error
  const body = isVersioned(context.apiVersion)
    ? { code, message, ...details }
    : {
        code: status,
        error_code: code,
        msg: message,
        ...(status >= 500 ? { error_id: context.requestId } : {}),
        ...details,
      }
  return context.isTokenRequest ? { ...body, error: oauthName(error), error_description: message } : body
}

/** The name of an error in RFC 6749, section 5.2 (reference: OAuth error names). */
export function oauthName({ status, code, message }: Pick<HttpError, 'status' | 'code' | 'message'>): string {
  if (status >= 500) return 'server_error'
  if (status === 429) return 'slow_down'
  if (message === 'unsupported_grant_type') return 'unsupported_grant_type'
  if (/(^|_)provider_disabled$/.test(code) || code === 'signup_disabled') return 'unauthorized_client'
  return /^(invalid_credentials|user_banned|(email|phone)_not_confirmed|refresh_token_.*|session_.*|flow_state_.*|bad_code_verifier)$/.test(
    code,
  )
    ? 'invalid_grant'
    : 'invalid_request'
}
