import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { answerBehind } from '../../../test/answer-behind.ts'
import {
  anyId,
  anyJwt,
  anyRefreshToken,
  errorBody,
  externalBody,
  identityBody,
  sessionBody,
  statusAndBody,
} from '../../../test/bodies.ts'
import { land } from '../../../test/external/external-app.ts'
import { ISSUER, type OpenIdServer, startOpenIdServer } from '../../../test/external/openid-server.ts'
import { forgeBearer, OPERATOR } from '../../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../../test/mail-app.ts'
import { REFUSED_HOSTS } from '../../../test/refused-addresses.ts'
import { createSignedUp } from '../../../test/signed-up.ts'
import { lockSubjects } from '../../external-providers/custom-provider-repository.ts'
import { insertExternalIdentity } from '../../identities/identity-repository.ts'

let openId: OpenIdServer
let service: MailApp
beforeAll(async () => {
  openId = await startOpenIdServer()
  const settings = { AUTH_CUSTOM_OAUTH_ENABLED: 'true', AUTH_CUSTOM_OAUTH_MAX_PROVIDERS: '3', AUTH_DB_NAMESPACE: 'app' }
  service = await openMailApp(settings, { replace: openId.replace })
})
afterAll(async () => {
  await service.close()
  await openId.stop()
})
beforeEach(() => service.deps.db.deleteFrom('custom_oauth_providers').execute())

const ask = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path = '', payload?: object, headers = OPERATOR) => {
  const url = `/admin/custom-providers${path}`
  const answer = await service.app.inject({ method, url, headers, ...(payload ? { payload } : {}) })
  return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json() }
}

const SECRET = 'a secret of the company'
const oidc = (changes: object = {}) => ({
  provider_type: 'oidc',
  identifier: 'custom:company',
  name: 'Company',
  client_id: 'company-client',
  client_secret: SECRET,
  issuer: ISSUER,
  ...changes,
})
const oauth2 = (changes: object = {}) => ({
  provider_type: 'oauth2',
  identifier: 'custom:old',
  name: 'Old',
  client_id: 'old-client',
  client_secret: SECRET,
  authorization_url: `${ISSUER}/protocol/openid-connect/auth?tenant=1`,
  token_url: `${ISSUER}/protocol/openid-connect/token`,
  userinfo_url: `${ISSUER}/protocol/openid-connect/userinfo`,
  attribute_mapping: {
    sub: '/account/id',
    email: 'mail',
    email_verified: 'mail_checked',
    nickname: '/account/nick~1name',
  },
  custom_claims_allowlist: ['groups'],
  scopes: ['profile'],
  pkce_enabled: false,
  authorization_params: { audience: 'people' },
  ...changes,
})

let people = 0
/** Signs in like a browser, up to the last redirect. */
async function signIn(provider: string, query: Readonly<Record<string, string>> = {}) {
  const started = await service.app.inject(`/authorize?${new URLSearchParams({ provider, ...query })}`)
  expect(started.statusCode).toBe(302)
  const authorize = new URL(String(started.headers.location))
  const { pathname, search } = await openId.agree(authorize)
  const landed = await service.app.inject(`${pathname}${search}`)
  expect(landed.statusCode).toBe(302)
  return { authorize, ...land(landed) }
}

/** Returns the data of an identity and the metadata of its user. */
const accountOf = ({ sub, email }: Pick<ReturnType<typeof newAccount>, 'sub' | 'email'>, more: object = {}) => ({
  iss: ISSUER,
  sub,
  name: 'Ada',
  email,
  full_name: 'Ada',
  provider_id: sub,
  email_verified: true,
  phone_verified: false,
  ...more,
})

const newAccount = () => {
  people += 1
  return {
    sub: `account-${people}`,
    email: `custom${people}@example.com`,
    email_verified: true,
    name: 'Ada',
    iss: ISSUER,
  }
}

