import { afterAll, beforeAll, expect, it } from 'vitest'
import { accountBody, externalBody } from '../../test/bodies.ts'
import { type AnybodyStub, landedBody, signInAs, startAnybodyProvider } from '../../test/external/anybody-provider.ts'
import { type HookStub, NOTHING, startHookStub } from '../../test/hook-stub.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'

let hooks: HookStub
let provider: AnybodyStub
let service: MailApp
beforeAll(async () => {
  hooks = await startHookStub()
  provider = await startAnybodyProvider()
  service = await openMailApp({ ...provider.settings, ...hooks.settings('BEFORE_USER_CREATED', 'AFTER_USER_CREATED') })
})
afterAll(async () => {
  await service.close()
  await provider.close()
  await hooks.close()
})

it('calls the hooks before and after the creation of a user by a provider, and never for a known user', async () => {
  const email = 'ada@example.com'
  hooks.answer = () => ({ body: { error: { http_code: 403, message: 'Not you' } } })
  const refused = await signInAs(service, 'keycloak', { sub: 'ada', email, verified: true })
  expect(refused.query).toEqual({ error: 'access_denied', error_code: 'hook_rejected', error_description: 'Not you' })
  expect(await service.deps.db.selectFrom('users').select('id').execute()).toEqual([])
  const [call] = hooks.callsOf('BEFORE_USER_CREATED')
  expect(call?.payload.user).toEqual(
    externalBody('keycloak', accountBody({ iss: provider.url, sub: 'ada', email, custom_claims: { verified: true } }), {
      email_confirmed_at: undefined,
      confirmed_at: undefined,
      last_sign_in_at: undefined,
    }),
  )
  hooks.answer = () => NOTHING
  for (const sub of ['ada', 'ada']) {
    const { fragment } = await signInAs(service, 'keycloak', { sub, email, verified: true })
    expect(fragment).toEqual(landedBody('keycloak'))
  }
  const known = await createSignedUp(service.deps)
  await signInAs(service, 'gitlab', { sub: '7', email: known.email, verified: true })
  expect(hooks.callsOf('BEFORE_USER_CREATED')).toHaveLength(2)
  await service.idle()
  expect(hooks.callsOf('AFTER_USER_CREATED').map(({ payload }) => payload.user)).toEqual([
    externalBody('keycloak', accountBody({ iss: provider.url, sub: 'ada', email, custom_claims: { verified: true } })),
  ])
})
