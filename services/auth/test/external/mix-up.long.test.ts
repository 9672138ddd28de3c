import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { errorBody, fragmentBody, statusAndBody } from '../bodies.ts'
import { type CustomApp, oauth2, oidc, openCustomApp } from './custom-app.ts'
import { type Landing, land } from './external-app.ts'
import { ACCESS_TOKEN, CODE } from './provider-stub.ts'

const ISSUER = 'https://idp.example.com'

let service: CustomApp
beforeAll(async () => {
  service = await openCustomApp({
    AUTH_EXTERNAL_GITLAB_REDIRECT_URI: 'http://localhost:8081/callback/gitlab',
    AUTH_EXTERNAL_KEYCLOAK_URL: 'https://sso.example.com/realms/shop',
  })
  service.play({})
  await service.add(oauth2('custom:other'))
  await service.add(oauth2('custom:own'))
  await service.add(oauth2('custom:tenant', { authorization_url: `${ISSUER}/tenants/1/authorize?x=1` }))
  await service.add(oauth2('custom:shared', { callback: 'shared' }))
  await service.add(oidc('custom:openid'))
  service.play({ metadata: { authorization_response_iss_parameter_supported: true } })
  await service.add(oidc('custom:promises', { callback: 'shared' }))
})
afterAll(() => service.close())
beforeEach(() => service.deps.db.deleteFrom('users').execute())

const mixedUp = {
  error: 'invalid_request',
  error_code: 'bad_oauth_callback',
  error_description: 'The answer is not from the provider of this sign-in',
}

/** Expects a refusal before the flow's provider receives a code. */
async function expectRefused(provider: string, path: string, more: Readonly<Record<string, string>> = {}) {
  const { state } = await service.begin(provider)
  const before = service.world.requests.length
  const { query, fragment } = await service.comeBack({ state, code: CODE, ...more }, path)
  expect([query, fragment]).toEqual([mixedUp, { ...mixedUp, sb: '' }])
  expect(service.world.requests.length).toBe(before)
  expect(await service.identities()).toEqual([])
}

const signedIn = (provider: string) => fragmentBody(provider, { provider_token: ACCESS_TOKEN })
const playUser = () => {
  const userinfo = { id: 'ada', sub: 'ada', email: 'ada@example.com', email_verified: true }
  service.play({ userinfo, idToken: JSON.stringify(userinfo) })
}
const signIn = (provider: string, more: Readonly<Record<string, string>> = {}): Promise<Landing> => {
  playUser()
  return service.signIn(provider, more)
}

