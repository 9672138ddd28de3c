import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { errorBody, fragmentBody } from '../bodies.ts'
import {
  CUSTOM_CLIENT,
  type CustomAnswers,
  type CustomApp,
  claimsText,
  oauth2,
  oidc,
  openCustomApp,
  signBySecret,
} from './custom-app.ts'
import { ACCESS_TOKEN, signText } from './provider-stub.ts'

let service: CustomApp
beforeAll(async () => {
  service = await openCustomApp()
  service.play({})
  await service.add(oidc('custom:openid'))
  await service.add(
    oidc('custom:nested', { attribute_mapping: { email: '/mail/value', email_verified: '/mail/checked' } }),
  )
  await service.add(oidc('custom:chosen', { id_token_signed_response_alg: 'HS256' }))
  await service.add(oidc('custom:short', { id_token_signed_response_alg: 'HS256', client_secret: 'x'.repeat(31) }))
  await service.add(oidc('custom:apps', { id_token_signed_response_alg: 'HS256', acceptable_client_ids: ['app'] }))
  service.play({ metadata: { id_token_signing_alg_values_supported: ['RS256', 'HS256'] } })
  await service.add(oidc('custom:listed'))
  await service.add(oidc('custom:keys', { id_token_signed_response_alg: 'RS256' }))
  service.play({ metadata: { token_endpoint_auth_methods_supported: ['none'] } })
  await service.add(oidc('custom:public', { id_token_signed_response_alg: 'HS256' }))
})
afterAll(() => service.close())
beforeEach(() => service.deps.db.deleteFrom('users').execute())

const unreadable = {
  error: 'server_error',
  error_code: 'unexpected_failure',
  error_description: 'Error getting user profile from external provider',
}
const unverified = (provider: string) => ({
  error: 'access_denied',
  error_code: 'provider_email_needs_verification',
  error_description: `Unverified email with ${provider}. A confirmation email has been sent to your ${provider} email`,
})
const signIn = async (answers: CustomAnswers, provider = 'custom:openid') => {
  service.play(answers)
  return service.signIn(provider)
}
const json = (members: object) => JSON.stringify({ sub: 'ada', ...members })
const EMAIL = 'ada@example.com'
const signedIn = (provider = 'custom:openid') => fragmentBody(provider, { provider_token: ACCESS_TOKEN })

describe('a custom provider whose userinfo completes the id_token', () => {
  it.each([
    [{ email: EMAIL }, { email_verified: true }],
    [{ email: EMAIL }, { email: 'Ada@Example.com', email_verified: true }],
    [{ email: '' }, { email: EMAIL, email_verified: true }],
    [
      { email: null, email_verified: false },
      { email: EMAIL, email_verified: true },
    ],
    [{}, { email: EMAIL, email_verified: true }],
    [{ email: EMAIL, email_verified: true }, {}],
    [{ email: EMAIL }, { email: null, email_verified: true }],
    [{ email: EMAIL }, { email: '', email_verified: true }],
  ])('signs in by %j with %j', async (claims, profile) => {
    const { fragment } = await signIn({ idToken: json(claims), userinfo: json(profile) })
    expect(fragment).toEqual(signedIn())
  })

  it.each<[object, object]>([
    [{ email_verified: true }, { email: EMAIL }],
    [{ email: '', email_verified: true }, { email: EMAIL }],
    [{ email_verified: true }, { email: EMAIL, email_verified: false }],
    [{ email: EMAIL }, { email: 'eve@example.com', email_verified: true }],
    [
      { email: EMAIL, email_verified: false },
      { email: EMAIL, email_verified: true },
    ],
    [{ email: EMAIL }, {}],
    ...[['eve@example.com'], [EMAIL], [], {}, { value: EMAIL }, 7, false, ' '].map((email): [object, object] => [
      { email: EMAIL },
      { email, email_verified: true },
    ]),
    [{ email: EMAIL }, { email_verified: 'true' }],
    [{ email: EMAIL, email_verified: 'true' }, {}],
    [{ email: 'kim@example.com' }, { email: '\u212aim@example.com', email_verified: true }],
  ])('takes an address as unverified that its own part does not vouch for: %j with %j', async (claims, profile) => {
    const { query } = await signIn({ idToken: json(claims), userinfo: json(profile) })
    expect(query).toEqual(unverified('custom:openid'))
  })

  it('vouches for a mapped address alike', async () => {
    const idToken = json({ mail: { checked: true } })
    const { query } = await signIn({ idToken, userinfo: json({ mail: { value: EMAIL } }) }, 'custom:nested')
    expect(query).toEqual(unverified('custom:nested'))
    const userinfo = json({ mail: { value: EMAIL, checked: true } })
    const { fragment } = await signIn({ idToken: json({ mail: { value: '' } }), userinfo }, 'custom:nested')
    expect(fragment).toEqual(signedIn('custom:nested'))
  })

  it('refuses the userinfo of another user', async () => {
    const userinfo = json({ sub: 'eve', email_verified: true })
    expect((await signIn({ idToken: json({ email: EMAIL }), userinfo })).query).toEqual(unreadable)
    expect((await signIn({ idToken: json({ email: EMAIL }), userinfo: '{"email_verified":true}' })).query).toEqual(
      unreadable,
    )
  })
})

