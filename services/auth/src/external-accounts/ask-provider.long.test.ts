import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type ExternalApp, land, openExternalApp } from '../../test/external/external-app.ts'
import { OAUTH_STUBS } from '../../test/external/oauth-stubs.ts'
import { OPENID_STUBS } from '../../test/external/openid-stubs.ts'
import { CODE, type ProviderStub, play } from '../../test/external/provider-stub.ts'

const STUBS = [...OPENID_STUBS, ...OAUTH_STUBS].map((stub) => [stub.name, stub] as const)
const PKCE = { code_challenge: 'c'.repeat(43), code_challenge_method: 's256' }

let service: ExternalApp
beforeAll(async () => {
  service = await openExternalApp()
})
afterAll(() => service.close())
beforeEach(() => service.deps.db.deleteFrom('users').execute())

const callback = async (stub: ProviderStub, fields: Readonly<Record<string, string>>) => {
  if (!stub.form) return service.comeBack(fields)
  const payload = new URLSearchParams(fields).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return land(await service.app.inject({ method: 'POST', url: '/callback', payload, headers }))
}

/** Expects an error in both the query and the fragment of the redirect. */
async function expectRefusal(
  landing: Promise<Awaited<ReturnType<typeof callback>>>,
  [error, error_code, error_description]: readonly [string, string, string],
): Promise<void> {
  const { status, query, fragment } = await landing
  const told = { error, error_code, error_description }
  expect([status, query, fragment]).toEqual([302, told, { ...told, sb: '' }])
}

const countUsers = async (): Promise<number> =>
  (await service.deps.db.selectFrom('users').select('id').execute()).length

/** Returns the same user without an address in any answer of the provider. */
function withoutEmail(stub: ProviderStub): ProviderStub {
  const drop = (value: unknown): unknown => JSON.parse(JSON.stringify(value, dropEmails))
  const { idToken, token } = stub
  const resources = Object.entries(stub.resources).map(([url, { body, ...rest }]) => [
    url,
    { ...rest, body: drop(body) },
  ])
  return {
    ...stub,
    ...(idToken ? { idToken: { ...idToken, claims: { ...idToken.claims, email: undefined } } } : {}),
    token: { ...token, answer: z.record(z.string(), z.unknown()).parse(drop(token.answer)) },
    resources: Object.fromEntries(resources),
  }
}

function dropEmails(name: string, value: unknown): unknown {
  if (name === 'email' || name === 'emailAddress') return undefined
  const { data: list = [] } = z.array(z.looseObject({})).safeParse(value)
  // Drop answers that list addresses. Twitch's list of users is kept.
  const isAddresses = list.some((entry) => 'email' in entry || 'handle~' in entry) && !('login' in (list[0] ?? {}))
  return isAddresses ? [] : value
}

describe.each(STUBS)('a failing sign-in by %s', (name, stub) => {
  it('returns the refusal of the provider', async () => {
    const { state } = await service.begin(name)
    // Anybody can write this text into a URL, so it must not reach the application.
    const denial = { state, error: 'access_denied', error_description: 'Call 555-0100 and read us your password' }
    const text = 'The provider has refused the sign-in'
    await expectRefusal(callback(stub, denial), ['access_denied', 'bad_oauth_callback', text])
  })

  // ASVS 10.1.2, 10.2.1
  it('refuses a wrong, used or expired state', async () => {
    service.answer(play(stub, service.clock))
    const unusable = async (state: string) => {
      const { status, url, query } = await callback(stub, { state, code: CODE })
      expect([status, url.origin, url.hash]).toEqual([303, 'http://localhost:3000', ''])
      return query.error_description
    }
    expect(await unusable('wrong')).toBe('OAuth state parameter is invalid')
    const { state: implicit } = await service.begin(name)
    await callback(stub, { state: implicit, code: CODE })
    expect(await unusable(implicit)).toBe('OAuth state not found or expired')
    const { state: pkce } = await service.begin(name, PKCE)
    await callback(stub, { state: pkce, code: CODE })
    expect(await unusable(pkce)).toBe('State has already been used')
    const { state: old } = await service.begin(name)
    service.clock.advance(300_000)
    expect(await unusable(old)).toBe('OAuth state has expired')
  })

  it('creates no account without an address', async () => {
    const nobody = withoutEmail(stub)
    service.answer(play(nobody, service.clock))
    await service.deps.db.deleteFrom('users').execute()
    const { state } = await service.begin(name)
    const told = ['server_error', 'unexpected_failure', 'Error getting user email from external provider'] as const
    await expectRefusal(callback(stub, { state, code: CODE }), told)
    expect(await countUsers()).toBe(0)
  })

  it('creates no account when any step of the exchange fails', async () => {
    const told = ['server_error', 'unexpected_failure', 'Unable to exchange external code'] as const
    for (const answer of [
      { status: 400, body: { error: 'invalid_grant' } },
      { status: 200, body: { ok: false, error: 'bad_verification_code' } },
      { status: 200, body: 'error=bad_verification_code' },
      { status: 200, body: [] },
      { status: 302, headers: { location: 'http://127.0.0.1/' } },
      { status: 500, body: '' },
    ]) {
      service.answer(() => answer)
      const { state } = await service.begin(name)
      await expectRefusal(callback(stub, { state, code: CODE }), told)
    }
    expect(await countUsers()).toBe(0)
  })

  it('creates no account from a malformed profile', async () => {
    const token = { access_token: 'x', token_type: 'bearer', id_token: 'x.y.z' }
    const told = ['server_error', 'unexpected_failure', 'Error getting user profile from external provider'] as const
    for (const answer of [
      { status: 200, body: {} },
      { status: 200, body: 'no JSON' },
      { status: 200, body: [] },
      { status: 401, body: {} },
    ]) {
      service.answer((call) => (call === `POST ${stub.token.url}` ? { body: token } : answer))
      const { state } = await service.begin(name)
      await expectRefusal(callback(stub, { state, code: CODE }), told)
    }
    expect(await countUsers()).toBe(0)
  })
})

describe('a provider that cannot be reached', () => {
  it('changes no account and reveals nothing of the network', async () => {
    const gone = await openExternalApp()
    const { state } = await gone.begin('github')
    await gone.world.close()
    const { query } = await gone.comeBack({ state, code: CODE })
    expect(query).toEqual({
      error: 'server_error',
      error_code: 'unexpected_failure',
      error_description: 'Unable to exchange external code',
    })
    await gone.close()
  })
})