describe('POST /admin/custom-providers', () => {
  it('201: adds an OpenID provider from the document of its issuer and never shows the secret', async () => {
    const { status, body } = await ask('POST', '', oidc())
    const defaults = {
      acceptable_client_ids: [],
      scopes: ['openid', 'email', 'profile'],
      custom_claims_allowlist: [],
      pkce_enabled: true,
      enabled: true,
      email_optional: false,
      skip_nonce_check: false,
      callback: 'own',
      redirect_uri: 'http://localhost:8081/callback/custom:company',
      attribute_mapping: {},
      authorization_params: {},
    }
    const { client_secret: _secret, ...shown } = oidc()
    expect({ status, body }).toEqual({
      status: 201,
      body: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        ...shown,
        ...defaults,
        discovery_document: {
          issuer: ISSUER,
          authorization_endpoint: `${ISSUER}/protocol/openid-connect/auth`,
          token_endpoint: `${ISSUER}/protocol/openid-connect/token`,
          userinfo_endpoint: `${ISSUER}/protocol/openid-connect/userinfo`,
          jwks_uri: `${ISSUER}/protocol/openid-connect/certs`,
          id_token_signing_alg_values_supported: ['RS256'],
          token_endpoint_auth_methods_supported: ['none'],
        },
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    })
    expect(await ask('GET')).toEqual({ status: 200, body: { providers: [body] } })
    expect(await ask('GET', '?type=oauth2')).toEqual({ status: 200, body: { providers: [] } })
    expect(await ask('GET', '/custom:company')).toEqual({ status: 200, body })
    const { rows } = await sql<{
      text: string
    }>`SELECT t::text AS text FROM ${sql.table('custom_oauth_providers')} t`.execute(service.deps.db)
    expect(rows[0]?.text).not.toContain(SECRET)
  })

  // ASVS 10.5.3
  it.each([
    [{ identifier: 'company' }, /^identifier: must be custom:/],
    [{ identifier: 'custom:Big' }, /^identifier: /],
    [{ client_secret: '' }, /^client_secret: /],
    [{ name: { length: { toString: 0 } } }, /^name: /],
    [{ issuer: 'http://idp.example.com' }, /^issuer: must be an https URL/],
    [{ issuer: 'https://idp.exämple.com' }, /^issuer: must be an https URL/],
    [{ issuer: 'https://user@idp.example.com' }, /^issuer: may have neither/],
    [{ issuer: undefined }, /^issuer is required/],
    [{ token_url: `${ISSUER}/t` }, /^token_url is not for providers of the type oidc/],
    [{ issuer: `${ISSUER}/other` }, /^The discovery document of the issuer cannot be read/],
    [
      { issuer: 'https://other.example.com', discovery_url: `${ISSUER}/.well-known/openid-configuration` },
      /of another issuer$/,
    ],
  ])('400: refuses %o', async (changes, msg) => {
    const { status, body } = await ask('POST', '', oidc(changes))
    expect({ status, body }).toEqual({
      status: 400,
      body: { code: 400, error_code: 'validation_failed', msg: expect.stringMatching(msg) },
    })
    expect((await ask('GET')).body).toEqual({ providers: [] })
  })

  it('400: refuses an oauth2 provider without its addresses, or with an issuer', async () => {
    expect(await ask('POST', '', oauth2({ token_url: undefined }))).toEqual({
      status: 400,
      body: errorBody(400, 'validation_failed', 'token_url: must be an https URL'),
    })
    expect(await ask('POST', '', oauth2({ issuer: ISSUER }))).toEqual({
      status: 400,
      body: errorBody(400, 'validation_failed', 'issuer is not for providers of the type oauth2'),
    })
  })

  it('400: refuses an internal address in every notation', async () => {
    const forbidden = (field: string) => ({
      status: 400,
      body: errorBody(400, 'validation_failed', `${field} is an address that this service may not call`),
    })
    const hosts = REFUSED_HOSTS.filter(
      (host) => !host.includes('@') && !host.includes('example') && host !== 'localhost.',
    )
    for (const host of hosts) {
      const refused = await ask('POST', '', oauth2({ userinfo_url: `https://${host}/me` }))
      expect([host, refused]).toEqual([host, forbidden('userinfo_url')])
    }
    expect(hosts.length).toBeGreaterThan(200)
    const loopback = await ask('POST', '', oauth2({ token_url: 'https://127.0.0.1:8443/token' }))
    expect(loopback).toEqual(forbidden('token_url'))
  })

  it('409: refuses the second of two parallel requests for one name', async () => {
    const same = await Promise.all([1, 2].map(() => ask('POST', '', oauth2())))
    expect(same.filter(({ status }) => status !== 201)).toEqual([
      { status: 409, body: errorBody(409, 'conflict', 'A provider with this identifier already exists') },
    ])
  })

  it('422: refuses providers over the limit, also when requests run in parallel', async () => {
    await ask('POST', '', oauth2())
    const many = await Promise.all([1, 2, 3, 4].map((n) => ask('POST', '', oauth2({ identifier: `custom:n${n}` }))))
    const over = {
      status: 422,
      body: errorBody(422, 'over_custom_provider_quota', 'Maximum number of custom providers reached'),
    }
    expect(many.filter(({ status }) => status !== 201)).toEqual([over, over])
  })

  it('401: refuses a request without an access token', async () => {
    expect(statusAndBody(await service.app.inject('/admin/custom-providers'))).toEqual([
      401,
      errorBody(401, 'no_authorization', 'This endpoint requires a valid Bearer token'),
    ])
  })

  it('403: refuses a user who is no admin', async () => {
    const headers = { authorization: forgeBearer({ role: 'authenticated' }) }
    const refused = { status: 403, body: errorBody(403, 'not_admin', 'User not allowed') }
    expect(await ask('GET', '', undefined, headers)).toEqual(refused)
  })
})