describe('a signed userinfo', () => {
  const idToken = json({})
  const claims = json({ email: EMAIL, email_verified: true })
  const completed = (text: string) => claimsText(service.clock.now(), text)

  it('is read', async () => {
    for (const userinfo of [await signText(claims), await signText(completed(claims))]) {
      await service.deps.db.deleteFrom('users').execute()
      expect((await signIn({ idToken, userinfo })).fragment).toEqual(signedIn())
    }
  })

  it.each([
    ['of another issuer', () => signText(json({ iss: 'https://evil.example', email: EMAIL, email_verified: true }))],
    ['for another client', () => signText(json({ aud: 'other', email: EMAIL, email_verified: true }))],
    ['of another user', () => signText(json({ sub: 'eve', email: EMAIL, email_verified: true }))],
    ['that has expired', () => signText(json({ exp: 1, email: EMAIL, email_verified: true }))],
    ['of another kind', () => signText(claims, { typ: 'logout+jwt' })],
    ['with the secret as its key', () => signBySecret(claims)],
    ['without a signature', async () => (await signText(claims)).replace(/[^.]*$/, 'AAAA')],
  ])('is refused %s', async (_which, sign) => {
    expect((await signIn({ idToken, userinfo: await sign() })).query).toEqual(unreadable)
  })
})

describe('an id_token that the secret of the client signs', () => {
  const claims = json({ email: EMAIL, email_verified: true })
  const sign = (changes: { secret?: string; header?: object; text?: string } = {}) =>
    signBySecret(claimsText(service.clock.now(), changes.text ?? claims), changes.secret, changes.header)

  it.each(['custom:chosen', 'custom:listed'])('signs in at %s', async (provider) => {
    expect((await signIn({ idToken: await sign() }, provider)).fragment).toEqual(signedIn(provider))
    const token = { idToken: claims }
    expect((await signIn(token, provider)).fragment).toEqual(signedIn(provider))
  })

  it.each([
    ['custom:openid', {}],
    ['custom:public', {}],
    ['custom:keys', {}],
    ['custom:short', { secret: 'x'.repeat(31) }],
    ['custom:chosen', { header: { kid: 'key of the provider' } }],
    ['custom:chosen', { header: { alg: 'HS384' } }],
    ['custom:chosen', { secret: `${CUSTOM_CLIENT.client_secret}x` }],
    ['custom:apps', { text: json({ aud: 'app', email: EMAIL, email_verified: true }) }],
  ])('is refused at %s with %j', async (provider, changes) => {
    expect((await signIn({ idToken: await sign(changes) }, provider)).query).toEqual(unreadable)
  })

  it('counts no longer once the provider signs by its keys', async () => {
    service.play({})
    await service.add(oidc('custom:changed', { id_token_signed_response_alg: 'HS256' }))
    expect((await signIn({ idToken: await sign() }, 'custom:changed')).fragment).toEqual(signedIn('custom:changed'))
    service.play({})
    const { status } = await service.change('custom:changed', { id_token_signed_response_alg: 'RS256' })
    expect(status).toBe(200)
    expect((await signIn({ idToken: await sign() }, 'custom:changed')).query).toEqual(unreadable)
    expect((await signIn({ idToken: claims }, 'custom:changed')).fragment).toEqual(signedIn('custom:changed'))
  })

  it('is refused when its claims are not UTF-8', async () => {
    const text = claimsText(service.clock.now(), json({ email: EMAIL, email_verified: true, name: 'Zoë' }))
    expect((await signIn({ idToken: await signBySecret(text) }, 'custom:chosen')).fragment).toEqual(
      signedIn('custom:chosen'),
    )
    const idToken = await signBySecret(Buffer.from(text, 'latin1'))
    expect((await signIn({ idToken }, 'custom:chosen')).query).toEqual(unreadable)
  })

  it('is not for providers without id_tokens', async () => {
    const refused = await service.add(oauth2('custom:plain', { id_token_signed_response_alg: 'HS256' }))
    const text = 'id_token_signed_response_alg is not for providers of the type oauth2'
    expect(refused).toEqual({ status: 400, body: errorBody(400, 'validation_failed', text) })
  })
})

describe('the type of an id_token', () => {
  const claims = json({ email: EMAIL, email_verified: true })
  const signAs = (typ: unknown) =>
    signText(claimsText(service.clock.now(), claims), { kid: 'key of the provider', typ })

  it.each([
    ...[
      'at+jwt',
      'at+jwt;x=1',
      'application/at+jwt; charset=utf-8',
      'AT+JWT ',
      'logout+jwt;a',
      'secevent+jwt',
      'JWT;x=1',
    ],
    ...['jwt+', '', 7],
  ])('is refused as a whole: %j', async (typ) => {
    expect((await signIn({ idToken: await signAs(typ) })).query).toEqual(unreadable)
  })

  it.each([undefined, 'JWT', 'jwt', 'application/jwt', 'JOSE'])('is accepted: %j', async (typ) => {
    expect((await signIn({ idToken: await signAs(typ) })).fragment).toEqual(signedIn())
  })
})
