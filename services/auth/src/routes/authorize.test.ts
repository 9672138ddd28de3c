import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectFailure } from '../../test/expect-failure.ts'
import { type ExternalApp, openExternalApp, REDIRECT_URI } from '../../test/external/external-app.ts'
import { OPERATOR } from '../../test/forged-token.ts'

let service: ExternalApp
beforeAll(async () => {
  service = await openExternalApp()
})
afterAll(() => service.close())

/** Sends a request like a browser. @returns the status, the body and the parts of the redirect URL */
async function ask(query: Readonly<Record<string, string>>) {
  const answer = await service.app.inject(`/authorize?${new URLSearchParams(query)}`)
  const url = new URL(String(answer.headers.location))
  return {
    status: answer.statusCode,
    body: answer.body,
    url: url.origin + url.pathname,
    query: Object.fromEntries(url.searchParams),
  }
}

const anyState = expect.stringMatching(/^[0-9a-f-]{36}$/)
const challenge = { code_challenge: expect.stringMatching(/^[\w-]{43}$/), code_challenge_method: 'S256' }
const begun = (name: string, members: Readonly<Record<string, unknown>>) => ({
  client_id: `${name}-client`,
  redirect_uri: REDIRECT_URI,
  response_type: 'code',
  state: anyState,
  ...members,
})

describe('GET /authorize', () => {
  it('302: sends the browser to the provider without a referrer, and keeps the redirect', async () => {
    const answer = await service.app.inject('/authorize?provider=github&redirect_to=https://app.example.com/home')
    expect([answer.statusCode, answer.body, answer.headers['referrer-policy']]).toEqual([302, '', 'no-referrer'])
    const state = new URL(String(answer.headers.location)).searchParams.get('state') ?? ''
    const flow = service.deps.db.selectFrom('flow_state').select(['provider_type', 'redirect_to', 'user_id'])
    expect(await flow.where('id', '=', state).execute()).toEqual([
      { provider_type: 'github', redirect_to: 'https://app.example.com/home', user_id: null },
    ])
  })

  it('302: adds scopes for providers that have them and passes on unknown parameters', async () => {
    const scopes = { scopes: 'repo,read:org user:email', login: 'ada', Redirect_URI: 'x' }
    expect(await ask({ provider: 'github', ...scopes })).toEqual({
      status: 302,
      body: '',
      url: 'https://github.com/login/oauth/authorize',
      query: begun('github', { scope: 'user:email repo read:org', login: 'ada' }),
    })
  })

  it('302: passes on no request object, no mode of answer and no state', async () => {
    const state = { client_id: 'x', redirect_uri: 'https://evil.example', state: 'x' }
    const request = `${btoa('{"alg":"none"}')}.${btoa(JSON.stringify(state))}.`
    const asked = { request, request_uri: 'https://evil.example', response_mode: 'fragment', prompt: 'none' }
    expect(await ask({ provider: 'keycloak', ...asked })).toEqual({
      status: 302,
      body: '',
      url: 'https://keycloak.example.com/realms/test/protocol/openid-connect/auth',
      query: begun('keycloak', { scope: 'profile email', prompt: 'none', ...challenge }),
    })
    expect(await ask({ provider: 'apple', scopes: 'openid', response_mode: 'fragment' })).toEqual({
      status: 302,
      body: '',
      url: 'https://appleid.apple.com/auth/authorize',
      query: begun('apple', { scope: 'email name', response_mode: 'form_post' }),
    })
  })

  it('302: names the provider of WorkOS', async () => {
    expect(await ask({ provider: 'workos', workos_provider: 'GoogleOAuth' })).toEqual({
      status: 302,
      body: '',
      url: 'https://api.workos.com/sso/authorize',
      query: begun('workos', { provider: 'GoogleOAuth' }),
    })
  })

  it.each([
    ['/authorize', 'Unsupported provider: no provider is named'],
    ['/authorize?provider=none', 'Unsupported provider: provider is not enabled'],
  ])('400: refuses %s, which names no provider that is on', async (url, text) => {
    await expectFailure(service, { method: 'GET', url }, [400, 'validation_failed', text])
  })

  it('404: refuses an unknown invitation', async () => {
    const invited = { method: 'GET', url: '/authorize?provider=github&invite_token=none' } as const
    await expectFailure(service, invited, [404, 'user_not_found', 'User not found'])
  })

  it('404: refuses an invitation from the moment at which it expires', async () => {
    const email = 'ada@example.com'
    await service.post('/invite', { email }, OPERATOR)
    const { token } = await service.readMail(email)
    service.clock.advance(service.deps.config.mail.codeLifetimeSeconds * 1_000 - 1)
    const before = await ask({ provider: 'github', invite_token: token })
    expect([before.status, before.url]).toEqual([302, 'https://github.com/login/oauth/authorize'])
    service.clock.advance(1)
    const invited = { method: 'GET', url: `/authorize?provider=github&invite_token=${token}` } as const
    await expectFailure(service, invited, [404, 'user_not_found', 'User not found'])
  })

  it('405: refuses HEAD, which would begin a flow', async () => {
    const answer = await service.app.inject({ method: 'HEAD', url: '/authorize?provider=github' })
    expect([answer.statusCode, answer.body]).toEqual([405, ''])
  })
})
