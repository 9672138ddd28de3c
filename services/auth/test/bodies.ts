import type { LightMyRequestResponse } from 'fastify'
import { expect } from 'vitest'

/** Whole response bodies for tests. Each function takes the differences from its defaults. `undefined` removes a member. */
type Members = Readonly<Record<string, unknown>>

type Answer = Pick<LightMyRequestResponse, 'statusCode' | 'headers' | 'body'>

export const anyId: string = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
)
/** Any time in the format of responses. */
export const anyTime: string = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/)
export const anyJwt: string = expect.stringMatching(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/)
/** Any refresh token: 32 base64url characters. */
export const anyRefreshToken: string = expect.stringMatching(/^[\w-]{32}$/)

/** The status and body of a response. A body that is not JSON is text, and empty for HEAD. */
export function statusAndBody({ statusCode, headers, body }: Answer): readonly [status: number, body: unknown] {
  const isJson = body !== '' && /json/.test(String(headers['content-type']))
  return [statusCode, isJson ? JSON.parse(body) : body]
}

/** An error body (reference: Error bodies). */
export function errorBody(status: number, code: string, text: string, details: Members = {}): Members {
  return { code: status, error_code: code, msg: text, ...details }
}

/** An error body of `POST /token`, with the OAuth 2.0 error. */
export function grantErrorBody(error: string, code: string, text: string, status = 400): Members {
  return { ...errorBody(status, code, text), error, error_description: text }
}

/** 200, or the status and body of an error. */
export const outcomeOf = (answer: Answer): unknown => (answer.statusCode === 200 ? 200 : statusAndBody(answer))

/** The status and body of each error. */
export const refusalsIn = (answers: readonly Answer[]): readonly unknown[] =>
  answers.filter(({ statusCode }) => statusCode >= 400).map(statusAndBody)

/** The statuses and bodies of unordered responses: successes first, then errors. */
export const answersByStatus = (answers: readonly Answer[]): readonly unknown[] =>
  answers.toSorted((a, b) => a.statusCode - b.statusCode).map(statusAndBody)

/** Checks the status and returns the body. */
export function expectBody(status: number, answer: LightMyRequestResponse) {
  expect(answer.statusCode, answer.body).toBe(status)
  return answer.json()
}

/** The status and error for a wrong password. */
export const wrongPassword = [400, grantErrorBody('invalid_grant', 'invalid_credentials', 'Invalid login credentials')]

