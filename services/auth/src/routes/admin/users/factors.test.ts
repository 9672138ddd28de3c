import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../../test/auth-app.ts'
import { anyTime, factorBody, operatorEntry } from '../../../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../../../test/expect-failure.ts'
import { factorRow } from '../../../../test/factor-row.ts'
import { OPERATOR } from '../../../../test/forged-token.ts'
import { createSignedUp } from '../../../../test/signed-up.ts'

let test: TestApp
beforeAll(async () => {
  test = await openTestApp({ settings: { AUTH_DB_NAMESPACE: 'app', AUTH_DB_SCHEMA: 'accounts' } })
})
afterAll(() => test.close())

type Method = 'GET' | 'PUT' | 'DELETE'

async function ask(method: Method, url: string, payload?: object) {
  const request = { method, url: `/admin/users/${url}`, headers: OPERATOR }
  const answer = await test.app.inject({ ...request, ...(payload ? { payload } : {}) })
  return { status: answer.statusCode, body: answer.json() }
}

const expectFailure = (method: Method, url: string, payload: object | undefined, failure: Failure) =>
  failWith(test, { method, url: `/admin/users/${url}`, headers: OPERATOR, ...(payload ? { payload } : {}) }, failure)

/** Creates a user with two second factors: an authenticator app and a phone. */
async function createUser() {
  const { user, email, password } = await createSignedUp(test.deps)
  const insert = (values: { factor_type: string; friendly_name: string; phone?: string; created_at?: Date }) =>
    test.deps.db
      .insertInto('mfa_factors')
      .values(factorRow({ user_id: user.id, status: 'verified', ...values }))
      .returning('id')
      .executeTakeFirstOrThrow()
  // With equal times, the factors would be ordered by their random ids.
  const created_at = new Date(Date.now() - 1_000)
  const app = await insert({ factor_type: 'totp', friendly_name: 'app', created_at })
  const phone = await insert({ factor_type: 'phone', friendly_name: 'phone', phone: '14155550100' })
  return { user, credentials: { email, password }, appId: app.id, phoneId: phone.id }
}

const view = (id: string, factor_type: string, friendly_name: string, phone: string) => ({
  id,
  created_at: anyTime,
  updated_at: anyTime,
  status: 'verified',
  friendly_name,
  factor_type,
  phone,
  last_challenged_at: null,
})

async function auditOf(userId: string) {
  const query = test.deps.db.selectFrom('audit_log_entries').select('payload').where('target_user_id', '=', userId)
  return (await query.execute()).map(({ payload }) => payload)
}

describe('GET /admin/users/{user_id}/factors', () => {
  it('200: lists every factor without its secret', async () => {
    const { user, appId, phoneId } = await createUser()
    const apps = [view(appId, 'totp', 'app', ''), view(phoneId, 'phone', 'phone', '14155550100')]
    expect(await ask('GET', `${user.id}/factors`)).toEqual({ status: 200, body: apps })
    const { user: other } = await createSignedUp(test.deps)
    expect(await ask('GET', `${other.id}/factors`)).toEqual({ status: 200, body: [] })
    await expectFailure('GET', `${randomUUID()}/factors`, undefined, [404, 'user_not_found', 'User not found'])
  })
})

