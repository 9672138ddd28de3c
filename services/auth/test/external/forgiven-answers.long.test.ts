import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fragmentBody } from '../bodies.ts'
import { type CustomAnswers, type CustomApp, oauth2, openCustomApp } from './custom-app.ts'
import { OAUTH_STUBS } from './oauth-stubs.ts'
import { OPENID_STUBS } from './openid-stubs.ts'
import { ACCESS_TOKEN, CODE, type ProviderStub, play } from './provider-stub.ts'

let service: CustomApp
beforeAll(async () => {
  service = await openCustomApp()
  service.play({})
  await service.add(oauth2('custom:plain'))
})
afterAll(() => service.close())
beforeEach(() => service.deps.db.deleteFrom('users').execute())

const PROVIDER = 'custom:plain'
const userinfo = '{"id":"7","email":"ada@example.com","email_verified":true}'
const signIn = async (answers: CustomAnswers) => {
  service.play({ userinfo, ...answers })
  return service.signIn(PROVIDER)
}

describe('the answer of a token endpoint', () => {
  it.each<CustomAnswers>([
    { tokenStatus: 201 },
    { tokenStatus: 201, token: { expires_in: '' } },
    { token: { refresh_token: '' } },
    { token: { refresh_token: null } },
    { token: { refresh_token: 7 } },
    { token: { expires_in: '' } },
    { token: { expires_in: null } },
    { token: { expires_in: '3600' } },
    { token: { expires_in: 'soon' } },
    { token: { expires_in: -1 } },
    { token: { scope: ['email', 'profile'] } },
    { token: { scope: null } },
    { token: { token_type: undefined } },
    { token: { token_type: null } },
    { token: { token_type: '' } },
    { token: { token_type: 7 } },
    { token: { token_type: 'Bearer' } },
    { token: { id_token: null } },
    { token: { id_token: '' } },
    { token: { id_token: 7 } },
  ])('is forgiven: %j', async (answers) => {
    expect((await signIn(answers)).fragment).toEqual(fragmentBody(PROVIDER, { provider_token: ACCESS_TOKEN }))
  })

  it.each<CustomAnswers>([
    { token: { access_token: undefined } },
    { token: { access_token: null } },
    { token: { access_token: '' } },
    { token: { access_token: 7 } },
    { token: { token_type: 'mac' } },
    { token: '[]' },
    { token: 'access_token=a' },
    { tokenStatus: 204, token: '' },
    { tokenStatus: 400 },
    { tokenStatus: 500 },
  ])('is refused: %j', async (answers) => {
    expect((await signIn(answers)).query).toEqual({
      error: 'server_error',
      error_code: 'unexpected_failure',
      error_description: 'Unable to exchange external code',
    })
  })
})

/** Members that decide the result: ids, the address and its verification, and the flag of Slack's failures. */
const DECISIVE =
  /^(id|sub|uuid|id_str|externalId|ok|iss|aud|xms_edov|connection_id|https:..slack.com.user_id|emailAddress|.*email.*|(is_)?(verified|confirmed|primary)|confirmed_at)$/

/** Replaces the value of every member that does not decide the result. */
function distort(value: unknown, odd: unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => distort(entry, odd))
  return typeof value === 'object' && value !== null ? distortEach(value, odd) : value
}

function distortEach(value: object, odd: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      if (DECISIVE.test(name)) return [name, member]
      const holds = typeof member === 'object' && names(member).some((inner) => DECISIVE.test(inner))
      return [name, holds ? distort(member, odd) : odd]
    }),
  )
}

function names(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [name, ...names(member)])
}

function oddStub(stub: ProviderStub, odd: unknown): ProviderStub {
  const resources = Object.entries(stub.resources).map(([url, { body, ...rest }]) => [
    url,
    { ...rest, body: distort(body, odd) },
  ])
  const changed = { ...stub, resources: Object.fromEntries(resources) }
  if (!stub.idToken) return changed
  return { ...changed, idToken: { ...stub.idToken, claims: distortEach(stub.idToken.claims, odd) } }
}

const stubs = [...OPENID_STUBS, ...OAUTH_STUBS]

describe.each(stubs.map((stub) => [stub.name, stub] as const))('a profile of %s', (name, stub) => {
  it.each([null, 7, true, '', 'text', [], [7], {}, { a: null }])('signs in whose other members are %j', async (odd) => {
    service.answer(play(oddStub(stub, odd), service.clock))
    const { state } = await service.begin(name)
    await service.comeBack({ state, code: CODE })
    expect((await service.identities()).map((identity) => identity.provider_id)).toEqual([stub.data.sub])
  })
})

describe('the text `true`', () => {
  it('verifies no address of keycloak', async () => {
    const stub = stubs.find((candidate) => candidate.name === 'keycloak')
    if (!stub) throw new Error('nothing plays keycloak')
    const body = { sub: '7', name: null, email: 'ada@keycloak.example', email_verified: 'true' }
    const resources = Object.fromEntries(Object.keys(stub.resources).map((url) => [url, { body }]))
    service.answer(play({ ...stub, resources }, service.clock))
    const { state } = await service.begin('keycloak')
    expect((await service.comeBack({ state, code: CODE })).query).toEqual({
      error: 'access_denied',
      error_code: 'provider_email_needs_verification',
      error_description: 'Unverified email with keycloak. A confirmation email has been sent to your keycloak email',
    })
  })
})
