import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { accountBody, anyTime, externalBody } from '../bodies.ts'
import { type ExternalApp, land, openExternalApp } from './external-app.ts'
import { OAUTH_STUBS } from './oauth-stubs.ts'
import { OPENID_STUBS } from './openid-stubs.ts'
import { CODE, type ProviderStub, play } from './provider-stub.ts'

let service: ExternalApp
beforeAll(async () => {
  service = await openExternalApp()
})
afterAll(() => service.close())
// Each stub has only one account. Delete the users, so that each test is its first sign-in.
beforeEach(() => service.deps.db.deleteFrom('users').execute())

function stubOf(name: string): ProviderStub {
  const stub = [...OPENID_STUBS, ...OAUTH_STUBS].find((candidate) => candidate.name === name)
  if (!stub) throw new Error(`nothing plays ${name}`)
  return stub
}

/** Signs in at a provider's stub, and returns the user. */
async function signIn(stub: ProviderStub, form?: Readonly<Record<string, string>>) {
  service.answer(play(stub, service.clock))
  const { state } = await service.begin(stub.name)
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const payload = new URLSearchParams({ state, ...form }).toString()
  const { fragment } = form
    ? land(await service.app.inject({ method: 'POST', url: '/callback', payload, headers }))
    : await service.comeBack({ state, code: CODE })
  const authorization = `Bearer ${fragment.access_token}`
  return (await service.app.inject({ url: '/user', headers: { authorization } })).json()
}

describe('apple', () => {
  it('sends name and address once, and later sign-ins erase neither', async () => {
    const stub = stubOf('apple')
    const first = await signIn(stub, stub.form)
    const claims = { ...stub.idToken?.claims, email: undefined, is_private_email: undefined }
    const bare = { ...stub, idToken: { claims, jwksUrl: stub.idToken?.jwksUrl ?? '' } }
    const again = await signIn(bare, { code: CODE })
    expect(again).toEqual(
      externalBody(
        'apple',
        accountBody({
          iss: 'https://account.apple.com',
          sub: '001234.abcdef.1234',
          name: 'Ada Lovelace',
          email: stub.email,
          full_name: 'Ada Lovelace',
          custom_claims: { auth_time: expect.any(Number) },
        }),
        { id: first.id, email: 'ada@privaterelay.appleid.com' },
      ),
    )
    expect(again.identities[0].identity_data).toEqual(
      accountBody({
        iss: 'https://account.apple.com',
        sub: '001234.abcdef.1234',
        name: 'Ada Lovelace',
        email: stub.email,
        full_name: 'Ada Lovelace',
        custom_claims: { auth_time: expect.any(Number) },
      }),
    )
  })

  it('signs in without a name when Apple sends a malformed one', async () => {
    const stub = stubOf('apple')
    const claims = { ...stub.idToken?.claims, sub: 'x', email: 'x@y.example' }
    const other = { ...stub, idToken: { claims, jwksUrl: stub.idToken?.jwksUrl ?? '' } }
    const user = await signIn(other, { code: CODE, user: '{"name":{"firstName":{"a":1}}}' })
    expect(user).toEqual(
      externalBody(
        'apple',
        accountBody({
          iss: 'https://account.apple.com',
          sub: 'x',
          email: 'x@y.example',
          custom_claims: { auth_time: expect.any(Number), is_private_email: true },
        }),
      ),
    )
  })
})

const Members = z.looseObject({})

describe.each(['apple', 'slack'])('an address from %s', (name) => {
  it('treats an address as unverified when the provider says so', async () => {
    const stub = stubOf(name)
    const [url = '', answer] = Object.entries(stub.resources)[0] ?? []
    const stranger = {
      ...stub,
      ...(stub.idToken && {
        idToken: { ...stub.idToken, claims: { ...stub.idToken.claims, sub: 'stranger', email_verified: 'false' } },
      }),
      resources: answer ? { [url]: { ...answer, body: { ...Members.parse(answer.body), email_verified: false } } } : {},
    }
    service.answer(play(stranger, service.clock))
    const { state } = await service.begin(name)
    const { fragment } = await service.comeBack({ state, code: CODE })
    expect(fragment).toEqual({
      error: 'access_denied',
      error_code: 'provider_email_needs_verification',
      error_description: `Unverified email with ${name}. A confirmation email has been sent to your ${name} email`,
      sb: '',
    })
  })
})

