import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  accountBody,
  anyTime,
  externalBody,
  identityBody,
  phoneIdentity,
  statusAndBody,
  wrongPassword,
} from '../../test/bodies.ts'
import {
  type AnybodyStub,
  begin,
  comeBackAs,
  landedBody,
  startAnybodyProvider,
} from '../../test/external/anybody-provider.ts'
import { OPERATOR } from '../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'

let service: MailApp
let stub: AnybodyStub
beforeAll(async () => {
  stub = await startAnybodyProvider()
  service = await openMailApp(stub.settings)
})
afterAll(async () => {
  await service.close()
  await stub.close()
})

it.each([
  ['accepts an invitation 1 ms before it expires', 999, landedBody('keycloak')],
  [
    'refuses an invitation from the moment at which it expires',
    1_000,
    { error: 'server_error', error_code: 'invite_not_found', error_description: 'Invite not found', sb: '' },
  ],
])('%s, when the browser returns from the provider', async (_outcome, milliseconds, landed) => {
  const email = `kate${milliseconds}@example.com`
  await service.post('/invite', { email }, OPERATOR)
  const { token } = await service.readMail(email)
  service.clock.advance((service.deps.config.mail.codeLifetimeSeconds - 1) * 1_000)
  const state = await begin(service, 'keycloak', { invite_token: token })
  service.clock.advance(milliseconds)
  const account = { sub: String(milliseconds), email, verified: true }
  expect((await comeBackAs(service, state, account)).fragment).toEqual(landed)
})

it('refuses the invitation of a user who became an SSO user meanwhile', async () => {
  const email = 'sso@example.com'
  await service.post('/invite', { email }, OPERATOR)
  const { token } = await service.readMail(email)
  const state = await begin(service, 'keycloak', { invite_token: token })
  await service.deps.db.updateTable('users').set({ is_sso_user: true }).where('email', '=', email).execute()
  expect((await comeBackAs(service, state, { sub: 'sso', email, verified: true })).fragment).toEqual({
    error: 'server_error',
    error_code: 'invite_not_found',
    error_description: 'Invite not found',
    sb: '',
  })
})

it.each([
  ['by its link', true],
  ['by a sign-in', false],
])(
  'leaves a user who accepts an invitation %s what the admin has given, but no way in of before',
  async (...[, isByLink]) => {
    const [email, phone] = [`gifts-${isByLink}@example.com`, isByLink ? '15005550081' : '15005550082']
    const invite = () => service.post('/invite', { email, data: { team: 'red', name: 'Ann' } }, OPERATOR)
    const { id } = (await invite()).json()
    const change = (payload: object) =>
      service.app.inject({ method: 'PUT', url: `/admin/users/${id}`, headers: OPERATOR, payload })
    expect(
      (await change({ phone: `+${phone}`, user_metadata: { desk: 4 }, app_metadata: { plan: 'gold' } })).statusCode,
    ).toBe(200)
    await service.readMail(email)
    await invite()
    const { token } = await service.readMail(email)
    const password = 'a password of before'
    expect((await change({ password })).statusCode).toBe(200)
    service.clock.advance(1_000)
    const state = await begin(service, 'keycloak', isByLink ? { invite_token: token } : {})
    const account = { sub: `gifts-${isByLink}`, email, verified: !isByLink }
    expect((await comeBackAs(service, state, account)).fragment).toEqual(landedBody('keycloak'))
    const claims = accountBody({
      iss: stub.url,
      sub: account.sub,
      email,
      custom_claims: { verified: account.verified },
      email_verified: account.verified,
    })
    expect(statusAndBody(await service.app.inject({ url: `/admin/users/${id}`, headers: OPERATOR }))).toEqual([
      200,
      externalBody('keycloak', claims, {
        id,
        phone,
        invited_at: anyTime,
        confirmation_sent_at: anyTime,
        app_metadata: { plan: 'gold', provider: 'keycloak', providers: ['keycloak', 'phone'] },
        user_metadata: { ...claims, team: 'red', name: 'Ann', desk: 4 },
        identities: [
          identityBody({ id: account.sub, user_id: id, identity_data: claims, provider: 'keycloak', email }),
          phoneIdentity(id, phone),
        ],
      }),
    ])
    const answer = await service.post('/token?grant_type=password', { email, password })
    expect(statusAndBody(answer)).toEqual(wrongPassword)
  },
)
