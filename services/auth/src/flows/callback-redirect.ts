import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { externalEmailUnverified, signupDisabled, userBanned } from '../errors.ts'
import { type RedirectParameters, withFormFragment, withFragment, withQuery } from './redirect-url.ts'
import { oauthErrorName, type RedirectSession } from './verify-redirect.ts'

export interface ExternalSession {
  readonly session: RedirectSession
  readonly provider: string
  readonly tokens: { readonly access: string; readonly refresh: string | undefined }
}

/** Where a sign-in at a provider ends (reference: Callback redirects). */
export function externalSessionRedirect(redirectTo: string, { session, provider, tokens }: ExternalSession): string {
  return withFragment(redirectTo, {
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

/** Errors that the user has to resolve: the request itself did not fail. */
const DENIALS: ReadonlySet<string> = new Set([signupDisabled.code, userBanned.code, externalEmailUnverified.code])

/** Where a failed sign-in ends (reference: Error redirects). Servers read the query, pages the fragment. */
export function callbackFailureRedirect(redirectTo: string, error: HttpError): string {
  const parameters = failureParameters(error)
  return withFormFragment(withQuery(redirectTo, parameters), { ...parameters, sb: '' })
}

/** Where a browser goes whose flow is unknown, and with it the redirect of the flow. */
export function unknownFlowRedirect(siteUrl: string, error: HttpError): string {
  return withQuery(siteUrl, failureParameters(error))
}

function failureParameters({ status, code, message, details }: HttpError): RedirectParameters {
  const name = DENIALS.has(code) ? 'access_denied' : (oauthErrorName(status) ?? 'server_error')
  return {
    // Where the provider refused, the name that it gave.
    error: typeof details.error === 'string' ? details.error : name,
    error_code: code,
    error_description: message,
  }
}
