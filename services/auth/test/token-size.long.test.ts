import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { buildApp } from '../src/app.ts'
import { addApp } from './authenticator-app.ts'
import { anyId, errorBody, grantErrorBody, statusAndBody } from './bodies.ts'
import { type ExternalApp, openExternalApp } from './external/external-app.ts'
import { OAUTH_STUBS } from './external/oauth-stubs.ts'
import { CODE, play } from './external/provider-stub.ts'
import { OPERATOR } from './forged-token.ts'
import { startHookStub } from './hook-stub.ts'
import { openMailApp } from './mail-app.ts'
import { createSignedIn, signIn } from './signed-in.ts'
import { createSignedUp } from './signed-up.ts'

const Claims = z.looseObject({})
const BYTES_MAX = 8_192
const TOO_LARGE = errorBody(
  400,
  'validation_failed',
  'user_metadata and app_metadata together may not be larger than 8192 bytes, because access tokens hold them',
)
const PASSWORD = 'correct horse battery'
/** The headers that browsers and proxies add to the token. */
const OTHER_HEADERS = { cookie: 'c'.repeat(900), 'user-agent': 'u'.repeat(300), 'x-forwarded-for': 'f'.repeat(300) }

let service: ExternalApp
let url: string
let close: () => Promise<void>
beforeAll(async () => {
  service = await openExternalApp({
    AUTH_PROFILE: 'compatible',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_MAILER_AUTOCONFIRM: 'true',
  })
  const app = await buildApp(service.deps)
  url = await app.listen({ host: '127.0.0.1', port: 0 })
  close = () => app.close()
})
afterAll(async () => {
  await close()
  await service.close()
})

/** Returns metadata of this size as JSON, together with other metadata. */
const sized = (bytes: number, beside: object = {}, stored: object = {}) => {
  const text = (length: number) => ({ ...stored, avatar: 'é'.repeat(Math.floor(length / 2)) + 'x'.repeat(length % 2) })
  const frame = Buffer.byteLength(JSON.stringify(text(0)) + JSON.stringify(beside))
  return text(bytes - frame)
}

const send = async (method: string, path: string, token: string, body?: object) => {
  const headers = { ...OTHER_HEADERS, authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  return answer.status
}

/** Sends the most important requests of a user with this token, over HTTP. */
const live = async (token: string) => [
  await send('GET', '/user', token),
  await send('PUT', '/user', token, { data: {} }),
  await send('PUT', '/user', token, { data: { avatar: null } }),
  await send('POST', '/logout', token),
]
const LIVES = [200, 200, 200, 204]
const tokenOf = ({ headers }: { readonly headers: { readonly authorization: string } }) =>
  headers.authorization.slice('Bearer '.length)
const refresh = async ({ refreshToken }: { readonly refreshToken: string }) =>
  (await service.post('/token?grant_type=refresh_token', { refresh_token: refreshToken })).json().access_token
const metadataOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).user_metadata

const APP = { provider: 'email', providers: ['email'] }

describe('metadata that just fits', () => {
  it('leaves its user able to read, change and sign out, with the longest address and role', async () => {
    const longest = { email: `${'e'.repeat(240)}@example.com`, role: 'r'.repeat(255) }
    const user = await createSignedUp(service.deps, { ...longest, raw_user_meta_data: {} })
    const signedIn = await signIn(service, { ...user, email: longest.email })
    const data = sized(BYTES_MAX, APP)
    const { authorization } = signedIn.headers
    const put = (payload: object) =>
      service.app.inject({ method: 'PUT', url: '/user', headers: { authorization }, payload })
    expect(statusAndBody(await put({ data: sized(BYTES_MAX + 1, APP) }))).toEqual([400, TOO_LARGE])
    expect((await put({ data })).json().user_metadata).toEqual(data)
    const token = await refresh(signedIn)
    expect(metadataOf(token)).toEqual(data)
    expect(await live(token)).toEqual(LIVES)
  })

  it('leaves its user able to do so after a second factor and after an account is linked', async () => {
    const user = await createSignedIn(service, { raw_user_meta_data: sized(BYTES_MAX, APP) })
    const steppedUp = await addApp(service, user.headers)
    const token = await refresh(steppedUp)
    expect(metadataOf(token)).toEqual(sized(BYTES_MAX, APP))
    const stub = OAUTH_STUBS.find(({ name }) => name === 'github')
    if (stub === undefined) throw new Error('nothing plays github')
    service.answer(play(stub, service.clock))
    const headers = { authorization: `Bearer ${token}` }
    const begun = await service.app.inject({ url: '/user/identities/authorize?provider=github', headers })
    const state = new URL(String(begun.headers.location)).searchParams.get('state') ?? ''
    const { fragment } = await service.comeBack({ state, code: CODE })
    expect(await live(String(fragment.access_token))).toEqual(LIVES)
  })
})

