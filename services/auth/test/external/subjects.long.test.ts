import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type CustomApp, oauth2, oidc, openCustomApp } from './custom-app.ts'
import { CODE } from './provider-stub.ts'

let service: CustomApp
beforeAll(async () => {
  service = await openCustomApp()
  service.play({})
  await service.add(oauth2('custom:plain'))
  await service.add(oauth2('custom:nested', { attribute_mapping: { sub: '/account/ids/0', nickname: 'number' } }))
  await service.add(oidc('custom:openid', { attribute_mapping: { sub: 'uid' } }))
})
afterAll(() => service.close())
beforeEach(() => service.deps.db.deleteFrom('users').execute())

const refused = {
  error: 'server_error',
  error_code: 'unexpected_failure',
  error_description: 'Error getting user profile from external provider',
}
const subjects = async () => (await service.identities()).map((identity) => identity.provider_id)
const userinfoOf = (id: string, email: string) => `{"id":${id},"email":"${email}","email_verified":true}`

describe('the id of a user at a custom provider', () => {
  it('keeps two users apart whose ids differ by digits that JSON.parse rounds away', async () => {
    service.play({ userinfo: userinfoOf('1234567890123456789', 'first@example.com') })
    await service.signIn('custom:plain')
    service.play({ userinfo: userinfoOf('1234567890123456700', 'second@example.com') })
    await service.signIn('custom:plain')
    const [second, first] = await service.identities()
    expect([first?.provider_id, second?.provider_id]).toEqual(['1234567890123456789', '1234567890123456700'])
    expect(first?.user_id).not.toBe(second?.user_id)
  })

  it.each([
    ['7', '7'],
    ['-7', '-7'],
    ['0', '0'],
    ['9007199254740993', '9007199254740993'],
    ['18446744073709551615', '18446744073709551615'],
    [`1${'0'.repeat(400)}1`, `1${'0'.repeat(400)}1`],
    ['"0123"', '0123'],
    ['"1.5"', '1.5'],
  ])('reads %s as its digits', async (id, subject) => {
    service.play({ userinfo: userinfoOf(id, 'ada@example.com') })
    await service.signIn('custom:plain')
    expect(await subjects()).toEqual([subject])
  })

  it.each([
    ...['true', 'false', 'null', '""', '[7]', '{"id":7}', '-0'],
    ...['1.5', '7.0', '7e0', '1e400', '1.0000000000000000000001', '9007199254740990.7', '1e-7'],
  ])('refuses %s', async (id) => {
    service.play({ userinfo: userinfoOf(id, 'ada@example.com') })
    expect((await service.signIn('custom:plain')).query).toEqual(refused)
    expect(await subjects()).toEqual([])
  })

  it('is exact behind a JSON pointer, where other numbers are rounded as before', async () => {
    const claims = '"number":12345678901234567891,"email":"ada@example.com","email_verified":true'
    service.play({ userinfo: `{"account":{"ids":[12345678901234567891]},${claims}}` })
    await service.signIn('custom:nested')
    const rows = await service.deps.db.selectFrom('identities').select(['provider_id', 'identity_data']).execute()
    expect(rows).toEqual([
      {
        provider_id: '12345678901234567891',
        identity_data: {
          iss: 'https://idp.example.com',
          sub: '12345678901234567891',
          provider_id: '12345678901234567891',
          email: 'ada@example.com',
          email_verified: true,
          phone_verified: false,
          nickname: '12345678901234567000',
        },
      },
    ])
  })

  it('is exact in an id_token', async () => {
    const claims = '"sub":"x","email":"ada@example.com","email_verified":true'
    service.play({ idToken: `{"uid":9007199254740993,${claims}}` })
    await service.signIn('custom:openid')
    expect(await subjects()).toEqual(['9007199254740993'])
  })

  it('compares the digits of id_token and userinfo', async () => {
    const userinfo = '{"sub":12345678901234567892,"uid":"b","email":"ada@example.com","email_verified":true}'
    service.play({ idToken: '{"sub":12345678901234567891,"uid":"a"}', userinfo })
    expect((await service.signIn('custom:openid')).query).toEqual(refused)
    service.play({ idToken: '{"sub":12345678901234567892,"uid":"a"}', userinfo })
    await service.signIn('custom:openid')
    expect(await subjects()).toEqual(['a'])
  })
})

describe('the numeric id of a user at a fixed provider', () => {
  const TOKEN = { access_token: 'token', token_type: 'bearer' }
  const signIn = async (provider: 'github' | 'gitlab', id: string) => {
    const emails = [{ email: 'ada@example.com', verified: true, primary: true }]
    service.answer((call) => {
      if (call.startsWith('POST ')) return { body: TOKEN }
      return { body: call.endsWith('/emails') ? emails : `{"id":${id},"login":"ada"}` }
    })
    return service.comeBack({ state: (await service.begin(provider)).state, code: CODE })
  }

  it.each(['github', 'gitlab'] as const)('is exact at %s', async (provider) => {
    await signIn(provider, '9007199254740993')
    await signIn(provider, '9007199254740992')
    expect(await subjects()).toEqual(['9007199254740992', '9007199254740993'])
    for (const id of ['true', '1.5', '7.0', '1.00000000000000000001', '"7"']) {
      expect([id, (await signIn(provider, id)).query]).toEqual([id, refused])
    }
  })
})
