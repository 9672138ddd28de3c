import { randomUUID } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import { insertExternalIdentity } from '../../src/identities/identity-repository.ts'
import { answerBehind } from '../answer-behind.ts'
import { type Anybody, type AnybodyProvider, begin, beginLinking, toCode } from '../external/anybody-provider.ts'
import { OPERATOR } from '../forged-token.ts'
import type { MailApp } from '../mail-app.ts'
import { createSecondOwner, createSignedUp } from '../signed-up.ts'
import { type ErrorCase, type ErrorCases, get, post } from './error-case.ts'
import { refused } from './request-errors.ts'
import { signIn } from './session-errors.ts'
import { FEATURES, NO_SIGNUP, RULES, STRICT } from './settings.ts'

const OAUTH2 = {
  provider_type: 'oauth2',
  identifier: 'custom:one',
  name: 'One',
  client_id: 'client',
  client_secret: 'secret',
  authorization_url: 'https://idp.example.com/auth',
  token_url: 'https://idp.example.com/token',
  userinfo_url: 'https://idp.example.com/me',
}
let people = 0

/** A new account at the provider. */
const newAccount = (changes: Partial<Anybody> = {}): Anybody => {
  people += 1
  return { sub: String(people), email: `external${people}@example.com`, verified: true, ...changes }
}

const callback = (state: string, rest: Readonly<Record<string, string>> = {}): InjectOptions =>
  get(`/callback?${new URLSearchParams({ state, ...rest })}`)
const back = (state: string, account: Anybody): InjectOptions => callback(state, { code: toCode(account) })

/** An error case with a new account whose email belongs to two users. */
const sharedEmail = (settings: Readonly<Record<string, string>>): ErrorCase => ({
  redirected: 'server_error',
  raise: async (world, send) => {
    const service = await world.service(settings)
    const { email } = await createSignedUp(service.deps)
    await createSecondOwner(service, email)
    return send(service, back(await begin(service, 'keycloak'), newAccount({ email })))
  },
})

interface Return {
  readonly provider: AnybodyProvider
  readonly redirected: string
  readonly settings: Readonly<Record<string, string>>
}

/** An error case of a browser that returns from the provider. */
const onReturn = (
  makeRequest: (service: MailApp, state: string) => InjectOptions | Promise<InjectOptions>,
  rest: Omit<ErrorCase, 'raise' | 'redirected'> & Partial<Return> = {},
): ErrorCase => {
  const { settings = FEATURES, provider = 'keycloak', redirected = 'invalid_request', ...others } = rest
  return {
    ...others,
    redirected,
    raise: async (world, send) => {
      const service = await world.service(settings)
      return send(service, await makeRequest(service, await begin(service, provider)))
    },
  }
}

/** An error case of a browser that returns to link an identity. */
const onLinking = (
  choose: (service: MailApp) => Promise<Anybody> | Anybody,
  rest: Omit<ErrorCase, 'raise'>,
  email?: null,
): ErrorCase => ({
  ...rest,
  raise: async (world, send) => {
    const service = await world.service(FEATURES)
    const signedIn = await signIn(service)
    const { db } = service.deps
    if (email === null) await db.updateTable('users').set({ email }).where('id', '=', signedIn.user.id).execute()
    const state = await beginLinking(service, 'keycloak', signedIn.headers)
    return send(service, back(state, await choose(service)))
  },
})

const idToken = (payload: object) => post('/token?grant_type=id_token', payload)

const OIDC = {
  provider_type: 'oidc',
  identifier: 'custom:openid',
  name: 'One',
  client_id: 'client',
  client_secret: 'secret',
}

/** A custom provider that auth rejects. */
const byCustom = (provider: object, text?: string): ErrorCase => ({
  ...(text === undefined ? {} : { text }),
  raise: async (world, send) =>
    send(await world.service(FEATURES), post('/admin/custom-providers', provider, OPERATOR)),
})

