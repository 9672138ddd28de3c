import {
  type AskedOptions,
  createAuthenticator,
  type Misbehaviour,
  type SoftwareAuthenticator,
} from '@trestle/testing/software-authenticator.ts'
import type { LightMyRequestResponse } from 'fastify'
import { expectFailure, type FailingRequest, type Failure } from './expect-failure.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { createSignedIn, type SignedIn } from './signed-in.ts'

type Headers = SignedIn['headers']

/** A user with a passkey, its authenticator, and a session from a password sign-in. */
export interface PasskeyOwner extends SignedIn {
  readonly key: SoftwareAuthenticator
  readonly passkeyId: string
}

/** The service with passkeys enabled, at most three per user. */
export interface PasskeyApp extends MailApp {
  /** Starts to register a passkey. @returns the body of the answer */
  start(headers: Headers): Promise<Question>
  /** Starts a sign-in. @returns the body of the answer */
  ask(): Promise<Question>
  register(headers: Headers, key: SoftwareAuthenticator, wrong?: Misbehaviour): Promise<LightMyRequestResponse>
  signInBy(key: SoftwareAuthenticator, wrong?: Misbehaviour): Promise<LightMyRequestResponse>
  createWithPasskey(): Promise<PasskeyOwner>
  fail(request: FailingRequest, failure: Failure): Promise<void>
}

interface Question {
  readonly challenge_id: string
  readonly options: AskedOptions
  readonly expires_at: number
}

/** The paths: `start` and `finish` register a passkey, the others sign in. */
export const paths = {
  start: '/passkeys/registration/options',
  finish: '/passkeys/registration/verify',
  signIn: '/passkeys/authentication/options',
  signInFinish: '/passkeys/authentication/verify',
} as const

/** The refusals of passkeys: status, code and text. */
export const failures = {
  refused: [400, 'webauthn_verification_failed', 'WebAuthn response could not be verified'],
  challengeNotFound: [400, 'webauthn_challenge_not_found', 'WebAuthn challenge not found'],
  expired: [400, 'webauthn_challenge_expired', 'WebAuthn challenge has expired, please start again'],
  taken: [422, 'webauthn_credential_exists', 'This passkey is registered already'],
  tooMany: [422, 'too_many_passkeys', 'Maximum number of passkeys reached, delete one to continue'],
  unknown: [404, 'webauthn_credential_not_found', 'Passkey not found'],
  needsAal2: [403, 'insufficient_aal', 'AAL2 session is required to manage passkeys when MFA is enabled'],
} as const

/** Opens the service as the relying party `app.example.com`, with two origins. */
export async function openPasskeyApp(): Promise<PasskeyApp> {
  const app = await openMailApp({
    AUTH_DB_NAMESPACE: 'app',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_PASSKEY_ENABLED: 'true',
    AUTH_PASSKEY_MAX_PASSKEYS_PER_USER: '3',
    AUTH_WEBAUTHN_RP_ID: 'app.example.com',
    AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'The App',
    AUTH_WEBAUTHN_RP_ORIGINS: 'https://app.example.com, http://localhost:3000',
  })
  const start: PasskeyApp['start'] = async (headers) => (await app.post(paths.start, {}, headers)).json()
  const ask: PasskeyApp['ask'] = async () => (await app.post(paths.signIn, {})).json()
  const register: PasskeyApp['register'] = async (headers, key, wrong = {}) => {
    const { challenge_id, options } = await start(headers)
    return app.post(paths.finish, { challenge_id, credential: key.create(options, wrong) }, headers)
  }
  return {
    ...app,
    start,
    ask,
    register,
    signInBy: async (key, wrong = {}) => {
      const { challenge_id, options } = await ask()
      return app.post(paths.signInFinish, { challenge_id, credential: key.get(options, wrong) })
    },
    createWithPasskey: async () => {
      const signedIn = await createSignedIn(app)
      const key = createAuthenticator()
      const passkeyId: string = (await register(signedIn.headers, key)).json().id
      return { ...signedIn, key, passkeyId }
    },
    fail: (request, failure) => expectFailure(app, request, failure),
  }
}
