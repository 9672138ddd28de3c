import { afterAll, beforeAll, expect, it } from 'vitest'
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