describe('PUT and DELETE /admin/custom-providers/{identifier}', () => {
  it('200: changes only the given members and reads the document of a new issuer', async () => {
    const created = (await ask('POST', '', oidc())).body
    const { status, body } = await ask('PUT', '/custom:company', { name: 'New', enabled: false, scopes: ['openid'] })
    const changed = { name: 'New', enabled: false, scopes: ['openid'], updated_at: body.updated_at }
    expect({ status, body }).toEqual({ status: 200, body: { ...created, ...changed } })
    const moved = await ask('PUT', '/custom:company', { issuer: 'https://other.example.com' })
    expect([moved.status, (await ask('GET', '/custom:company')).body]).toEqual([400, body])
  })

  it('409: refuses the second of two parallel changes', async () => {
    await ask('POST', '', oauth2())
    const { db } = service.deps
    // While the row is locked, both changes read it and then wait to write it.
    const { changes } = await db.transaction().execute(async (trx) => {
      await sql`SELECT FROM ${sql.table('custom_oauth_providers')} FOR UPDATE`.execute(trx)
      const changing = Promise.all(['A', 'B'].map((name) => ask('PUT', '/custom:old', { name })))
      await vi.waitFor(async () => expect(await countWaiting()).toBe(2), { timeout: 60_000 })
      return { changes: changing }
    })
    const answers = await changes
    const refusal = errorBody(409, 'conflict', 'Somebody else has changed the provider at the same moment')
    expect(answers.filter(({ status }) => status !== 200)).toEqual([{ status: 409, body: refusal }])
    const [changed] = answers.filter(({ status }) => status === 200)
    expect(await ask('GET', '/custom:old')).toEqual(changed)
  })

  async function countWaiting(): Promise<number> {
    const { rows } = await sql<{ count: number }>`SELECT count(DISTINCT a.pid)::int AS count FROM pg_locks l
      JOIN pg_stat_activity a USING (pid)
      WHERE NOT l.granted AND a.datname = current_database()`.execute(service.deps.db)
    return rows[0]?.count ?? 0
  }

  it('409: refuses another claim of the subject while somebody signs in by the present one', async () => {
    await ask('POST', '', oauth2())
    const { user } = await createSignedUp(service.deps)
    const { sub } = newAccount()
    const account = { provider: 'custom:old', subject: sub, data: { iss: ISSUER, sub } }
    const changed = await answerBehind(
      service.deps.db,
      async (trx) => {
        await lockSubjects(trx, account.provider)
        await insertExternalIdentity(trx, user.id, account, service.clock.now())
      },
      () => ask('PUT', '/custom:old', { attribute_mapping: { sub: '/account/number' } }),
    )
    const text = 'Users have identities of this provider at another issuer or by another claim: take another identifier'
    expect([changed.status, changed.body]).toEqual([409, errorBody(409, 'conflict', text)])
  })

  it('204: deletes a custom provider once, and never a built-in one', async () => {
    await ask('POST', '', oauth2())
    expect(await ask('DELETE', '/custom:old')).toEqual({ status: 204, body: undefined })
    for (const [method, path] of [
      ['DELETE', '/custom:old'],
      ['GET', '/custom:old'],
      ['PUT', '/google'],
    ] as const) {
      const { status, body } = await ask(method, path, method === 'PUT' ? {} : undefined)
      expect([status, body]).toEqual([
        404,
        errorBody(404, 'custom_provider_not_found', 'Custom OAuth provider not found'),
      ])
    }
  })
})