export const externalErrors: ErrorCases = {
  providerUnknown: [refused(get('/authorize?provider=nobody'))],
  providerUnnamed: [refused(get('/authorize'))],
  idTokenMissing: [refused(idToken({}), { oauth: 'invalid_request' })],
  idTokenSourceMissing: [refused(idToken({ id_token: 'x' }), { oauth: 'invalid_request' })],
  stateMissing: [
    { redirected: 'invalid_request', raise: async (world, send) => send(await world.service(), get('/callback')) },
  ],
  answerRepeated: [onReturn((_service, state) => get(`/callback?${new URLSearchParams({ state, code: 'x' })}&code=y`))],
  answerOfOtherProvider: [
    onReturn((_service, state) => callback(state, { code: 'x', iss: 'https://honest.example.com' })),
  ],
  stateInvalid: [onReturn(() => callback('no uuid'))],
  stateUnknown: [
    onReturn(() => callback(randomUUID())),
    onReturn(async ({ app }, state) => {
      const again = back(state, newAccount())
      await app.inject(again)
      return again
    }),
  ],
  stateExpired: [
    onReturn(async ({ deps }, state) => {
      const long = { created_at: new Date('2020-01-01') }
      await deps.db.updateTable('flow_state').set(long).where('id', '=', state).execute()
      return back(state, newAccount())
    }),
  ],
  stateUsed: [
    onReturn(async (service) => {
      const pkce = { code_challenge: 'c'.repeat(43), code_challenge_method: 's256' }
      const again = back(await begin(service, 'keycloak', pkce), newAccount())
      await service.app.inject(again)
      return again
    }),
  ],
  providerRefused: [
    onReturn((_service, state) => callback(state, { error: 'access_denied', error_description: 'They said no' }), {
      redirected: 'access_denied',
    }),
    onReturn((_service, state) => callback(state, { error: 'no name at all' }), { redirected: 'server_error' }),
  ],
  authorizationCodeMissing: [onReturn((_service, state) => callback(state))],
  requestTokenWrong: [
    onReturn(async ({ deps }, state) => {
      const other = { provider_type: 'twitter' }
      await deps.db.updateTable('flow_state').set(other).where('id', '=', state).execute()
      return callback(state, { oauth_token: 'x', oauth_verifier: 'x' })
    }),
  ],
  providerNotSupported: [
    onReturn(
      async ({ deps }, state) => {
        const gone = { provider_type: 'gone' }
        await deps.db.updateTable('flow_state').set(gone).where('id', '=', state).execute()
        return back(state, newAccount())
      },
      { text: 'Unsupported provider: gone is not enabled' },
    ),
  ],
  providerDisabled: [
    refused(idToken({ id_token: 'x', provider: 'google' }), {
      text: 'Provider (issuer "https://accounts.google.com") is not enabled',
      oauth: 'unauthorized_client',
    }),
    refused(idToken({ id_token: 'x', issuer: 'https://evil.example', client_id: 'client' }), {
      text: 'Provider (issuer "https://evil.example") is not enabled',
      oauth: 'unauthorized_client',
    }),
  ],
  pkceRequired: [
    {
      raise: async (world, send) => send(await world.service(STRICT), get('/authorize?provider=x')),
    },
  ],
  exchangeFailed: [
    onReturn(async (_service, state) => callback(state, { code: 'x' }), {
      redirected: 'server_error',
      provider: 'gitlab',
    }),
  ],
  profileFailed: [
    onReturn((_service, state) => back(state, { sub: '' }), { redirected: 'server_error' }),
    onReturn((_service, state) => callback(state, { code: Buffer.from('{}').toString('base64url') }), {
      redirected: 'server_error',
    }),
  ],
  profileWithoutEmail: [onReturn((_service, state) => back(state, { sub: 'nowhere' }), { redirected: 'server_error' })],
  severalOwners: [sharedEmail({ ...FEATURES, AUTH_PROFILE: 'supabase' })],
  signupDisabled: [
    onReturn((_service, state) => back(state, newAccount()), {
      redirected: 'access_denied',
      settings: NO_SIGNUP,
    }),
  ],
  userBanned: [
    onReturn(
      async ({ deps }, state) => {
        const { email } = await createSignedUp(deps, { banned_until: new Date('2100-01-01') })
        return back(state, newAccount({ email }))
      },
      { redirected: 'access_denied' },
    ),
  ],
  externalEmailUnverified: [
    onReturn(
      async (service, state) => {
        const account = newAccount({ verified: false })
        await service.app.inject(back(state, account))
        return back(await begin(service, 'keycloak'), { sub: account.sub })
      },
      {
        text: 'Unverified email with keycloak. Verify the email with keycloak in order to sign in',
        redirected: 'access_denied',
      },
    ),
  ],
  externalEmailMailed: [
    onReturn((_service, state) => back(state, newAccount({ verified: false })), {
      text: 'Unverified email with keycloak. A confirmation email has been sent to your keycloak email',
      redirected: 'access_denied',
    }),
    onReturn(
      async ({ deps }, state) => {
        const { email } = await createSignedUp(deps)
        return back(state, newAccount({ email, verified: false }))
      },
      // The error equals that for an unknown address, so it does not reveal that the address has a user.
      {
        text: 'Unverified email with keycloak. A confirmation email has been sent to your keycloak email',
        redirected: 'access_denied',
      },
    ),
  ],
  linkedEmailUnverified: [
    onLinking(
      () => newAccount({ verified: false }),
      {
        text: 'Unverified email with keycloak. A confirmation email has been sent to your keycloak email',
        redirected: 'server_error',
      },
      null,
    ),
  ],
  emailExists: [
    sharedEmail(FEATURES),
    onLinking(
      async ({ deps }) => newAccount({ email: (await createSignedUp(deps)).email }),
      { redirected: 'server_error' },
      null,
    ),
  ],
  identityLinked: [linkedTwice('same')],
  identityTaken: [linkedTwice('another')],
  userNotFound: [
    {
      raise: async (world, send) =>
        send(await world.service(FEATURES), get('/authorize?provider=keycloak&invite_token=unknown')),
    },
  ],
  invitedEmailElsewhere: [
    {
      redirected: 'invalid_request',
      raise: async (world, send) => {
        const service = await world.service(FEATURES)
        const email = `${randomUUID()}@example.com`
        await service.post('/invite', { email }, OPERATOR)
        const { token } = await service.readMail(email)
        return send(service, back(await begin(service, 'keycloak', { invite_token: token }), newAccount()))
      },
    },
  ],
  inviteNotFound: [
    onReturn(
      async ({ deps }, state) => {
        const accepting = { invite_token_hash: Buffer.alloc(32) }
        await deps.db.updateTable('flow_state').set(accepting).where('id', '=', state).execute()
        return back(state, newAccount())
      },
      { redirected: 'server_error' },
    ),
  ],
  customProviderFieldForeign: [
    byCustom({ ...OAUTH2, issuer: 'https://idp.example.com' }, 'issuer is not for providers of the type oauth2'),
  ],
  customProviderAddressRefused: [
    byCustom(
      { ...OAUTH2, token_url: 'https://127.0.0.1:8443/token' },
      'token_url is an address that this service may not call',
    ),
  ],
  customProviderIssuerMissing: [byCustom(OIDC)],
  discoveryFailed: [byCustom({ ...OIDC, issuer: 'https://idp.invalid' })],
  customProviderNotFound: [
    {
      raise: async (world, send) =>
        send(await world.service(FEATURES), { ...get('/admin/custom-providers/custom:gone'), headers: OPERATOR }),
    },
  ],
  customProviderExists: [secondCustom((first) => first)],
  tooManyCustomProviders: [secondCustom(() => `custom:${randomUUID()}`, RULES)],
  customProviderInUse: [
    {
      raise: async (world, send) => {
        const service = await world.service(FEATURES)
        const identifier = `custom:${randomUUID()}`
        await service.app.inject(post('/admin/custom-providers', { ...OAUTH2, identifier }, OPERATOR))
        const { user } = await createSignedUp(service.deps)
        const account = { provider: identifier, subject: '1', data: {} }
        await service.deps.db
          .transaction()
          .execute((trx) => insertExternalIdentity(trx, user.id, account, service.deps.now()))
        const payload = { attribute_mapping: { sub: 'uid' } }
        return send(service, {
          method: 'PUT',
          url: `/admin/custom-providers/${identifier}`,
          payload,
          headers: OPERATOR,
        })
      },
    },
  ],
  customProviderChanged: [
    {
      raise: async (world, send) => {
        const service = await world.service(FEATURES)
        const identifier = `custom:${randomUUID()}`
        await service.app.inject(post('/admin/custom-providers', { ...OAUTH2, identifier }, OPERATOR))
        const { db } = service.deps
        // The row changes while the request waits for its lock.
        const changed = { updated_at: new Date('2100-01-01') }
        const url = `/admin/custom-providers/${identifier}`
        return answerBehind(
          db,
          (trx) =>
            trx.updateTable('custom_oauth_providers').set(changed).where('identifier', '=', identifier).execute(),
          () => send(service, { method: 'PUT', url, payload: { name: 'x' }, headers: OPERATOR }),
        )
      },
    },
  ],
  manualLinkingDisabled: [
    {
      raise: async (world, send) => {
        const service = await world.service()
        const { headers } = await signIn(service)
        return send(service, { ...get('/user/identities/authorize?provider=keycloak'), headers })
      },
    },
  ],
}

/** A second link of the same identity, by the same user or by another one. */
function linkedTwice(who: 'same' | 'another'): ErrorCase {
  return {
    redirected: 'server_error',
    raise: async (world, send) => {
      const service = await world.service(FEATURES)
      const [first, second] = [await signIn(service), await signIn(service)]
      const account = newAccount()
      await service.app.inject(back(await beginLinking(service, 'keycloak', first.headers), account))
      const { headers } = who === 'same' ? first : second
      return send(service, back(await beginLinking(service, 'keycloak', headers), account))
    },
  }
}

/** A second custom provider, whose identifier may equal the first one's. */
function secondCustom(nameAfter: (first: string) => string, settings = FEATURES): ErrorCase {
  return {
    raise: async (world, send) => {
      const add = (identifier: string) => post('/admin/custom-providers', { ...OAUTH2, identifier }, OPERATOR)
      const first = `custom:${randomUUID()}`
      await (await world.service(FEATURES)).app.inject(add(first))
      return send(await world.service(settings), add(nameAfter(first)))
    },
  }
}