describe('metadata that does not fit', () => {
  it.each([
    ['POST /signup', '/signup', { password: PASSWORD }, 'data'],
    ['POST /otp', '/otp', {}, 'data'],
    ['POST /magiclink', '/magiclink', {}, 'data'],
    ['POST /invite', '/invite', {}, 'data'],
    ['a generated link', '/admin/generate_link', { type: 'magiclink' }, 'data'],
    ['user_metadata by an admin', '/admin/users', {}, 'user_metadata'],
    ['app_metadata by an admin', '/admin/users', {}, 'app_metadata'],
  ])('is refused at %s', async (_place, path, fields, member) => {
    const body = { email: 'larger@example.com', ...fields, [member]: sized(BYTES_MAX + 1) }
    expect(statusAndBody(await service.post(path, body, OPERATOR))).toEqual([400, TOO_LARGE])
  })

  it('is refused at an anonymous sign-up', async () => {
    expect(statusAndBody(await service.post('/signup', { data: sized(BYTES_MAX + 1) }))).toEqual([400, TOO_LARGE])
  })

  it('is refused where app_metadata and user_metadata fit alone', async () => {
    const half = sized(BYTES_MAX / 2)
    const both = { user_metadata: half, app_metadata: half }
    const created = await service.post('/admin/users', { email: 'both@example.com', ...both }, OPERATOR)
    expect(statusAndBody(created)).toEqual([400, TOO_LARGE])
    const { user } = await createSignedUp(service.deps, { raw_user_meta_data: half })
    const change = { method: 'PUT', url: `/admin/users/${user.id}`, headers: OPERATOR } as const
    const changed = await service.app.inject({ ...change, payload: { app_metadata: half } })
    expect(statusAndBody(changed)).toEqual([400, TOO_LARGE])
  })
})

describe('a row that is larger than metadata may be', () => {
  it('signs its user in, without the longest members, so that the user can make it smaller', async () => {
    const raw_user_meta_data = {
      name: 'Ann',
      avatar: 'x'.repeat(60_000),
      cover: 'y'.repeat(20_000),
      theme: 'z'.repeat(500),
    }
    const user = await createSignedIn(service, { raw_user_meta_data })
    expect(metadataOf(tokenOf(user))).toEqual({ name: 'Ann', theme: 'z'.repeat(500) })
    const grown = await service.app.inject({
      method: 'PUT',
      url: '/user',
      headers: user.headers,
      payload: { data: { a: 1 } },
    })
    expect(statusAndBody(grown)).toEqual([400, TOO_LARGE])
    expect(await live(tokenOf(user))).toEqual(LIVES)
  })
})

describe('claims of a provider that do not fit', () => {
  it('are left out, the longest first, and the sign-in goes on', async () => {
    const stub = OAUTH_STUBS.find(({ name }) => name === 'github')
    if (stub === undefined) throw new Error('nothing plays github')
    const resources = Object.fromEntries(
      Object.entries(stub.resources).map(([address, { body, ...rest }]) => [
        address,
        {
          ...rest,
          body: Array.isArray(body)
            ? body
            : { ...Claims.parse(body), avatar_url: `https://a.example/${'a'.repeat(9_000)}`, name: 'n'.repeat(7_000) },
        },
      ]),
    )
    service.answer(play({ ...stub, resources }, service.clock))
    await service.deps.db.deleteFrom('users').execute()
    const { state } = await service.begin('github')
    const { fragment } = await service.comeBack({ state, code: CODE })
    const { name, avatar_url, picture, full_name, user_name } = metadataOf(String(fragment.access_token))
    expect({ name: name ?? full_name, avatar_url, picture, user_name }).toEqual({
      name: 'n'.repeat(7_000),
      avatar_url: undefined,
      picture: undefined,
      user_name: stub.data.user_name,
    })
    expect(await live(String(fragment.access_token))).toEqual(LIVES)
  })
})

describe('claims of the hook CUSTOM_ACCESS_TOKEN', () => {
  it('are refused where no token fits with them, and leave no session', async () => {
    const hooks = await startHookStub()
    const hooked = await openMailApp(hooks.settings('CUSTOM_ACCESS_TOKEN'))
    const { email, password, user } = await createSignedUp(hooked.deps, { raw_user_meta_data: sized(8_000) })
    let more = 'r'.repeat(9_900)
    hooks.answer = ({ payload }) => ({ body: { claims: { ...Claims.parse(payload.claims), more } } })
    const grant = () => hooked.post('/token?grant_type=password', { email, password })
    expect(statusAndBody(await grant())).toEqual([
      500,
      { ...grantErrorBody('server_error', 'unexpected_failure', 'Error running hook', 500), error_id: anyId },
    ])
    const ofUser = hooked.deps.db.selectFrom('sessions').select('id').where('user_id', '=', user.id)
    expect(await ofUser.execute()).toEqual([])
    more = 'r'.repeat(8_000)
    expect(metadataOf((await grant()).json().access_token)).toEqual({})
    await hooked.close()
    await hooks.close()
  })
})
