import { createHash } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import type { AuditAction } from '../src/audit/audit-log.ts'
import {
  type AuditWorld,
  askEmailChange,
  askMessage,
  askRegistration,
  beginAt,
  CUSTOM,
  createWithCodes,
  createWithPasskey,
  invite,
  newEmail,
} from './audit-world.ts'
import { addApp, challenge, enrolApp } from './authenticator-app.ts'
import { claimsText, oauth2 } from './external/custom-app.ts'
import { signText } from './external/provider-stub.ts'
import { OPERATOR } from './forged-token.ts'
import { paths } from './passkey-app.ts'
import { createSignedIn, ownIdentityId } from './signed-in.ts'

/** A request, and its audit entries in order. */
export interface AuditedRequest {
  readonly entries: readonly AuditAction[]
  /** Prepares and returns the request. */
  readonly ask: (world: AuditWorld) => Promise<InjectOptions>
  /** The service for the request. Default: the service without hooks. */
  readonly by?: 'hooked'
}

type Ask = AuditedRequest['ask']
type Headers = Readonly<Record<string, string>>

const writes = (entries: readonly AuditAction[], ask: Ask): AuditedRequest => ({ entries, ask })
const atHook = (entries: readonly AuditAction[], ask: Ask): AuditedRequest => ({ entries, ask, by: 'hooked' })
const call = (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload: object = {}, headers: Headers = {}) =>
  method === 'DELETE' ? { method, url, headers } : { method, url, payload, headers }

const addProvider = async ({ service }: AuditWorld) => {
  const identifier = `custom:${newEmail().split('@')[0]}`
  await service.add(oauth2(identifier))
  return `/admin/custom-providers/${identifier}`
}
const enrol = async (world: AuditWorld) => {
  const signedIn = await createSignedIn(world.service)
  const { factorId, code } = await enrolApp(world.service, signedIn.headers)
  return { ...signedIn, factorId, code: code() }
}
const answerFactor =
  (wrong?: string): Ask =>
  async (world) => {
    const { headers, factorId, code } = await enrol(world)
    const challenge_id = await challenge(world.service, headers, factorId)
    return call('POST', `/factors/${factorId}/verify`, { challenge_id, code: wrong ?? code }, headers)
  }
const answerRecoveryCode =
  (wrong?: string): Ask =>
  async (world) => {
    const { lowHeaders, code } = await createWithCodes(world)
    return call('POST', '/factors/recovery-codes/verify', { code: wrong ?? code }, lowHeaders)
  }
const askPasskey =
  (isWrong: boolean): Ask =>
  async (world) => {
    const { key } = await createWithPasskey(world)
    const { challenge_id, options } = (await world.service.post(paths.signIn, {})).json()
    const credential = key.get(options, isWrong ? { origin: 'https://other.example.com' } : {})
    return call('POST', paths.signInFinish, { challenge_id, credential })
  }
const grant = (type: string, payload: object) => call('POST', `/token?grant_type=${type}`, payload)
const enterPassword =
  (wrong?: string): Ask =>
  async ({ service }) => {
    const { email, password } = await createSignedIn(service)
    return grant('password', { email, password: wrong ?? password })
  }
const showIdToken =
  (email: (world: AuditWorld) => Promise<string>): Ask =>
  async (world) => {
    const nonce = createHash('sha256').update('nonce').digest('hex')
    const claims = JSON.stringify({ sub: newEmail(), email: await email(world), email_verified: true, nonce })
    const id_token = await signText(claimsText(world.service.clock.now(), claims))
    return grant('id_token', { provider: CUSTOM.idToken, id_token, nonce: 'nonce' })
  }
const knownEmail = async ({ service }: AuditWorld) => (await createSignedIn(service)).email
const knownUser = async ({ service }: AuditWorld) => `/admin/users/${(await createSignedIn(service)).user.id}`

