import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { amrEntry, anyTime, fragmentBody, grantErrorBody, statusAndBody, userBody } from '../bodies.ts'
import { type ExternalApp, type Landing, land, openExternalApp, REDIRECT_URI } from './external-app.ts'
import { OAUTH_STUBS } from './oauth-stubs.ts'
import { OPENID_STUBS } from './openid-stubs.ts'
import { ACCESS_TOKEN, CODE, type ProviderStub, play } from './provider-stub.ts'

const STUBS = [...OPENID_STUBS, ...OAUTH_STUBS].map((stub) => [stub.name, stub] as const)

let service: ExternalApp
beforeAll(async () => {
  service = await openExternalApp()
})
afterAll(() => service.close())

/** Returns from a provider as a browser would. */
async function comeBack({ form }: ProviderStub, state: string): Promise<Landing> {
  if (!form) return service.comeBack({ state, code: CODE })
  const payload = new URLSearchParams({ state, ...form }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return land(await service.app.inject({ method: 'POST', url: '/callback', payload, headers }))
}

/** Returns the expected user, except times and ids. */
function expectedUser({ name, email, data }: ProviderStub) {
  const identityData = { phone_verified: false, provider_id: data.sub, ...data }
  return {
    email,
    email_confirmed_at: expect.any(String),
    last_sign_in_at: expect.any(String),
    app_metadata: { provider: name, providers: [name] },
    user_metadata: identityData,
    identities: [
      {
        identity_id: expect.any(String),
        id: data.sub,
        user_id: expect.any(String),
        identity_data: identityData,
        provider: name,
        last_sign_in_at: expect.any(String),
        created_at: expect.any(String),
        updated_at: expect.any(String),
        email,
      },
    ],
    is_anonymous: false,
  }
}

describe.each(STUBS)('the provider %s', (name, stub) => {
  it('is sent the parameters of its documentation', async () => {
    const { url, state } = await service.begin(name, {
      prompt: 'consent',
      client_id: 'x',
      State: 'x',
      response_type: 'x',
    })
    expect(url.origin + url.pathname).toBe(stub.authorize.url)
    expect(url.search).not.toContain('+')
    const challenge = { code_challenge: expect.stringMatching(/^[\w-]{43}$/), code_challenge_method: 'S256' }
    expect(Object.fromEntries(url.searchParams)).toEqual({
      ...stub.authorize.parameters,
      prompt: 'consent',
      client_id: `${name}-client`,
      redirect_uri: REDIRECT_URI,
      response_type: 'code',
      state,
      ...(stub.pkce ? challenge : {}),
    })
  })

  it('signs in a new user in the implicit flow', async () => {
    service.answer(play(stub, service.clock))
    const { state } = await service.begin(name, { redirect_to: 'https://app.example.com/home' })
    const { status, url, fragment, query } = await comeBack(stub, state)
    const refreshToken = stub.token.answer.refresh_token
    expect([status, url.origin + url.pathname, query]).toEqual([302, 'https://app.example.com/home', {}])
    expect(Object.keys(fragment)).toEqual([
      ...['access_token', 'refresh_token', 'provider_token', 'expires_in', 'provider', 'token_type', 'expires_at'],
      ...(refreshToken ? ['provider_refresh_token'] : []),
      'sb',
    ])
    expect(fragment).toEqual(
      fragmentBody(name, {
        provider_token: ACCESS_TOKEN,
        ...(refreshToken ? { provider_refresh_token: refreshToken } : {}),
      }),
    )
    const headers = { authorization: `Bearer ${fragment.access_token}` }
    const user = (await service.app.inject({ url: '/user', headers })).json()
    expect(user).toEqual(userBody({ ...expectedUser(stub), confirmed_at: anyTime }))
    expect(user.identities).toHaveLength(1)
  })

  // ASVS 6.8.4, 10.4.6
  it('signs in the same user again in the PKCE flow', async () => {
    service.answer(play(stub, service.clock))
    const verifier = 'v'.repeat(43)
    const codeChallenge = createHash('sha256').update(verifier).digest('base64url')
    const pkce = { code_challenge: codeChallenge, code_challenge_method: 's256' }
    const { state } = await service.begin(name, pkce)
    const { status, url, query, fragment } = await comeBack(stub, state)
    expect([status, url.origin, fragment]).toEqual([302, 'http://localhost:3000', {}])
    expect(query).toEqual({ code: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    const payload = { auth_code: query.code, code_verifier: verifier }
    const session = (await service.post('/token?grant_type=pkce', payload)).json()
    expect(session.user).toEqual(userBody({ ...expectedUser(stub), confirmed_at: anyTime }))
    expect(session.provider_token).toBe(ACCESS_TOKEN)
    expect(session.provider_refresh_token ?? null).toBe(stub.token.answer.refresh_token ?? null)
    const claims = JSON.parse(Buffer.from(session.access_token.split('.')[1], 'base64url').toString())
    // A second factor at the provider does not step the session up.
    expect([claims.aal, claims.amr]).toEqual(['aal1', [amrEntry('oauth')]])
    const again = await service.post('/token?grant_type=pkce', payload)
    expect(statusAndBody(again)).toEqual([
      404,
      grantErrorBody('invalid_grant', 'flow_state_not_found', 'invalid flow state, no valid flow state found', 404),
    ])
  })
})
