import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { signupDisabled, userBanned } from '../errors.ts'
import { externalEmailUnverified } from '../external-errors.ts'
import { type RedirectParameters, withFormFragment, withFragment, withQuery } from './redirect-url.ts'
import { oauthErrorName, type RedirectSession } from './verify-redirect.ts'

export interface ExternalSession {
  readonly session: RedirectSession
  readonly provider: string
  readonly tokens: { readonly access: string; readonly refresh: string | undefined }
}

/** Where a sign-in at a provider ends (reference: Callback redirects). */
export function externalSessionRedirect(target: string, { session, provider, tokens }: ExternalSession): string {
  return withFragment(target, {
    access_token: session.access_token,
    refresh_token: session.refresh_token,
    provider_token: tokens.access,
    expires_in: String(session.expires_in),
    provider,
    token_type: session.token_type,
    expires_at: String(session.expires_at),
    ...(tokens.refresh === undefined ? {} : { provider_refresh_token: tokens.refresh }),
    sb: '',
  })
}

/** What a person may have to do something about: not a failure of the request. */
const DENIALS: ReadonlySet<string> = new Set([signupDisabled.code, userBanned.code, externalEmailUnverified.code])

/** Where a failed sign-in ends (reference: Error redirects). A server reads the query, a page the fragment. */
export function callbackFailureRedirect(target: string, error: HttpError): string {
  const parameters = failureParameters(error)
  return withFormFragment(withQuery(target, parameters), { ...parameters, sb: '' })
}

/** Where a browser goes that comes back to no flow: where the flow wanted to end is not known. */
export function unknownFlowRedirect(siteUrl: string, error: HttpError): string {
  return withQuery(siteUrl, failureParameters(error))
}

function failureParameters({ status, code, message, details }: HttpError): RedirectParameters {
  const name = DENIALS.has(code) ? 'access_denied' : (oauthErrorName(status) ?? 'server_error')
  return {
    // The provider's own, where it was the one that refused.
    error: typeof details.error === 'string' ? details.error : name,
    error_code: code,
    error_description: message,
  }
}