/** Returns from a provider: for a new user, a known account, a known email, an invited user, and a link. */
function returning(provider: string, send: (query: string) => InjectOptions): readonly AuditedRequest[] {
  return [
    writes(['user_signedup'], async (world) => send(await beginAt(world, provider))),
    writes(['identity_linked', 'login'], async (world) =>
      send(await beginAt(world, provider, { email: await knownEmail(world) })),
    ),
    writes(['invite_accepted'], async (world) => {
      const { email, token } = await invite(world)
      return send(await beginAt(world, provider, { email, invite_token: token }))
    }),
  ]
}

/** Requests with the links or codes of messages. */
function confirming(toRequest: (asked: Awaited<ReturnType<typeof askMessage>>) => InjectOptions) {
  return [
    writes(['login'], async (world) => toRequest(await askMessage(world, '/otp', { email: await knownEmail(world) }))),
    writes(['user_signedup'], async (world) =>
      toRequest(await askMessage(world, '/signup', { email: newEmail(), ...PASSWORD })),
    ),
    writes(['user_modified'], async (world) => toRequest(await askEmailChange(world))),
  ]
}

const PASSWORD = { password: 'correct horse battery' }

/** The requests for each audit entry of a route (reference: Audit log). Different entries need different requests. */
export const AUDITED_ROUTES: Readonly<Record<string, readonly AuditedRequest[]>> = {
  'DELETE /admin/custom-providers/{identifier}': [
    writes(['provider_deleted'], async (world) => call('DELETE', await addProvider(world), {}, OPERATOR)),
  ],
  'DELETE /admin/users/{userId}': [
    writes(['user_deleted'], async (world) => call('DELETE', await knownUser(world), {}, OPERATOR)),
  ],
  'DELETE /admin/users/{userId}/factors/{factorId}': [
    writes(['factor_deleted'], async (world) => {
      const { user, factorId } = await enrol(world)
      return call('DELETE', `/admin/users/${user.id}/factors/${factorId}`, {}, OPERATOR)
    }),
  ],
  'DELETE /admin/users/{userId}/passkeys/{passkeyId}': [
    writes(['passkey_deleted'], async (world) => {
      const { user, passkeyId } = await createWithPasskey(world)
      return call('DELETE', `/admin/users/${user.id}/passkeys/${passkeyId}`, {}, OPERATOR)
    }),
  ],
  'DELETE /factors/recovery-codes': [
    writes(['factor_unenrolled'], async (world) =>
      call('DELETE', '/factors/recovery-codes', {}, (await createWithCodes(world)).headers),
    ),
  ],
  'DELETE /factors/{factorId}': [
    writes(['factor_unenrolled'], async (world) => {
      const { headers, factorId } = await enrol(world)
      return call('DELETE', `/factors/${factorId}`, {}, headers)
    }),
  ],
  'DELETE /passkeys/{passkeyId}': [
    writes(['passkey_deleted'], async (world) => {
      const { headers, passkeyId } = await createWithPasskey(world)
      return call('DELETE', `/passkeys/${passkeyId}`, {}, headers)
    }),
  ],
  'DELETE /user/identities/{identityId}': [
    writes(['identity_unlinked'], async (world) => {
      const signedIn = await createSignedIn(world.service)
      await world.service.comeBack(
        Object.fromEntries(new URLSearchParams(await beginAt(world, CUSTOM.shared, { email: signedIn.email }))),
      )
      return call('DELETE', `/user/identities/${ownIdentityId(signedIn)}`, {}, signedIn.headers)
    }),
  ],
  'GET /callback': returning(CUSTOM.shared, (query) => ({ url: `/callback?${query}` })),
  'GET /callback/{provider}': returning(CUSTOM.own, (query) => ({ url: `/callback/${CUSTOM.own}?${query}` })),
  'GET /reauthenticate': [
    writes(['user_reauthenticate_requested'], async ({ service }) => {
      const { headers } = await createSignedIn(service)
      return { url: '/reauthenticate', headers }
    }),
  ],
  'GET /verify': [
    ...confirming(({ url }) => ({ url })),
    writes(['invite_accepted'], async (world) => ({
      url: `/verify?${new URLSearchParams({ type: 'invite', token: (await invite(world)).token })}`,
    })),
  ],
  'PATCH /passkeys/{passkeyId}': [
    writes(['passkey_updated'], async (world) => {
      const { headers, passkeyId } = await createWithPasskey(world)
      return call('PATCH', `/passkeys/${passkeyId}`, { friendly_name: 'new name' }, headers)
    }),
  ],
  'POST /admin/custom-providers': [
    writes(['provider_created'], async () =>
      call('POST', '/admin/custom-providers', oauth2('custom:another'), OPERATOR),
    ),
  ],
  'POST /admin/generate_link': [
    ...(
      [
        ['user_recovery_requested', { type: 'magiclink' }],
        ['user_recovery_requested', { type: 'recovery' }],
        ['user_modified', { type: 'email_change_new', new_email: 'wanted@example.com' }],
      ] as const
    ).map(([action, body]) =>
      writes([action], async (world) =>
        call('POST', '/admin/generate_link', { ...body, email: await knownEmail(world) }, OPERATOR),
      ),
    ),
    ...(
      [
        ['user_confirmation_requested', { type: 'signup', ...PASSWORD }],
        ['user_invited', { type: 'invite' }],
      ] as const
    ).map(([action, body]) =>
      writes([action], async () => call('POST', '/admin/generate_link', { ...body, email: newEmail() }, OPERATOR)),
    ),
  ],
  'POST /admin/users': [
    writes(['user_signedup'], async () => call('POST', '/admin/users', { email: newEmail() }, OPERATOR)),
  ],
  'POST /admin/users/{userId}': [
    writes(['user_signedup'], async () =>
      call('POST', '/admin/users/3b0d6d0c-7a0e-4a47-9f43-0b1c51c4d0a1', { email: newEmail() }, OPERATOR),
    ),
  ],
  'POST /callback': returning(CUSTOM.shared, (query) =>
    call('POST', '/callback', Object.fromEntries(new URLSearchParams(query))),
  ),
  'POST /callback/{provider}': returning(CUSTOM.own, (query) =>
    call('POST', `/callback/${CUSTOM.own}`, Object.fromEntries(new URLSearchParams(query))),
  ),
  'POST /factors': [
    writes(['factor_in_progress'], async ({ service }) =>
      call('POST', '/factors', { factor_type: 'totp' }, (await createSignedIn(service)).headers),
    ),
  ],
  'POST /factors/recovery-codes': [
    writes(['factor_in_progress'], async ({ service }) => {
      const signedIn = await createSignedIn(service)
      return call('POST', '/factors/recovery-codes', {}, (await addApp(service, signedIn.headers)).headers)
    }),
  ],
  'POST /factors/recovery-codes/regenerate': [
    writes(['factor_updated'], async (world) =>
      call('POST', '/factors/recovery-codes/regenerate', {}, (await createWithCodes(world)).headers),
    ),
  ],
  'POST /factors/recovery-codes/verify': [
    writes(['verification_attempted'], answerRecoveryCode()),
    writes(['factor_verification_failed'], answerRecoveryCode('aaaa-aaaa')),
    atHook(['factor_verification_failed', 'logout'], answerRecoveryCode()),
  ],
  'POST /factors/{factorId}/challenge': [
    writes(['challenge_created'], async (world) => {
      const { headers, factorId } = await enrol(world)
      return call('POST', `/factors/${factorId}/challenge`, {}, headers)
    }),
  ],
  'POST /factors/{factorId}/verify': [
    writes(['verification_attempted'], answerFactor()),
    writes(['factor_verification_failed'], answerFactor('000000')),
    atHook(['factor_verification_failed', 'logout'], answerFactor()),
  ],
  'POST /invite': [writes(['user_invited'], async () => call('POST', '/invite', { email: newEmail() }, OPERATOR))],
  'POST /logout': [
    writes(['logout'], async ({ service }) => call('POST', '/logout', {}, (await createSignedIn(service)).headers)),
  ],
  'POST /magiclink': [
    writes(['user_recovery_requested'], async (world) =>
      call('POST', '/magiclink', { email: await knownEmail(world) }),
    ),
    writes(['user_confirmation_requested'], async () => call('POST', '/magiclink', { email: newEmail() })),
  ],
  'POST /otp': [
    writes(['user_recovery_requested'], async (world) => call('POST', '/otp', { email: await knownEmail(world) })),
    writes(['user_confirmation_requested'], async () => call('POST', '/otp', { email: newEmail() })),
  ],
  'POST /passkeys/authentication/verify': [
    writes(['login'], askPasskey(false)),
    writes(['login_failed'], askPasskey(true)),
  ],
  'POST /passkeys/registration/verify': [
    writes(['passkey_created'], async (world) => {
      const { headers } = await createSignedIn(world.service)
      return (await askRegistration(world, headers)).request
    }),
  ],
  'POST /recover': [
    writes(['user_recovery_requested'], async (world) => call('POST', '/recover', { email: await knownEmail(world) })),
  ],
  'POST /resend': [
    writes(['user_confirmation_requested'], async (world) => {
      const email = newEmail()
      await askMessage(world, '/signup', { email, ...PASSWORD })
      world.service.clock.advance(60_000)
      return call('POST', '/resend', { type: 'signup', email })
    }),
  ],
  'POST /signup': [
    writes(['user_signedup'], async () => call('POST', '/signup')),
    writes(['user_confirmation_requested'], async () => call('POST', '/signup', { email: newEmail(), ...PASSWORD })),
    writes(['user_repeated_signup'], async (world) =>
      call('POST', '/signup', { email: await knownEmail(world), ...PASSWORD }),
    ),
  ],
  'POST /token': [
    writes(['login'], enterPassword()),
    writes(['login_failed'], enterPassword('wrong')),
    atHook(['login_failed', 'logout'], enterPassword()),
    writes(['token_refreshed', 'token_revoked'], async ({ service }) =>
      grant('refresh_token', { refresh_token: (await createSignedIn(service)).refreshToken }),
    ),
    writes(
      ['user_signedup'],
      showIdToken(async () => newEmail()),
    ),
    writes(['identity_linked', 'login'], showIdToken(knownEmail)),
  ],
  'POST /verify': [
    ...confirming(({ body }) => call('POST', '/verify', body)),
    writes(['invite_accepted'], async (world) =>
      call('POST', '/verify', { type: 'invite', token_hash: (await invite(world)).token }),
    ),
    writes(['verification_failed'], async (world) =>
      call('POST', '/verify', { type: 'magiclink', email: await knownEmail(world), token: '000000' }),
    ),
  ],
  'PUT /admin/custom-providers/{identifier}': [
    writes(['provider_updated'], async (world) => call('PUT', await addProvider(world), { name: 'Two' }, OPERATOR)),
  ],
  'PUT /admin/users/{userId}': [
    writes(['user_modified'], async (world) => call('PUT', await knownUser(world), PASSWORD, OPERATOR)),
    writes(['passkey_deleted', 'user_modified'], async (world) => {
      const { user } = await createWithPasskey(world)
      return call('PUT', `/admin/users/${user.id}`, PASSWORD, OPERATOR)
    }),
  ],
  'PUT /admin/users/{userId}/factors/{factorId}': [
    writes(['factor_updated'], async (world) => {
      const { user, factorId } = await enrol(world)
      return call('PUT', `/admin/users/${user.id}/factors/${factorId}`, { friendly_name: 'new name' }, OPERATOR)
    }),
  ],
  'PUT /user': [
    writes(['user_modified'], async ({ service }) => {
      const { headers } = await createSignedIn(service)
      return call('PUT', '/user', { email: newEmail() }, headers)
    }),
    writes(['user_updated_password', 'user_modified'], async ({ service }) => {
      const { headers, password } = await createSignedIn(service)
      return call('PUT', '/user', { ...PASSWORD, current_password: password }, headers)
    }),
    writes(['reauthentication_failed'], async ({ service }) => {
      const { headers } = await createSignedIn(service)
      return call('PUT', '/user', { ...PASSWORD, current_password: 'wrong' }, headers)
    }),
    atHook(['reauthentication_failed', 'logout'], async ({ service }) => {
      const { headers, password } = await createSignedIn(service)
      return call('PUT', '/user', { ...PASSWORD, current_password: password }, headers)
    }),
  ],
}