// ASVS 10.2.2
describe('the answer of an honest provider in the flow of another', () => {
  it.each([
    ['custom:own', '/callback'],
    ['custom:own', '/callback/custom:other'],
    ['custom:own', '/callback/github'],
    ['custom:own', '/callback/gitlab'],
    ['custom:own', '/callback/own'],
    ['custom:own', '/callback/CUSTOM:OWN'],
    ['custom:shared', '/callback/custom:shared'],
    ['custom:shared', '/callback/custom:own'],
    ['github', '/callback/github'],
    ['github', '/callback/custom:own'],
    ['gitlab', '/callback'],
    ['gitlab', '/callback/custom:own'],
  ])('is refused by its path: %s at %s', expectRefused)

  it.each([
    ['custom:own', '/callback/custom:own', 'https://honest.example.com'],
    ['custom:own', '/callback/custom:own', 'https:/'],
    ['custom:own', '/callback/custom:own', 'https://idp.example.com.honest.example'],
    ['custom:own', '/callback/custom:own', 'https://idp.example'],
    ['custom:tenant', '/callback/custom:tenant', `${ISSUER}/tenants/2`],
    ['custom:tenant', '/callback/custom:tenant', `${ISSUER}/tenants/1/authorize/more`],
    ['custom:openid', '/callback/custom:openid', `${ISSUER}/`],
    ['custom:openid', '/callback/custom:openid', 'https://accounts.google.com'],
    ['custom:promises', '/callback', 'https://accounts.google.com'],
    ['github', '/callback', 'https://accounts.google.com'],
    ['google', '/callback', 'https://github.com/login/oauth'],
    ['apple', '/callback', 'https://accounts.google.com'],
    ['azure', '/callback', 'https://accounts.google.com'],
    ['keycloak', '/callback', 'https://sso.example.com/realms/other'],
    ['keycloak', '/callback', ''],
    ['custom:own', '/callback/custom:own', ''],
  ])('is refused by its issuer: %s at %s by %s', (provider, path, iss) => expectRefused(provider, path, { iss }))

  it('is refused without an issuer where the metadata promise one', () => expectRefused('custom:promises', '/callback'))

  it('is refused when it reports an error', async () => {
    await expectRefused('custom:own', '/callback', { error: 'access_denied' })
    await expectRefused('github', '/callback', { error: 'access_denied', iss: 'https://accounts.google.com' })
  })

  it('is refused in a form', async () => {
    const { state } = await service.begin('custom:own')
    const payload = new URLSearchParams({ state, code: CODE }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const { query } = land(await service.app.inject({ method: 'POST', url: '/callback', payload, headers }))
    expect(query).toEqual(mixedUp)
  })
})

describe('an answer with a parameter twice', () => {
  it.each([
    `iss=${encodeURIComponent(ISSUER)}&iss=https%3A%2F%2Fhonest.example.com`,
    'state=x',
    'code=y',
    'error=&error=access_denied',
  ])('is refused: %s', async (more) => {
    const { state } = await service.begin('custom:own')
    const { query } = land(
      await service.app.inject(`/callback/custom:own?${new URLSearchParams({ state, code: CODE })}&${more}`),
    )
    expect(query).toEqual({ ...mixedUp, error_description: 'OAuth callback with a parameter twice' })
  })

  it('400: is refused in a form', async () => {
    const { state } = await service.begin('custom:own')
    const payload = `${new URLSearchParams({ state, code: CODE })}&code=y`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await service.app.inject({ method: 'POST', url: '/callback/custom:own', payload, headers })
    const text = 'Could not parse request body as a form: a field is there twice'
    expect(statusAndBody(answer)).toEqual([400, errorBody(400, 'bad_json', text)])
  })
})

describe('the answer of the provider that was asked', () => {
  it.each([
    ['custom:own', undefined],
    ['custom:own', ISSUER],
    ['custom:own', `${ISSUER}/`],
    ['custom:tenant', `${ISSUER}/tenants/1`],
    ['custom:shared', undefined],
    ['custom:openid', undefined],
    ['custom:openid', ISSUER],
    ['custom:promises', ISSUER],
  ])('signs in: %s with the issuer %s', async (provider, iss) => {
    const { fragment } = await signIn(provider, iss === undefined ? {} : { iss })
    expect(fragment).toEqual(signedIn(provider))
  })

  it('signs in by a form at the own address', async () => {
    const { state } = await service.begin('custom:own')
    const payload = new URLSearchParams({ state, code: CODE, iss: ISSUER }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const url = '/callback/custom:own'
    playUser()
    const { fragment } = land(await service.app.inject({ method: 'POST', url, payload, headers }))
    expect(fragment).toEqual(signedIn('custom:own'))
  })

  it('comes to the address that the token endpoint is sent too', async () => {
    const uris = ['custom:own', 'custom:shared', 'gitlab'].map(async (provider) => {
      const { url } = await service.begin(provider)
      return url.searchParams.get('redirect_uri')
    })
    expect(await Promise.all(uris)).toEqual([
      'http://localhost:8081/callback/custom:own',
      'http://localhost:8081/callback',
      'http://localhost:8081/callback/gitlab',
    ])
    await signIn('custom:own')
    const exchange = service.world.requests.findLast(({ method }) => method === 'POST')
    expect(new URLSearchParams(exchange?.body).get('redirect_uri')).toBe('http://localhost:8081/callback/custom:own')
  })

  it('comes to the shared address until an admin sets the own one', async () => {
    service.play({})
    await service.add(oauth2('custom:moved', { callback: 'shared' }))
    expect((await signIn('custom:moved')).fragment).toEqual(signedIn('custom:moved'))
    const { status, body } = await service.change('custom:moved', { callback: 'own' })
    const { redirect_uri } = z.looseObject({ redirect_uri: z.string() }).parse(body)
    expect([status, redirect_uri]).toEqual([200, 'http://localhost:8081/callback/custom:moved'])
    await service.deps.db.deleteFrom('users').execute()
    await expectRefused('custom:moved', '/callback')
    expect((await signIn('custom:moved')).fragment).toEqual(signedIn('custom:moved'))
  })
})
