import { createHash } from 'node:crypto'
import type { StubRequest } from '@trestle/testing/stub-provider.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  accountBody,
  errorBody,
  externalBody,
  fragmentBody,
  grantErrorBody,
  sessionBody,
  statusAndBody,
} from '../../../test/bodies.ts'
import {
  type Answers,
  clientId,
  clientSecret,
  type ExternalApp,
  openExternalApp,
  REDIRECT_URI,
} from '../../../test/external/external-app.ts'
import { oauth1Header } from '../oauth1-client.ts'

const API = 'https://api.twitter.com'
const REQUEST_TOKEN = { token: 'request-token-of-twitter', secret: 'request-secret-of-twitter' }
const ACCESS_TOKEN = { token: 'access-token-of-twitter', secret: 'access-secret-of-twitter' }
const VERIFIER = 'verifier-of-twitter'
const VERIFIER_OF_PKCE = 'v'.repeat(43)
const PKCE = {
  code_challenge: createHash('sha256').update(VERIFIER_OF_PKCE).digest('base64url'),
  code_challenge_method: 's256',
}
const PROFILE = {
  id_str: '783214',
  email: 'ada@twitter.example',
  name: 'Ada',
  screen_name: 'ada',
  profile_image_url_https: 'https://pbs.example/ada.png',
}

/** The account members that are stored in the user's metadata and identity. */
const ACCOUNT = accountBody({
  iss: 'https://api.twitter.com',
  sub: '783214',
  name: 'Ada',
  email: 'ada@twitter.example',
  picture: 'https://pbs.example/ada.png',
  full_name: 'Ada',
  user_name: 'ada',
  avatar_url: 'https://pbs.example/ada.png',
  preferred_username: 'ada',
})

let service: ExternalApp
beforeAll(async () => {
  service = await openExternalApp()
  service.answer(twitter())
})
afterAll(() => service.close())

/** Computes the expected signature, as a provider does, and compares it. */
function expectSigned(
  { method, url, headers }: StubRequest,
  token: { readonly token: string; readonly secret: string } | undefined,
  extra: Readonly<Record<string, string>>,
): void {
  const given = String(headers.authorization)
  const parameter = (name: string) => decodeURIComponent(new RegExp(`${name}="([^"]*)"`).exec(given)?.[1] ?? '')
  const expected = oauth1Header({
    method: method === 'POST' ? 'POST' : 'GET',
    url,
    consumer: { key: clientId('twitter'), secret: clientSecret('twitter') },
    ...(token ? { token } : {}),
    extra,
    nonce: parameter('oauth_nonce'),
    now: new Date(Number(parameter('oauth_timestamp')) * 1_000),
  })
  expect(given).toBe(expected)
  expect(parameter('oauth_nonce')).toMatch(/^[0-9a-f]{32}$/)
}

const toForm = ({ token, secret }: typeof REQUEST_TOKEN, rest: Readonly<Record<string, string>>): string =>
  new URLSearchParams({ oauth_token: token, oauth_token_secret: secret, ...rest }).toString()

function twitter(changes: { readonly profile?: object; readonly confirmed?: string } = {}): Answers {
  const { profile = PROFILE, confirmed = 'true' } = changes
  return (call, request) => {
    if (call === `POST ${API}/oauth/request_token`) {
      const [, callback = ''] = /oauth_callback="([^"]*)"/.exec(String(request.headers.authorization)) ?? []
      expect(decodeURIComponent(callback)).toMatch(/^http:\/\/localhost:8081\/callback\?state=[0-9a-f-]{36}$/)
      expectSigned(request, undefined, { oauth_callback: decodeURIComponent(callback) })
      return { body: toForm(REQUEST_TOKEN, { oauth_callback_confirmed: confirmed }) }
    }
    if (call === `POST ${API}/oauth/access_token`) {
      expectSigned(request, REQUEST_TOKEN, { oauth_verifier: VERIFIER })
      return { body: toForm(ACCESS_TOKEN, { user_id: '783214', screen_name: 'ada' }) }
    }
    if (call !== `GET ${API}/1.1/account/verify_credentials.json`) return { status: 404 }
    expectSigned(request, ACCESS_TOKEN, {})
    return { body: profile }
  }
}

/** Starts a sign-in at Twitter. The URL has no state, because the state belongs to the request token. */
async function begin(query: Readonly<Record<string, string>> = {}): Promise<string> {
  const { url } = await service.begin('twitter', query)
  expect(url.href).toBe(`${API}/oauth/authenticate?oauth_token=${REQUEST_TOKEN.token}`)
  const { authorization } = service.world.requests.at(-1)?.headers ?? {}
  return /state%3D([0-9a-f-]{36})/.exec(String(authorization))?.[1] ?? ''
}

