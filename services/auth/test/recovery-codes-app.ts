import type { LightMyRequestResponse } from 'fastify'
import { addApp, type SteppedUpSession } from './authenticator-app.ts'
import { expectFailure, type Failure } from './expect-failure.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { createSignedIn, type SignedIn, signIn } from './signed-in.ts'

type Headers = SignedIn['headers']

/** A user with an authenticator app, a session of aal2, and another session of aal1. */
export type AppOwner = SignedIn & SteppedUpSession & { readonly later: SignedIn }
/** The same user with recovery codes. */
export type CodeOwner = AppOwner & { readonly id: string; readonly codes: readonly string[] }

/** The service with recovery codes enabled. */
export interface RecoveryCodesApp extends MailApp {
  generate(headers: Headers, payload?: object): Promise<LightMyRequestResponse>
  regenerate(headers: Headers): Promise<LightMyRequestResponse>
  verify(headers: Headers, code?: string): Promise<LightMyRequestResponse>
  remove(headers: Headers): Promise<LightMyRequestResponse>
  /** Reads the number of unused codes. @returns the body of the answer */
  readStatus(headers: Headers): Promise<unknown>
  createWithApp(): Promise<AppOwner>
  createWithCodes(): Promise<CodeOwner>
  fail(method: 'GET' | 'POST' | 'DELETE', url: string, headers: Headers, failure: Failure): Promise<void>
}

/** The path of recovery codes, and the prefix of `regenerate` and `verify`. */
export const RECOVERY_CODES = '/factors/recovery-codes'

/** The refusals of recovery codes: status, code and text. */
export const failures = {
  notFound: [404, 'mfa_factor_not_found', 'Factor not found'],
  wrong: [422, 'mfa_verification_failed', 'Invalid recovery code entered'],
  needsAal2: [403, 'insufficient_aal', 'AAL2 required to enroll a new factor'],
} as const

/** Opens the service. It mails users about new and unenrolled factors. */
export async function openRecoveryCodesApp(): Promise<RecoveryCodesApp> {
  const service = await openMailApp({
    AUTH_DB_NAMESPACE: 'app',
    AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
    AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_MFA_FACTOR_ENROLLED_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_MFA_FACTOR_UNENROLLED_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_RECOVERY_CODES_CREATED_ENABLED: 'false',
  })
  const generate: RecoveryCodesApp['generate'] = (headers, payload = {}) =>
    service.post(RECOVERY_CODES, payload, headers)
  const createWithApp: RecoveryCodesApp['createWithApp'] = async () => {
    const signedIn = await createSignedIn(service)
    const steppedUp = await addApp(service, signedIn.headers, 'app')
    // Factors are listed by age, so the codes must be newer than the app.
    service.clock.advance(1)
    return { ...signedIn, ...steppedUp, later: await signIn(service, signedIn) }
  }
  return {
    ...service,
    generate,
    regenerate: (headers) => service.post(`${RECOVERY_CODES}/regenerate`, {}, headers),
    verify: (headers, code) => service.post(`${RECOVERY_CODES}/verify`, { code }, headers),
    remove: (headers) => service.app.inject({ method: 'DELETE', url: RECOVERY_CODES, headers }),
    readStatus: async (headers) => (await service.app.inject({ url: RECOVERY_CODES, headers })).json(),
    createWithApp,
    createWithCodes: async () => {
      const owner = await createWithApp()
      const { id, codes } = (await generate(owner.headers)).json()
      return { ...owner, id, codes }
    },
    fail: (method, url, headers, failure) =>
      expectFailure(service, { method, url, headers, ...(method === 'POST' ? { payload: {} } : {}) }, failure),
  }
}