describe('PUT /admin/users/{user_id}/factors/{factor_id}', () => {
  it('200: changes the name and phone of a phone, and only the name of an authenticator app', async () => {
    const { user, appId, phoneId } = await createUser()
    const changes = { friendly_name: 'new phone', phone: '+1 415 555 0199' }
    expect(await ask('PUT', `${user.id}/factors/${phoneId}`, changes)).toEqual({
      status: 200,
      body: view(phoneId, 'phone', 'new phone', '14155550199'),
    })
    const app = await ask('PUT', `${user.id}/factors/${appId}`, { friendly_name: '', phone: '14155550199' })
    expect(app).toEqual({ status: 200, body: view(appId, 'totp', 'app', '') })
    expect((await auditOf(user.id))[0]).toEqual(
      operatorEntry({
        action: 'factor_updated',
        traits: { user_id: user.id, factor_id: phoneId },
        log_type: 'factor',
      }),
    )
  })

  it('400: refuses a phone that is not E.164, and a name above 120 characters', async () => {
    const { user, appId } = await createUser()
    const path = `${user.id}/factors/${appId}`
    await expectFailure('PUT', path, { phone: 'x' }, [
      400,
      'validation_failed',
      'Invalid phone number format (E.164 required)',
    ])
    const long = 'friendly_name may not be longer than 120 characters'
    await expectFailure('PUT', path, { friendly_name: 'x'.repeat(121) }, [400, 'validation_failed', long])
  })

  it('422: refuses a name that a factor or the recovery codes of the user have', async () => {
    const { user, appId } = await createUser()
    const path = `${user.id}/factors/${appId}`
    const taken = 'A factor with the friendly name "phone" for this user already exists'
    await expectFailure('PUT', path, { friendly_name: 'phone' }, [422, 'mfa_factor_name_conflict', taken])
    const at = new Date()
    const times = { codes_at: at, created_at: at, updated_at: at }
    const codes = { id: randomUUID(), user_id: user.id, friendly_name: 'codes', ...times }
    await test.deps.db.insertInto('mfa_recovery_sets').values(codes).execute()
    const pathOfCodes = `${user.id}/factors/${codes.id}`
    await expectFailure('PUT', pathOfCodes, { friendly_name: 'phone' }, [422, 'mfa_factor_name_conflict', taken])
    const takenToo = taken.replace('phone', 'codes')
    await expectFailure('PUT', path, { friendly_name: 'codes' }, [422, 'mfa_factor_name_conflict', takenToo])
    expect((await ask('PUT', pathOfCodes, { friendly_name: 'paper' })).body).toEqual(
      factorBody({ id: codes.id, friendly_name: 'paper', factor_type: 'recovery_code' }),
    )
  })

  it('422: refuses the phone of another factor of the user', async () => {
    const { user } = await createUser()
    const second = factorRow({ user_id: user.id, factor_type: 'phone', phone: '14155550199' })
    await test.deps.db.insertInto('mfa_factors').values(second).execute()
    await expectFailure('PUT', `${user.id}/factors/${second.id}`, { phone: '+14155550100' }, [
      422,
      'mfa_verified_factor_exists',
      'A verified phone factor already exists, unenroll the existing factor to continue',
    ])
  })

  it('404: refuses a factor of another user, an unknown user and an id that is no UUID, also to DELETE', async () => {
    const { user, appId } = await createUser()
    const other = await createUser()
    for (const method of ['PUT', 'DELETE'] as const) {
      const payload = method === 'PUT' ? {} : undefined
      const foreign = `${user.id}/factors/${other.appId}`
      await expectFailure(method, foreign, payload, [404, 'mfa_factor_not_found', 'Factor not found'])
      const nobody = `${randomUUID()}/factors/${appId}`
      await expectFailure(method, nobody, payload, [404, 'user_not_found', 'User not found'])
      const malformed = [404, 'validation_failed', 'factor_id must be an UUID'] as const
      await expectFailure(method, `${user.id}/factors/x`, payload, malformed)
    }
  })
})

describe('DELETE /admin/users/{user_id}/factors/{factor_id}', () => {
  it('200: returns the unenrolled factor and lowers the sessions that used it to aal1', async () => {
    const { user, credentials, appId, phoneId } = await createUser()
    const signIn = () => test.app.inject({ method: 'POST', url: '/token?grant_type=password', payload: credentials })
    const tokens = [(await signIn()).json().refresh_token, (await signIn()).json().refresh_token]
    const sessions = await test.deps.db.selectFrom('sessions').select('id').where('user_id', '=', user.id).execute()
    for (const [order, { id }] of sessions.entries()) {
      const [factor_id, authentication_method] = order === 0 ? [appId, 'totp'] : [phoneId, 'mfa/phone']
      await test.deps.db.updateTable('sessions').set({ aal: 'aal2', factor_id }).where('id', '=', id).execute()
      const at = new Date()
      const claim = { id: randomUUID(), session_id: id, authentication_method, created_at: at, updated_at: at }
      await test.deps.db.insertInto('mfa_amr_claims').values(claim).execute()
    }
    const deleted = await ask('DELETE', `${user.id}/factors/${appId}`)
    expect(deleted).toEqual({ status: 200, body: view(appId, 'totp', 'app', '') })
    const claims = []
    for (const refresh_token of tokens) {
      const payload = { refresh_token }
      const answer = await test.app.inject({ method: 'POST', url: '/token?grant_type=refresh_token', payload })
      const { access_token, user: record } = answer.json()
      expect(record.factors).toEqual([view(phoneId, 'phone', 'phone', '14155550100')])
      claims.push(JSON.parse(Buffer.from(access_token.split('.')[1], 'base64url').toString()))
    }
    const methods = claims.map(({ aal, amr }) => [aal, ...amr.map(({ method }: { method: string }) => method)])
    expect(methods.sort()).toEqual([
      ['aal1', 'password'],
      ['aal2', 'mfa/phone', 'password'],
    ])
    expect((await auditOf(user.id)).map(({ action }) => action)).toContain('factor_deleted')
  })
})

describe('endpoints that are not offered', () => {
  it('404: refuses the passkeys and SAML endpoints', async () => {
    const user = randomUUID()
    const passkeys = [404, 'passkey_disabled', 'Passkeys are disabled'] as const
    await expectFailure('GET', `${user}/passkeys`, undefined, passkeys)
    await expectFailure('DELETE', `${user}/passkeys/${user}`, undefined, passkeys)
    const saml = [404, 'saml_provider_disabled', 'SAML 2.0 is disabled'] as const
    for (const method of ['GET', 'POST', 'PUT', 'DELETE'] as const) {
      const url = `/admin/sso/providers${method === 'POST' ? '' : `/${user}`}`
      await failWith(test, { method, url, headers: OPERATOR }, saml)
    }
    await failWith(test, { method: 'GET', url: '/admin/sso/providers', headers: OPERATOR }, saml)
    const noBearer = 'This endpoint requires a valid Bearer token'
    await failWith(test, { method: 'GET', url: '/admin/sso/providers' }, [401, 'no_authorization', noBearer])
  })
})