const answer = { oauth_token: REQUEST_TOKEN.token, oauth_verifier: VERIFIER }

describe('twitter', () => {
  it('signs in by three signed calls, and ignores scopes and other parameters', async () => {
    const state = await begin({ scopes: 'tweet.read', prompt: 'x' })
    const { status, fragment, url } = await service.comeBack({ state, ...answer })
    expect([status, url.origin, REDIRECT_URI]).toEqual([302, 'http://localhost:3000', 'http://localhost:8081/callback'])
    expect(fragment).toEqual(
      fragmentBody('twitter', {
        provider_token: ACCESS_TOKEN.token,
      }),
    )
    const headers = { authorization: `Bearer ${fragment.access_token}` }
    const user = (await service.app.inject({ url: '/user', headers })).json()
    expect(user).toEqual(externalBody('twitter', ACCOUNT, { email: PROFILE.email }))
  })

  it('signs in the same user again in the PKCE flow', async () => {
    const state = await begin(PKCE)
    const { status, url, query, fragment } = await service.comeBack({ state, ...answer })
    expect([status, url.origin, fragment]).toEqual([302, 'http://localhost:3000', {}])
    expect(query).toEqual({ code: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    const payload = { auth_code: query.code, code_verifier: VERIFIER_OF_PKCE }
    const session = (await service.post('/token?grant_type=pkce', payload)).json()
    expect(session).toEqual(
      sessionBody(externalBody('twitter', ACCOUNT, { email: PROFILE.email }), { provider_token: ACCESS_TOKEN.token }),
    )
    const claims = JSON.parse(Buffer.from(session.access_token.split('.')[1], 'base64url').toString())
    expect(claims.amr).toEqual([{ method: 'oauth', timestamp: expect.any(Number) }])
    const again = await service.post('/token?grant_type=pkce', payload)
    expect(statusAndBody(again)).toEqual([
      404,
      grantErrorBody('invalid_grant', 'flow_state_not_found', 'invalid flow state, no valid flow state found', 404),
    ])
  })

  // ASVS 10.2.1
  it('refuses a wrong, used or expired state', async () => {
    const unusable = async (state: string) => {
      const { status, url, query } = await service.comeBack({ state, ...answer })
      expect([status, url.origin, url.hash]).toEqual([303, 'http://localhost:3000', ''])
      return query.error_description
    }
    expect(await unusable('wrong')).toBe('OAuth state parameter is invalid')
    const implicit = await begin()
    await service.comeBack({ state: implicit, ...answer })
    expect(await unusable(implicit)).toBe('OAuth state not found or expired')
    const pkce = await begin(PKCE)
    await service.comeBack({ state: pkce, ...answer })
    expect(await unusable(pkce)).toBe('State has already been used')
    const old = await begin()
    service.clock.advance(300_000)
    expect(await unusable(old)).toBe('OAuth state has expired')
  })

  it('returns a refusal, and accepts only its own request token', async () => {
    const denied = await service.comeBack({ state: await begin(), denied: REQUEST_TOKEN.token })
    expect(denied.query).toEqual({
      error: 'access_denied',
      error_code: 'bad_oauth_callback',
      error_description: 'The provider has refused the sign-in',
    })
    const foreign = await service.comeBack({ state: await begin(), ...answer, oauth_token: 'of somebody else' })
    expect(foreign.query).toEqual({
      error: 'invalid_request',
      error_code: 'bad_oauth_callback',
      error_description: 'OAuth callback without the request token of this sign-in',
    })
    const silent = await service.comeBack({ state: await begin(), oauth_token: REQUEST_TOKEN.token })
    expect(silent.query).toEqual(foreign.query)
  })

  it('500: redirects to no provider that does not confirm the callback', async () => {
    service.answer(twitter({ confirmed: 'false' }))
    const refused = await service.app.inject('/authorize?provider=twitter')
    const details = { error_id: refused.headers['x-request-id'] }
    const body = errorBody(500, 'unexpected_failure', 'Unable to exchange external code', details)
    expect([refused.statusCode, refused.json()]).toEqual([500, body])
    service.answer(twitter())
  })

  it('returns an error for a profile without an address and for a malformed profile', async () => {
    const { email: _email, ...nameless } = PROFILE
    service.answer(twitter({ profile: { ...nameless, id_str: '1' } }))
    const missing = await service.comeBack({ state: await begin(), ...answer })
    expect(missing.query.error_description).toBe('Error getting user email from external provider')
    service.answer(twitter({ profile: {} }))
    const malformed = await service.comeBack({ state: await begin(), ...answer })
    expect(malformed.query.error_description).toBe('Error getting user profile from external provider')
    service.answer(twitter())
  })
})