/** The status and error for an unknown refresh token, or one with an ended session. */
export const unknownRefreshToken = [
  400,
  grantErrorBody('invalid_grant', 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
]

/** A user record, by default without an address. */
export function userBody(members: Members = {}): Members {
  return {
    id: anyId,
    aud: 'authenticated',
    role: 'authenticated',
    email: '',
    phone: '',
    app_metadata: { provider: 'email', providers: ['email'] },
    user_metadata: {},
    identities: [],
    created_at: anyTime,
    updated_at: anyTime,
    is_anonymous: false,
    ...members,
  }
}

/** The record of a user with one confirmed address. */
export function confirmedBody(id: unknown, email: unknown, members: Members = {}): Members {
  return userBody({
    id,
    email,
    email_confirmed_at: anyTime,
    confirmed_at: anyTime,
    identities: [emailIdentity(id, email, { email_verified: true })],
    ...members,
  })
}

/** The record of a user with one address, to which a confirmation was sent. */
export function unconfirmedBody(email: unknown, members: Members = {}): Members {
  const { id = anyId } = members
  return userBody({ email, confirmation_sent_at: anyTime, identities: [emailIdentity(id, email)], ...members })
}

/** The record of a user with one phone number, confirmed by a code. */
export function phoneBody(phone: unknown, members: Members = {}): Members {
  return userBody({
    phone,
    phone_confirmed_at: anyTime,
    confirmation_sent_at: anyTime,
    confirmed_at: anyTime,
    app_metadata: { provider: 'phone', providers: ['phone'] },
    identities: [phoneIdentity(anyId, phone, { phone_verified: true })],
    ...members,
  })
}

interface UserWithEmail {
  /** Default: a user with any id. */
  readonly user?: { readonly id: string }
  readonly email: string | null
}

/** The record of a user from `createSignedUp`. */
export function signedUpBody({ user, email }: UserWithEmail, members: Members = {}): Members {
  const own = { confirmation_sent_at: anyTime, user_metadata: { name: 'Ann' } }
  return confirmedBody(user?.id ?? anyId, email, { ...own, ...members })
}

/** An external identity in a user record. */
export function identityBody(members: Members): Members {
  return {
    identity_id: anyId,
    id: anyId,
    user_id: anyId,
    identity_data: {},
    last_sign_in_at: anyTime,
    created_at: anyTime,
    updated_at: anyTime,
    ...members,
  }
}

/** The identity of an email, by default not verified. */
export function emailIdentity(id: unknown, email: unknown, data: Members = {}): Members {
  return ownIdentity('email', id, { email, ...data }, { email })
}

/** The identity of a phone, by default not verified. */
export function phoneIdentity(id: unknown, phone: unknown, data: Members = {}): Members {
  return ownIdentity('phone', id, { phone, ...data })
}

function ownIdentity(provider: string, id: unknown, data: Members, members: Members = {}): Members {
  const identity_data = { sub: id, email_verified: false, phone_verified: false, ...data }
  return identityBody({ id, user_id: id, identity_data, provider, last_sign_in_at: undefined, ...members })
}

/** The record of a user of an external provider that has verified the address. */
export function externalBody(provider: string, data: Members, members: Members = {}): Members {
  const { email } = data
  return userBody({
    email,
    email_confirmed_at: anyTime,
    confirmed_at: anyTime,
    last_sign_in_at: anyTime,
    app_metadata: { provider, providers: [provider] },
    user_metadata: data,
    identities: [identityBody({ id: data.sub, identity_data: data, provider, email })],
    ...members,
  })
}

/** The data of an identity at an external provider, by default with a verified address. */
export function accountBody(members: Members): Members {
  return { provider_id: members.sub, email_verified: true, phone_verified: false, ...members }
}

/** The URL fragment at the end of a flow with a session. */
export function fragmentBody(provider: string, members: Members = {}): Members {
  return {
    access_token: anyJwt,
    refresh_token: anyRefreshToken,
    expires_in: '3600',
    expires_at: expect.stringMatching(/^\d+$/),
    provider,
    token_type: 'bearer',
    sb: '',
    ...members,
  }
}

export function factorBody(members: Members = {}): Members {
  return {
    id: anyId,
    created_at: anyTime,
    updated_at: anyTime,
    status: 'verified',
    factor_type: 'totp',
    phone: '',
    last_challenged_at: null,
    ...members,
  }
}

/** A session with its user, after a sign-in (reference: Session object). */
export function sessionBody(user: Members, members: Members = {}): Members {
  return {
    access_token: anyJwt,
    token_type: 'bearer',
    expires_in: 3600,
    expires_at: expect.any(Number),
    refresh_token: anyRefreshToken,
    user: { last_sign_in_at: anyTime, ...user },
    ...members,
  }
}

/** A session in an operator's list, from a sign-in by password. */
export function listedSessionBody(id: unknown): Members {
  return {
    id,
    created_at: anyTime,
    refreshed_at: null,
    aal: 'aal1',
    amr: [amrEntry('password')],
    ip: '127.0.0.1',
    user_agent: 'lightMyRequest',
  }
}

export function claimsBody(members: Members = {}): Members {
  return {
    iss: 'http://localhost:8081',
    sub: anyId,
    aud: 'authenticated',
    iat: expect.any(Number),
    exp: expect.any(Number),
    email: '',
    phone: '',
    app_metadata: { provider: 'email', providers: ['email'] },
    user_metadata: {},
    role: 'authenticated',
    aal: 'aal1',
    session_id: anyId,
    is_anonymous: false,
    ...members,
  }
}

export function amrEntry(method: string): Members {
  return { method, timestamp: expect.any(Number) }
}

/** The providers in `GET /settings`, all switched off. */
export const PROVIDERS_OFF: Members = Object.fromEntries(
  'apple azure bitbucket discord facebook figma github gitlab google keycloak linkedin notion slack snapchat spotify twitch twitter workos'
    .split(' ')
    .map((name) => [name, false]),
)

/** The body of `GET /settings`, by default without any settings. */
export function settingsBody(members: Members = {}): Members {
  return {
    external: PROVIDERS_OFF,
    disable_signup: false,
    autoconfirm: false,
    mailer_autoconfirm: false,
    phone_autoconfirm: false,
    email_enabled: true,
    phone_enabled: false,
    anonymous_users_enabled: false,
    sms_provider: '',
    saml_enabled: false,
    passkeys_enabled: false,
    ...members,
  }
}

/** The payload of an audit entry for a change by a service token. */
export function operatorEntry(members: Members): Members {
  return {
    actor_id: '00000000-0000-0000-0000-000000000000',
    actor_via_sso: false,
    actor_username: 'service_role',
    ...members,
  }
}
