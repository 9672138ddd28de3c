import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { errorBody } from '../bodies.ts'
import { OPERATOR } from '../forged-token.ts'
import { type CustomApp, oauth2, oidc, openCustomApp } from './custom-app.ts'
import { ACCESS_TOKEN, CODE, JWKS, signText } from './provider-stub.ts'

const OTHER = 'https://other.example.com'
const IN_USE = errorBody(
  409,
  'conflict',
  'Users have identities of this provider at another issuer or by another claim: take another identifier',
)

let service: CustomApp
beforeAll(async () => {
  service = await openCustomApp()
})
afterAll(() => service.close())
beforeEach(async () => {
  await service.deps.db.deleteFrom('users').execute()
  await service.deps.db.deleteFrom('custom_oauth_providers').execute()
})

const owner = { sub: '1', id: '1', email: 'owner@example.com', email_verified: true }
const stranger = { sub: '1', id: '1', email: 'stranger@example.com', email_verified: true }

const remove = (identifier: string) =>
  service.app.inject({ method: 'DELETE', url: `/admin/custom-providers/${identifier}`, headers: OPERATOR })

/** Simulates a provider with another issuer, where subject 1 is another person. */
function playOther(): void {
  service.answer(async (call) => {
    const [authorization_endpoint, token_endpoint, jwks_uri] = [`${OTHER}/authorize`, `${OTHER}/token`, `${OTHER}/keys`]
    if (call === `GET ${OTHER}/.well-known/openid-configuration`)
      return { body: { issuer: OTHER, authorization_endpoint, token_endpoint, jwks_uri } }
    if (call === `GET ${OTHER}/keys`) return { body: JWKS }
    if (call !== `POST ${OTHER}/token`) return undefined
    const iat = Math.floor(service.clock.now().getTime() / 1_000)
    const claims = { iss: OTHER, aud: 'custom-client', iat, exp: iat + 3_600, ...stranger }
    return {
      body: { access_token: ACCESS_TOKEN, token_type: 'bearer', id_token: await signText(JSON.stringify(claims)) },
    }
  })
}

async function signInOwner(provider: object, identifier: string): Promise<void> {
  service.play({ userinfo: owner, idToken: JSON.stringify(owner) })
  expect((await service.add(provider)).status).toBe(201)
  expect((await service.signIn(identifier)).fragment.access_token).toBeDefined()
}

const providers = () => service.deps.db.selectFrom('custom_oauth_providers').selectAll().execute()
const emails = () => service.deps.db.selectFrom('users').select('email').execute()

describe('a custom provider with identities', () => {
  it('refuses another issuer, and stays as it is', async () => {
    await signInOwner(oidc('custom:idp'), 'custom:idp')
    const before = await providers()
    playOther()
    expect(await service.change('custom:idp', { issuer: OTHER })).toEqual({ status: 409, body: IN_USE })
    expect(await providers()).toEqual(before)
  })

  it.each([
    ['another claim as the subject', oidc('custom:idp'), { attribute_mapping: { sub: 'uid' } }],
    ['another claim as the id', oauth2('custom:idp'), { attribute_mapping: { sub: 'uid' } }],
    ['the default claim as the id', oauth2('custom:idp'), { attribute_mapping: {} }],
    ['another host of the profile', oauth2('custom:idp'), { userinfo_url: `${OTHER}/userinfo` }],
    ['another port of the profile', oauth2('custom:idp'), { userinfo_url: 'https://idp.example.com:8443/userinfo' }],
  ])('refuses %s, and stays as it is', async (_case, provider, changes) => {
    await signInOwner(provider, 'custom:idp')
    const before = await providers()
    expect(await service.change('custom:idp', changes)).toEqual({ status: 409, body: IN_USE })
    expect(await providers()).toEqual(before)
  })

  it('takes other changes, and signs its user in again', async () => {
    await signInOwner(oauth2('custom:idp'), 'custom:idp')
    const changes = { attribute_mapping: { sub: 'id', name: 'title' }, name: 'Renamed', scopes: ['more'] }
    expect((await service.change('custom:idp', changes)).status).toBe(200)
    expect((await service.signIn('custom:idp')).fragment.access_token).toBeDefined()
    expect(await emails()).toEqual([{ email: 'owner@example.com' }])
  })

  it('gives its identifier to another issuer after its deletion to nobody, but to the same one', async () => {
    await signInOwner(oidc('custom:idp'), 'custom:idp')
    await remove('custom:idp')
    playOther()
    expect(await service.add(oidc('custom:idp', { issuer: OTHER }))).toEqual({ status: 409, body: IN_USE })
    await signInOwner(oidc('custom:idp'), 'custom:idp')
    expect(await emails()).toEqual([{ email: 'owner@example.com' }])
  })

  it.each([
    ['another claim as the id', oauth2, { attribute_mapping: { sub: 'uid' } }],
    ['the default claim as the id', oauth2, { attribute_mapping: {} }],
    ['another claim as the subject', oidc, { attribute_mapping: { sub: 'uid' } }],
    ['another host of the profile', oauth2, { userinfo_url: `${OTHER}/userinfo` }],
  ])('is not made again after its deletion with %s, and signs its user in as it was', async (_case, build, changes) => {
    await signInOwner(build('custom:idp'), 'custom:idp')
    await remove('custom:idp')
    expect(await service.add(build('custom:idp', changes))).toEqual({ status: 409, body: IN_USE })
    expect(await providers()).toEqual([])
    await signInOwner(build('custom:idp'), 'custom:idp')
    expect(await emails()).toEqual([{ email: 'owner@example.com' }])
  })

  it('is made again after its deletion with another claim as the id once its users are gone', async () => {
    await signInOwner(oauth2('custom:idp'), 'custom:idp')
    await remove('custom:idp')
    await service.deps.db.deleteFrom('users').execute()
    await service.add(oauth2('custom:idp', { attribute_mapping: { sub: 'uid' } }))
    expect((await providers()).map(({ identifier }) => identifier)).toEqual(['custom:idp'])
  })

  it('takes another issuer while nobody has signed in', async () => {
    service.play({})
    await service.add(oidc('custom:idp'))
    playOther()
    expect((await service.change('custom:idp', { issuer: OTHER })).status).toBe(200)
    expect((await service.signIn('custom:idp')).fragment.access_token).toBeDefined()
    expect(await emails()).toEqual([{ email: 'stranger@example.com' }])
  })
})

describe('the subject of an identity', () => {
  it('signs nobody in at another issuer, whose provider SQL or an import has written', async () => {
    await signInOwner(oidc('custom:idp'), 'custom:idp')
    playOther()
    await service.add(oidc('custom:other', { issuer: OTHER }))
    await remove('custom:idp')
    await service.deps.db.updateTable('identities').set({ provider: 'custom:other' }).execute()
    const { state } = await service.begin('custom:other')
    const { query } = await service.comeBack({ state, code: CODE }, '/callback/custom:other')
    expect(query).toEqual({
      error: 'server_error',
      error_code: 'identity_already_exists',
      error_description: 'Identity is already linked to another user',
    })
    expect(await emails()).toEqual([{ email: 'owner@example.com' }])
  })
})