const makeViewer = (email: string) =>
  service.deps.db.updateTable('users').set({ console_role: 'viewer' }).where('email', '=', email).execute()

/** The parameters of the redirect for a rejected operator. */
const PROTECTED = {
  error: 'access_denied',
  error_code: 'console_user_protected',
  error_description: 'Only operators act on a user with a console role',
  sb: '',
}

describe('a sign-in at a custom provider', () => {
  it("302: uses the provider's metadata and PKCE, and verifies the id_token", async () => {
    await ask('POST', '', oidc({ acceptable_client_ids: ['company-app'] }))
    const account = newAccount()
    openId.account = account
    const { authorize, fragment } = await signIn('custom:company', { scopes: 'groups', login_hint: 'ada' })
    expect(authorize.origin).toBe(ISSUER)
    expect(Object.fromEntries(authorize.searchParams)).toEqual({
      login_hint: 'ada',
      client_id: 'company-client',
      redirect_uri: 'http://localhost:8081/callback/custom:company',
      response_type: 'code',
      scope: 'openid email profile groups',
      state: anyId,
      code_challenge: expect.any(String),
      code_challenge_method: 'S256',
    })
    expect(fragment).toEqual({
      access_token: anyJwt,
      refresh_token: anyRefreshToken,
      provider_token: anyJwt,
      expires_in: '3600',
      provider: 'custom:company',
      token_type: 'bearer',
      expires_at: expect.any(String),
      provider_refresh_token: anyId,
      sb: '',
    })
    const claims = { ...account, aud: 'company-app' }
    const nonce = 'nonce'
    const id_token = await openId.sign({ ...claims, nonce: createHash('sha256').update(nonce).digest('hex') })
    const granted = await service.post('/token?grant_type=id_token', { provider: 'custom:company', id_token, nonce })
    const session = sessionBody(externalBody('custom:company', accountOf(account)))
    expect(statusAndBody(granted)).toEqual([200, session])
    openId.account = { ...newAccount(), iss: 'https://evil.example' }
    const { query } = await signIn('custom:company')
    expect(query.error_description).toBe('Error getting user profile from external provider')
  })

  it('302: reads the profile when the id_token has no address, and refuses the profile of another user', async () => {
    await ask('POST', '', oidc({ attribute_mapping: { email: 'mail' }, custom_claims_allowlist: ['groups'] }))
    const account = newAccount()
    openId.account = account
    const without = await signIn('custom:company')
    expect(without.query.error_description).toBe('Error getting user email from external provider')
    openId.account = { ...account, mail: account.email, groups: ['staff'] }
    const { fragment } = await signIn('custom:company')
    const headers = { authorization: `Bearer ${fragment.access_token}` }
    const user = (await service.app.inject({ url: '/user', headers })).json()
    expect(user).toEqual(externalBody('custom:company', accountOf(account, { custom_claims: { groups: ['staff'] } })))
  })

  it('302: maps the members of a profile when the provider has no OpenID', async () => {
    await ask('POST', '', oauth2())
    const account = newAccount()
    openId.account = {
      account: { id: 4, 'nick/name': 'Countess' },
      mail: account.email,
      mail_checked: true,
      groups: ['x'],
    }
    const { authorize, fragment } = await signIn('custom:old')
    expect(Object.fromEntries(authorize.searchParams)).toEqual({
      tenant: '1',
      audience: 'people',
      client_id: 'old-client',
      redirect_uri: 'http://localhost:8081/callback/custom:old',
      response_type: 'code',
      scope: 'profile',
      state: expect.any(String),
    })
    const headers = { authorization: `Bearer ${fragment.access_token}` }
    const user = (await service.app.inject({ url: '/user', headers })).json()
    expect(user.identities).toEqual([
      identityBody({
        id: '4',
        identity_data: {
          iss: 'https://idp.example.com',
          sub: '4',
          email: account.email,
          nickname: 'Countess',
          provider_id: '4',
          custom_claims: { groups: ['x'] },
          email_verified: true,
          phone_verified: false,
        },
        provider: 'custom:old',
        email: account.email,
      }),
    ])
  })

  it('302: is refused for an operator, whose address a provider of an admin of the API may tell', async () => {
    await ask('POST', '', oidc())
    const { user, email, password } = await createSignedUp(service.deps, { console_role: 'admin' })
    openId.account = { ...newAccount(), email }
    const { fragment } = await signIn('custom:company')
    expect(fragment).toEqual(PROTECTED)
    const identities = service.deps.db.selectFrom('identities').select('provider').where('user_id', '=', user.id)
    expect(await identities.execute()).toEqual([{ provider: 'email' }])
    expect((await service.post('/token?grant_type=password', { email, password })).statusCode).toBe(200)
  })

  it('302: is refused for a user who has become an operator since their first sign-in at the provider', async () => {
    await ask('POST', '', oidc())
    const account = newAccount()
    openId.account = account
    await signIn('custom:company')
    await makeViewer(account.email)
    expect((await signIn('custom:company')).fragment).toEqual(PROTECTED)
  })

  it('302: is refused for an operator who is invited, and leaves the invitation to them', async () => {
    await ask('POST', '', oidc())
    const account = newAccount()
    openId.account = account
    await service.post('/invite', { email: account.email }, OPERATOR)
    await makeViewer(account.email)
    const { token } = await service.readMail(account.email)
    const { fragment } = await signIn('custom:company', { invite_token: token })
    expect(fragment).toEqual(PROTECTED)
    expect((await service.post('/verify', { type: 'invite', token_hash: token })).statusCode).toBe(200)
  })

  const PROVIDERS = sql.table('custom_oauth_providers')
  it.each([
    [
      'another claim has become the subject',
      sql`UPDATE ${PROVIDERS} SET settings = jsonb_set(settings, '{attribute_mapping,sub}', '"/account/number"')`,
    ],
    ['the provider was deleted', sql`DELETE FROM ${PROVIDERS}`],
  ])('302: is refused where %s since the provider was asked', async (_case, change) => {
    await ask('POST', '', oauth2())
    const { email, sub } = newAccount()
    openId.account = { account: { id: sub }, mail: email, mail_checked: true }
    const started = await service.app.inject('/authorize?provider=custom:old')
    const { pathname, search } = await openId.agree(new URL(String(started.headers.location)))
    const landed = await answerBehind(
      service.deps.db,
      (trx) => change.execute(trx),
      () => service.app.inject(`${pathname}${search}`),
    )
    expect(land(landed).query).toEqual({
      error: 'server_error',
      error_code: 'identity_already_exists',
      error_description: 'Identity is already linked to another user',
    })
    const identities = service.deps.db.selectFrom('identities').select('id').where('provider_id', '=', sub)
    expect(await identities.execute()).toEqual([])
  })

  it('400: is refused while the provider, or every custom provider, is switched off or deleted', async () => {
    await ask('POST', '', oidc())
    openId.account = newAccount()
    await ask('PUT', '/custom:company', { enabled: false })
    const refused = await service.app.inject('/authorize?provider=custom:company')
    const body = errorBody(400, 'validation_failed', 'Unsupported provider: provider is not enabled')
    expect([refused.statusCode, refused.json()]).toEqual([400, body])
    await ask('PUT', '/custom:company', { enabled: true })
    const started = await service.app.inject('/authorize?provider=custom:company')
    await ask('DELETE', '/custom:company')
    const back = await openId.agree(new URL(String(started.headers.location)))
    const { query } = land(await service.app.inject(`${back.pathname}${back.search}`))
    expect(query).toEqual({
      error: 'invalid_request',
      error_code: 'oauth_provider_not_supported',
      error_description: 'Unsupported provider: custom:company is not enabled',
    })
  })
})
