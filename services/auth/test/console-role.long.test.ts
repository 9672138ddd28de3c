import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runWorkAlone } from '../src/audit/audit-log.ts'
import { assignConsoleRole } from '../src/use-cases/assign-console-role.ts'
import { claimsOf } from './authenticator-app.ts'
import { errorBody, signedUpBody, statusAndBody, unknownRefreshToken } from './bodies.ts'
import { forgeBearer, OPERATOR } from './forged-token.ts'
import { type HookStub, startHookStub } from './hook-stub.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { SERVICE } from './sample-context.ts'
import { createSignedIn } from './signed-in.ts'
import { createSignedUp } from './signed-up.ts'

let stub: HookStub
let test: MailApp
beforeAll(async () => {
  stub = await startHookStub()
  test = await openMailApp(stub.settings('CUSTOM_ACCESS_TOKEN'))
})
afterAll(async () => {
  await test.close()
  await stub.close()
})

const Claims = z.looseObject({ app_metadata: z.looseObject({}) })
/** The change of the claims by the hook. */
let customise: (claims: z.output<typeof Claims>) => object
beforeEach(() => {
  customise = (claims) => claims
  stub.answer = ({ payload }) => ({ body: { claims: customise(Claims.parse(payload.claims)) } })
})

const EMAIL = { provider: 'email', providers: ['email'] }
const signIn = async ({ email, password }: { readonly email: string; readonly password: string }) => {
  const session = (await test.post('/token?grant_type=password', { email, password })).json()
  const { app_metadata: claimed, aal } = claimsOf(session.access_token)
  return { claimed, aal, shown: session.user.app_metadata }
}
const put = (id: string, payload: object) =>
  test.app.inject({ method: 'PUT', url: `/admin/users/${id}`, payload, headers: OPERATOR })
const assign = (userId: string, role: 'viewer' | 'support' | 'admin' | null) =>
  assignConsoleRole(
    test.deps,
    { admin: { ...SERVICE, requireMayManage: () => undefined }, userId, audience: undefined, role, ip: '' },
    runWorkAlone,
  )

describe('the console role of a user', () => {
  it('is shown in app_metadata of answers and access tokens', async () => {
    const signedUp = await createSignedUp(test.deps, { console_role: 'support' })
    const expected = { ...EMAIL, console_role: 'support' }
    expect(await signIn(signedUp)).toEqual({ claimed: expected, shown: expected, aal: 'aal1' })
  })

  it('is none where only the stored metadata name one, whoever wrote them', async () => {
    const stored = { ...EMAIL, console_role: 'admin' }
    const signedUp = await createSignedUp(test.deps, { raw_app_meta_data: stored, raw_user_meta_data: stored })
    expect(await signIn(signedUp)).toEqual({ claimed: EMAIL, shown: EMAIL, aal: 'aal1' })
  })

  it('is not given by the data of a sign-up', async () => {
    const email = 'sign-up@example.com'
    const data = { console_role: 'admin', app_metadata: { console_role: 'admin' } }
    await test.post('/signup', { email, password: 'correct horse 2026', data, app_metadata: data })
    const { token } = await test.readMail(email)
    const { user } = (await test.post('/verify', { type: 'signup', token_hash: token })).json()
    expect(user.app_metadata).toEqual(EMAIL)
  })

  it('is neither given, changed nor taken by the hook CUSTOM_ACCESS_TOKEN', async () => {
    const [nobody, operator] = [
      await createSignedUp(test.deps),
      await createSignedUp(test.deps, { console_role: 'viewer' }),
    ]
    customise = (claims) => ({
      ...claims,
      app_metadata: { ...claims.app_metadata, console_role: 'admin' },
      aal: 'aal2',
    })
    expect(await signIn(nobody)).toEqual({ claimed: EMAIL, shown: EMAIL, aal: 'aal2' })
    const own = { ...EMAIL, console_role: 'viewer' }
    expect(await signIn(operator)).toEqual({ claimed: own, shown: own, aal: 'aal1' })
    customise = (claims) => ({ ...claims, app_metadata: EMAIL })
    expect(await signIn(operator)).toEqual({ claimed: own, shown: own, aal: 'aal1' })
  })

  it('ends all sessions when it changes, and none when it stays', async () => {
    const { user, refreshToken } = await createSignedIn(test)
    const refresh = () => test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken })
    await assign(user.id, null)
    const { refresh_token: next } = (await refresh()).json()
    await assign(user.id, 'admin')
    const refused = await test.post('/token?grant_type=refresh_token', { refresh_token: next })
    expect(statusAndBody(refused)).toEqual(unknownRefreshToken)
  })
})

describe('an admin of the API', () => {
  const RESERVED = errorBody(
    422,
    'console_role_reserved',
    'app_metadata.console_role can only be changed by an operator',
  )
  it.each([
    ['a role', 'admin'],
    ['a role of another name', 'owner'],
    ['a role that is no text', { role: 'admin' }],
  ])('422: cannot give %s', async (_case, role) => {
    const { user } = await createSignedUp(test.deps)
    const answer = await put(user.id, { app_metadata: { console_role: role } })
    expect(statusAndBody(answer)).toEqual([422, RESERVED])
  })

  it('422: gives no role to themselves', async () => {
    const { user } = await createSignedUp(test.deps)
    const authorization = forgeBearer({ role: 'service_role', sub: user.id })
    const payload = { app_metadata: { console_role: 'admin' } }
    const answer = await test.app.inject({ method: 'PUT', url: '/user', payload, headers: { authorization } })
    expect(statusAndBody(answer)).toEqual([422, RESERVED])
  })

  it('200: may send back metadata of a user without a role', async () => {
    const { user, email } = await createSignedUp(test.deps)
    const answer = await put(user.id, { app_metadata: { console_role: null, plan: 'gold' } })
    const changed = signedUpBody({ user, email }, { app_metadata: { ...EMAIL, plan: 'gold' } })
    expect(statusAndBody(answer)).toEqual([200, changed])
  })

  it('403: acts on no user with a console role', async () => {
    const { user } = await createSignedUp(test.deps, { console_role: 'viewer' })
    const answer = await put(user.id, { password: 'a new password, 2026' })
    const refused = errorBody(403, 'console_user_protected', 'Only operators act on a user with a console role')
    expect(statusAndBody(answer)).toEqual([403, refused])
  })
})
