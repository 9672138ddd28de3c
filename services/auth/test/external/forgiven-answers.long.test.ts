import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fragmentBody } from '../bodies.ts'
import { type CustomAnswers, type CustomApp, oauth2, openCustomApp } from './custom-app.ts'
import { ACCESS_TOKEN } from './provider-stub.ts'

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
