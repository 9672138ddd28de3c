import { OPERATOR_ROLES } from '@trestle/operators/operator-roles.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../test/auth-app.ts'
import { errorBody, statusAndBody } from '../../../test/bodies.ts'
import { forgeBearer } from '../../../test/forged-token.ts'
import { createOperator, keyOf, OPERATOR_SETTINGS, type SignedInOperator } from '../../../test/operators.ts'
import { createSignedIn, signIn } from '../../../test/signed-in.ts'

let test: TestApp
let admin: SignedInOperator
beforeAll(async () => {
  test = await openTestApp({ settings: OPERATOR_SETTINGS })
  admin = await createOperator(test, 'admin')
})
afterAll(() => test.close())

const me = (headers: Readonly<Record<string, string>>, { app } = test) =>
  app.inject({ url: '/operator/me', headers: { ...headers } })
const UNAUTHORIZED = errorBody(
  401,
  'operator_unauthorized',
  'The operator key or the access token is missing, malformed or not good',
)
const shown = (key: string, role: string, { user, email }: Pick<SignedInOperator, 'user' | 'email'>, own = role) => ({
  operator: { key, role, actor: { id: user.id, email, role: own } },
})

describe('GET /operator/me', () => {
  it.each(OPERATOR_ROLES)('200: tells an operator with the role %s who they are', async (role) => {
    const operator = await createOperator(test, role)
    expect(statusAndBody(await me(operator.credentials))).toEqual([200, shown(`desk-${role}`, role, operator)])
  })

  it('200: the role of the key counts where it is lower', async () => {
    const byKey = { ...admin.credentials, 'x-trestle-operator-key': keyOf('viewer') }
    expect(statusAndBody(await me(byKey))).toEqual([200, shown('desk-viewer', 'viewer', admin, 'admin')])
  })

  it('200: the role of the user counts where it is lower', async () => {
    const viewer = await createOperator(test, 'viewer')
    const byUser = { ...viewer.credentials, 'x-trestle-operator-key': keyOf('admin') }
    expect(statusAndBody(await me(byUser))).toEqual([200, shown('desk-admin', 'viewer', viewer)])
  })

  const key = { 'x-trestle-operator-key': keyOf('admin') }
  const forged = () => ({
    ...{ sub: admin.user.id, role: 'service_role', aal: 'aal2' },
    app_metadata: { console_role: 'admin' },
  })

  it.each<[string, () => Record<string, string>]>([
    ['a token without a key', () => ({ authorization: admin.credentials.authorization ?? '' })],
    ['a key without a token', () => key],
    ['an unknown key', () => ({ ...admin.credentials, 'x-trestle-operator-key': `${keyOf('admin')}-` })],
    ['a token that was changed', () => ({ ...key, authorization: `${admin.credentials.authorization}x` })],
    ['a token that no session has', () => ({ ...key, authorization: forgeBearer(forged()) })],
    ['a request without credentials', () => ({})],
  ])('401: refuses %s', async (_what, headersOf) => {
    const answer = await me(headersOf())
    expect(statusAndBody(answer)).toEqual([401, UNAUTHORIZED])
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="auth"')
  })

  it.each([
    ['a user without a console role', {}],
    ['an operator who has shown no second factor', { console_role: 'admin' }],
  ])('401: refuses %s', async (_who, changes) => {
    const { headers } = await createSignedIn(test, changes)
    expect(statusAndBody(await me({ ...headers, ...key }))).toEqual([401, UNAUTHORIZED])
  })

  const openLax = () =>
    openTestApp({ settings: { ...OPERATOR_SETTINGS, AUTH_OPERATOR_REQUIRE_MFA: 'no' }, database: test.database })

  it('200: asks for no second factor where none is required or set up', async () => {
    const operator = await createSignedIn(test, { console_role: 'viewer' })
    const lax = await openLax()
    const answer = await me({ ...operator.headers, 'x-trestle-operator-key': keyOf('viewer') }, lax)
    expect(statusAndBody(answer)).toEqual([200, shown('desk-viewer', 'viewer', operator)])
    await lax.close()
  })

  it('401: asks for a second factor that is set up also where none is required', async () => {
    const operator = await createOperator(test, 'viewer')
    const { headers } = await signIn(test, operator)
    const lax = await openLax()
    const byPassword = await me({ ...headers, 'x-trestle-operator-key': keyOf('viewer') }, lax)
    expect(statusAndBody(byPassword)).toEqual([401, UNAUTHORIZED])
    expect((await me(operator.credentials, lax)).statusCode).toBe(200)
    await lax.close()
  })

  it.each<[string, (operator: SignedInOperator) => Promise<unknown>]>([
    [
      'whose role was taken',
      ({ user }) => test.deps.db.updateTable('users').set({ console_role: null }).where('id', '=', user.id).execute(),
    ],
    [
      'who was banned',
      ({ user }) =>
        test.deps.db.updateTable('users').set({ banned_until: '2100-01-01' }).where('id', '=', user.id).execute(),
    ],
    [
      'who has signed out',
      ({ credentials }) => test.post('/logout', {}, { authorization: credentials.authorization ?? '' }),
    ],
  ])('401: refuses an operator %s, at the next request', async (_case, end) => {
    const operator = await createOperator(test, 'support')
    expect((await me(operator.credentials)).statusCode).toBe(200)
    await end(operator)
    expect(statusAndBody(await me(operator.credentials))).toEqual([401, UNAUTHORIZED])
  })

  it('404: is unknown where the service has no operator keys', async () => {
    const without = await openTestApp({ database: test.database })
    expect(statusAndBody(await me(admin.credentials, without))).toEqual([404, errorBody(404, 'not_found', 'Not found')])
    await without.close()
  })
})
