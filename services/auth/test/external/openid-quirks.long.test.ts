import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fragmentBody } from '../bodies.ts'
import { type CustomAnswers, type CustomApp, claimsText, oidc, openCustomApp } from './custom-app.ts'
import { ACCESS_TOKEN, signText } from './provider-stub.ts'

let service: CustomApp
beforeAll(async () => {
  service = await openCustomApp()
  service.play({})
  await service.add(oidc('custom:openid'))
})
afterAll(() => service.close())
beforeEach(() => service.deps.db.deleteFrom('users').execute())

const unreadable = {
  error: 'server_error',
  error_code: 'unexpected_failure',
  error_description: 'Error getting user profile from external provider',
}
const signIn = async (answers: CustomAnswers, provider = 'custom:openid') => {
  service.play(answers)
  return service.signIn(provider)
}
const json = (members: object) => JSON.stringify({ sub: 'ada', ...members })
const EMAIL = 'ada@example.com'
const signedIn = (provider = 'custom:openid') => fragmentBody(provider, { provider_token: ACCESS_TOKEN })

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