describe('google', () => {
  it('reads the profile when there is no id_token', async () => {
    const { idToken: _idToken, ...stub } = stubOf('google')
    const body = { id: '42', email: 'profile@google.example', verified_email: true, name: 'Ada' }
    const user = await signIn({ ...stub, resources: { 'https://www.googleapis.com/userinfo/v2/me': { body } } })
    expect(user).toEqual(
      externalBody(
        'google',
        accountBody({
          iss: 'https://accounts.google.com',
          sub: body.id,
          name: 'Ada',
          email: 'profile@google.example',
          full_name: 'Ada',
        }),
        { email: body.email },
      ),
    )
  })
})

describe('discord', () => {
  it.each([
    ['0', 'abc', 'https://cdn.discordapp.com/avatars/7/abc.png'],
    ['1337', null, 'https://cdn.discordapp.com/embed/avatars/2.png'],
    ['0', null, 'https://cdn.discordapp.com/embed/avatars/0.png'],
  ])('gives every user a picture: discriminator %s, avatar %s', async (discriminator, avatar, picture) => {
    const body = { id: '7', username: 'ada', discriminator, avatar, email: 'seven@discord.example', verified: true }
    const user = await signIn({ ...stubOf('discord'), resources: { 'https://discord.com/api/users/@me': { body } } })
    expect(user.user_metadata).toEqual(
      accountBody({
        iss: 'https://discord.com/api',
        sub: '7',
        name: `ada#${discriminator}`,
        email: 'seven@discord.example',
        picture,
        full_name: 'ada',
        avatar_url: picture,
      }),
    )
  })
})

describe('a provider that accepts the secret in the header or the body', () => {
  it('is asked again with the secret in the body when it refuses Basic authentication', async () => {
    const calls: string[] = []
    service.answer((call, { headers, body }) => {
      if (call !== 'POST https://discord.com/api/oauth2/token')
        return { body: { id: '8', username: 'b', discriminator: '0' } }
      calls.push(headers.authorization ? 'basic' : String(new URLSearchParams(body).get('client_secret')))
      return headers.authorization
        ? { status: 401, body: { error: 'invalid_client' } }
        : { body: { access_token: 'x' } }
    })
    const { query } = await service.comeBack({ state: (await service.begin('discord')).state, code: CODE })
    expect(query.error_description).toBe('Error getting user email from external provider')
    expect(calls).toEqual(['basic', 'discord secret+'])
  })
})

describe('spotify', () => {
  const data = { id: 'ada', email: 'ada@spotify.example', display_name: 'Ada' }
  const images = [
    { url: 'small', width: 64, height: 64 },
    { url: 'large', width: 300, height: 300 },
    { url: 'unknown', width: null, height: null },
  ]

  it('confirms an address only by a mail, which then signs in', async () => {
    service.answer((call) =>
      call === 'POST https://accounts.spotify.com/api/token'
        ? { body: { access_token: 'x', token_type: 'Bearer', scope: 'user-read-email' } }
        : { body: { ...data, images } },
    )
    const signIn = async () => service.comeBack({ state: (await service.begin('spotify')).state, code: CODE })
    const refused = await signIn()
    const mailed = 'Unverified email with spotify. A confirmation email has been sent to your spotify email'
    expect(refused.query).toEqual({
      error: 'access_denied',
      error_code: 'provider_email_needs_verification',
      error_description: mailed,
    })
    const { link } = await service.readMail(data.email)
    // A second attempt this soon sends no second mail.
    expect((await signIn()).query.error_description).toBe(mailed)
    await service.idle()
    expect(service.recipients().filter((to) => to === data.email)).toHaveLength(1)
    const confirmed = await service.app.inject(`${link.pathname}${link.search}`)
    expect(String(confirmed.headers.location)).toContain('#access_token=')
    const { fragment } = await signIn()
    const headers = { authorization: `Bearer ${fragment.access_token}` }
    const user = (await service.app.inject({ url: '/user', headers })).json()
    const account = accountBody({
      iss: 'https://api.spotify.com/v1',
      sub: 'ada',
      name: 'Ada',
      email: 'ada@spotify.example',
      picture: 'large',
      full_name: 'Ada',
      avatar_url: 'large',
      email_verified: false,
    })
    expect(user).toEqual(externalBody('spotify', account, { email: data.email, confirmation_sent_at: anyTime }))
  })
})
