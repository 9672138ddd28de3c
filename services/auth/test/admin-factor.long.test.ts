import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addApp, type SteppedUpSession } from './authenticator-app.ts'
import { anyTime } from './bodies.ts'
import { forgeBearer } from './forged-token.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { createSignedIn, type SignedIn, signIn } from './signed-in.ts'

interface Api {
  readonly paths: Readonly<Record<string, object>>
}
type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
const NEEDS_FACTOR = {
  code: 403,
  error_code: 'insufficient_aal',
  msg: 'AAL2 session is required to administer when MFA is enabled',
}
const TOO_OLD = { code: 400, error_code: 'reauthentication_needed', msg: 'Sign in again to change how you sign in' }

describe.each(['compatible', 'strict'])('an admin with a second factor, AUTH_PROFILE=%s', (profile) => {
  let test: MailApp
  let signedIn: SignedIn
  let steppedUp: SteppedUpSession
  let aal1: SignedIn['headers']
  beforeAll(async () => {
    const settings = { AUTH_PROFILE: profile, AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip', AUTH_CUSTOM_OAUTH_ENABLED: 'true' }
    // The times of authentication methods are from the clock of the database.
    test = await openMailApp(settings, { replace: () => ({ now: () => new Date() }) })
  })
  afterAll(() => test.close())
  beforeEach(async () => {
    signedIn = await createSignedIn(test, { role: 'service_role' })
    steppedUp = await addApp({ ...test, clock: { now: () => new Date(), advance: () => {} } }, signedIn.headers)
    aal1 = (await signIn(test, signedIn)).headers
  })
  async function ask(method: Method, url: string, headers: SignedIn['headers'], payload: object = {}) {
    const answer = await test.app.inject({ method, url, headers, ...(method === 'GET' ? {} : { payload }) })
    return { status: answer.statusCode, body: answer.json() }
  }
  const own = () => `/admin/users/${signedIn.user.id}`

  // ASVS 8.2.1
  it('403: opens no admin endpoint before the factor is verified', async () => {
    const { paths }: Api = JSON.parse(JSON.stringify(await test.app.describeApi()))
    const calls = Object.entries(paths)
      .filter(([path]) => path.startsWith('/admin') || path === '/invite')
      .flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => [method.toUpperCase() as Method, path] as const),
      )
    expect(calls.length).toBeGreaterThan(15)
    for (const [method, path] of calls) {
      const url = path.replaceAll(/\{\w+\}/g, randomUUID())
      expect({ call: `${method} ${path}`, ...(await ask(method, url, aal1)) }).toEqual({
        call: expect.any(String),
        status: 403,
        body: NEEDS_FACTOR,
      })
    }
  })

  it('403: refuses a token from before the session was stepped up', async () => {
    expect(await ask('GET', own(), signedIn.headers)).toEqual({ status: 403, body: NEEDS_FACTOR })
  })

  it("403: refuses a change of the admin's own app_metadata", async () => {
    const wanted = { app_metadata: { plan: 'pro' } }
    expect(await ask('PUT', '/user', aal1, wanted)).toEqual({ status: 403, body: NEEDS_FACTOR })
    const { status, body } = await ask('PUT', '/user', steppedUp.headers, wanted)
    expect([status, body.app_metadata.plan]).toEqual([200, 'pro'])
  })

  it("200: accepts a stepped-up session, an admin without factors and an operator's token", async () => {
    const other = await createSignedIn(test, { role: 'service_role' })
    const operator = { authorization: forgeBearer({ role: 'service_role', sub: signedIn.user.id }) }
    for (const headers of [steppedUp.headers, other.headers, operator]) {
      const read = await ask('GET', own(), headers)
      const user_metadata = { seen: randomUUID() }
      const changed = await ask('PUT', own(), headers, { user_metadata })
      expect(changed).toEqual({
        status: 200,
        body: {
          ...{ ...read.body, id: signedIn.user.id, updated_at: anyTime },
          user_metadata: { ...read.body.user_metadata, ...user_metadata },
        },
      })
    }
  })

  it('reads but changes nothing an hour after the sign-in in the strict profile', async () => {
    const old = { updated_at: new Date(Date.now() - 3_600_000) }
    await test.deps.db.updateTable('mfa_amr_claims').set(old).where('session_id', '=', signedIn.sessionId).execute()
    expect((await ask('GET', own(), steppedUp.headers)).status).toBe(200)
    const calls = [
      ['PUT', own()],
      ['POST', '/admin/generate_link'],
      ['DELETE', `${own()}/factors/${steppedUp.app.factorId}`],
    ] as const
    for (const [method, url] of calls) {
      const { body } = await ask(method, url, steppedUp.headers)
      if (profile === 'strict') expect(body).toEqual(TOO_OLD)
      else expect(body.error_code).not.toBe(TOO_OLD.error_code)
    }
  })
})
