import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { errorBody, statusAndBody } from '../bodies.ts'
import { createSignedIn, type SignedIn } from '../signed-in.ts'
import { type CustomApp, oauth2, openCustomApp } from './custom-app.ts'
import { CODE } from './provider-stub.ts'

// The thief of an operator's session links an account of their own, and waits until the role of the operator has ended.
const TEXT = 'Only operators act on a user with a console role'
const URL_OF_LINKING = '/user/identities/authorize?provider=custom:plain&skip_http_redirect=true'
let service: CustomApp
let operator: SignedIn
beforeAll(async () => {
  service = await openCustomApp()
  service.play({ userinfo: { id: 'thief', email: 'thief@example.com', email_verified: true } })
  await service.add(oauth2('custom:plain'))
})
afterAll(() => service.close())
beforeEach(async () => {
  operator = await createSignedIn(service)
})

const begin = () => service.app.inject({ url: URL_OF_LINKING, headers: operator.headers })
const promote = () =>
  service.deps.db.updateTable('users').set({ console_role: 'admin' }).where('id', '=', operator.user.id).execute()
const subjects = async () => (await service.identities()).map(({ provider_id }) => provider_id)

it('403: begins no linking at a custom provider for an operator', async () => {
  await promote()
  expect(statusAndBody(await begin())).toEqual([403, errorBody(403, 'console_user_protected', TEXT)])
})

it('302: refuses to link at the return of a user who became an operator meanwhile', async () => {
  const state = new URL((await begin()).json().url).searchParams.get('state') ?? ''
  await promote()
  const { fragment } = await service.comeBack({ state, code: CODE }, '/callback/custom:plain')
  expect(fragment).toEqual({
    error: 'access_denied',
    error_code: 'console_user_protected',
    error_description: TEXT,
    sb: '',
  })
  expect(await subjects()).not.toContain('thief')
})
