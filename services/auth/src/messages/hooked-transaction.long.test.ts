import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  anyId,
  anyTime,
  confirmedBody,
  emailIdentity,
  errorBody,
  phoneBody,
  phoneIdentity,
  sessionBody,
  statusAndBody,
} from '../../test/bodies.ts'
import { OPERATOR } from '../../test/forged-token.ts'
import { type HookCall, type HookStub, NOTHING, startHookStub } from '../../test/hook-stub.ts'
import { type MailApp, openBeside, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, signIn } from '../../test/signed-in.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { SMS_TAKEN } from '../../test/sms-stub.ts'
import type { HookName } from '../config/hooks.ts'
import { serverBusy } from '../errors.ts'
import { updateUser } from '../users/user-change-repository.ts'
import { findUserById } from '../users/user-repository.ts'
import { type Repeatable, runHooked } from './hooked-transaction.ts'
import { queueMail } from './mail-job.ts'

let stub: HookStub
let test: MailApp
beforeAll(async () => {
  stub = await startHookStub()
  test = await openMailApp({
    AUTH_PROFILE: 'supabase',
    AUTH_SMTP_HOST: '',
    AUTH_SMS_PROVIDER: '',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
    AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
    AUTH_SMTP_MAX_FREQUENCY: '60s',
    ...stub.settings('SEND_EMAIL', 'SEND_SMS', 'AFTER_USER_CREATED', 'BEFORE_USER_CREATED'),
  })
})
afterAll(async () => {
  await test.close()
  await stub.close()
})
beforeEach(() => {
  stub.answer = () => NOTHING
})

const password = 'correct horse battery staple'
const EmailData = z.looseObject({ token: z.string(), token_new: z.string(), email_action_type: z.string() })
const Email = z.object({ user: z.looseObject({ id: z.string() }), email_data: EmailData })
const Sms = z.object({ sms: z.strictObject({ otp: z.string(), phone: z.string() }) })
const lastMail = () => Email.parse(stub.callsOf('SEND_EMAIL').at(-1)?.payload)
/** Makes one hook give this answer. The other hooks consent. */
const answer = (hook: HookName, body: (call: HookCall) => object | Promise<object>) => {
  stub.answer = async (call) => ({ body: call.name === hook ? await body(call) : {} })
}
const refusal = { error: { http_code: 403, message: 'Not to this address' } }
const REFUSED = [403, errorBody(403, 'unknown', 'Not to this address')]
const put = (headers: Record<string, string>, payload: object) =>
  test.app.inject({ method: 'PUT', url: '/user', headers, payload })
/** The status and body of an answer. Times in this profile end with Z, but the expected bodies use an offset. */
const withOffsets = (response: Awaited<ReturnType<MailApp['post']>>) =>
  statusAndBody({ ...response, body: response.body.replaceAll(/(?<="\d{4}-\d\d-\d\dT[\d:.]+)Z(?=")/g, '+00:00') })
/** The session of a user who signed up by phone and has just confirmed it. */
const phoneSession = (phone: string) =>
  sessionBody(
    phoneBody(phone, {
      last_sign_in_at: anyTime,
      user_metadata: { sub: anyId, email_verified: false, phone_verified: false },
      identities: [{ ...phoneIdentity(anyId, phone, { phone_verified: true }), last_sign_in_at: anyTime }],
    }),
  )
/** All rows that a request may write, except the audit log and the keys of limits. */
const snapshot = async () => {
  const tables = [
    'users',
    'identities',
    'one_time_tokens',
    'flow_state',
    'send_throttle',
    'audit_log_entries',
    'outbox',
    'messages',
  ]
  const rows = tables.map((name) =>
    sql<object>`SELECT t.* FROM ${sql.table(name)} t ORDER BY t::text`.execute(test.deps.db),
  )
  return (await Promise.all(rows)).map((result) => result.rows)
}

describe('SEND_EMAIL in the request', () => {
  it('is sent all members of supabase/auth before the answer, and the code works', async () => {
    const email = 'all-members@example.com'
    const url = '/signup?redirect_to=http://localhost:3000/welcome'
    const signedUp = await test.post(url, { email, password, data: { plan: 'gold' } })
    expect(signedUp.statusCode).toBe(200)
    const { metadata, ...payload } = stub.callsOf('SEND_EMAIL').at(-1)?.payload ?? {}
    expect(metadata).toEqual({ uuid: anyId, time: expect.any(String), name: 'send-email', ip_address: '127.0.0.1' })
    expect(payload).toEqual({
      user: signedUp.json(),
      email_data: {
        email_action_type: 'signup',
        token: expect.stringMatching(/^\d{6}$/),
        token_hash: expect.stringMatching(/^[0-9a-f]{56}$/),
        token_new: '',
        token_hash_new: '',
        redirect_to: 'http://localhost:3000/welcome',
        site_url: 'http://localhost:8081',
        old_email: '',
        old_phone: '',
        provider: '',
        factor_type: '',
      },
    })
    const verified = await test.post('/verify', { type: 'signup', email, token: lastMail().email_data.token })
    expect([verified.statusCode, verified.json().user.id]).toEqual([200, signedUp.json().id])
  })

  it('is sent both codes of a change of email in one call, and both work', async () => {
    const { user, email, headers } = await createSignedIn(test)
    const before = stub.callsOf('SEND_EMAIL').length
    expect((await put(headers, { email: 'changed@example.com' })).statusCode).toBe(200)
    expect(stub.callsOf('SEND_EMAIL')).toHaveLength(before + 1)
    const { token, token_new: tokenNew, email_action_type: type } = lastMail().email_data
    expect(type).toBe('email_change')
    expect((await test.post('/verify', { type, email, token })).statusCode).toBe(200)
    const done = await test.post('/verify', { type, email: 'changed@example.com', token: tokenNew })
    const identity = emailIdentity(user.id, 'changed@example.com', { email_verified: true })
    const changed = confirmedBody(user.id, 'changed@example.com', {
      ...{ confirmation_sent_at: anyTime, email_change_sent_at: anyTime, last_sign_in_at: anyTime },
      user_metadata: { name: 'Ann', email_verified: true },
      identities: [{ ...identity, last_sign_in_at: anyTime }],
    })
    expect(withOffsets(done)).toEqual([200, sessionBody(changed)])
  })

  it('403: refuses a message of every kind, and stores nothing of the request, not even the interval', async () => {
    const [known, another] = [await createSignedUp(test.deps), await createSignedUp(test.deps)]
    const { headers } = await createSignedIn(test)
    await test.post('/signup', { email: 'waiting@example.com', password })
    test.clock.advance(60_000)
    const requests: readonly (() => ReturnType<MailApp['post']>)[] = [
      () => test.post('/signup', { email: 'waiting@example.com', password }),
      () => test.post('/signup', { email: 'refused@example.com', password }),
      () => test.post('/otp', { email: 'refused-otp@example.com' }),
      () => test.post('/magiclink', { email: known.email }),
      () => test.post('/recover', { email: another.email }),
      () => test.post('/resend', { type: 'signup', email: 'waiting@example.com' }),
      () => test.post('/invite', { email: 'refused-invite@example.com' }, OPERATOR),
      () => put(headers, { email: 'refused-change@example.com', data: { kept: 'no' } }),
      () => test.app.inject({ url: '/reauthenticate', headers }),
    ]
    const before = await snapshot()
    answer('SEND_EMAIL', () => refusal)
    for (const request of requests) expect(statusAndBody(await request())).toEqual(REFUSED)
    expect(await snapshot()).toEqual(before)
    stub.answer = () => NOTHING
    for (const request of requests.slice(1)) expect((await request()).statusCode).toBe(200)
  })

  it('429: sends one of two messages that are asked for at once', async () => {
    const { email } = await createSignedUp(test.deps)
    const before = stub.callsOf('SEND_EMAIL').length
    const [called, release] = [Promise.withResolvers<void>(), Promise.withResolvers<object>()]
    answer('SEND_EMAIL', () => {
      called.resolve()
      return release.promise
    })
    const first = test.post('/recover', { email })
    await called.promise
    const second = await test.post('/recover', { email })
    release.resolve({})
    const wait = 'For security purposes, you can only request this after 60 seconds.'
    expect([statusAndBody(await first), statusAndBody(second)]).toEqual([
      [200, {}],
      [429, errorBody(429, 'over_email_send_rate_limit', wait)],
    ])
    expect(stub.callsOf('SEND_EMAIL')).toHaveLength(before + 1)
    const { token } = lastMail().email_data
    expect((await test.post('/verify', { type: 'recovery', email, token })).statusCode).toBe(200)
  })

  it('holds no lock while it is called', async () => {
    const { user, email } = await createSignedUp(test.deps)
    answer('SEND_EMAIL', async () => {
      const { db } = test.deps
      await db.transaction().execute(async (trx) => {
        await sql`SELECT FROM ${sql.table('users')} WHERE id = ${user.id} FOR UPDATE NOWAIT`.execute(trx)
        await sql`LOCK TABLE ${sql.table('send_throttle')}, ${sql.table('one_time_tokens')} IN EXCLUSIVE MODE NOWAIT`.execute(
          trx,
        )
      })
      return {}
    })
    expect(statusAndBody(await test.post('/recover', { email }))).toEqual([200, {}])
  })

  it('stores nothing for a user who is deleted while it is called', async () => {
    const { user, email } = await createSignedUp(test.deps)
    answer('SEND_EMAIL', async () => {
      await test.deps.db.deleteFrom('users').where('id', '=', user.id).execute()
      return {}
    })
    expect(statusAndBody(await test.post('/recover', { email }))).toEqual([200, {}])
    const tokens = test.deps.db.selectFrom('one_time_tokens').select('id').where('user_id', '=', user.id)
    expect(await tokens.execute()).toEqual([])
  })

  it('503: asks the client to try again when the address changes during the call', async () => {
    const { user, headers } = await createSignedIn(test)
    answer('SEND_EMAIL', async () => {
      const query = test.deps.db.updateTable('users').set({ email: 'moved@example.com' }).where('id', '=', user.id)
      await query.execute()
      return {}
    })
    const refused = await test.app.inject({ url: '/reauthenticate', headers })
    const text = 'Too many requests at once, please retry after a moment'
    expect(statusAndBody(refused)).toEqual([503, errorBody(503, 'server_busy', text, { error_id: anyId })])
    stub.answer = () => NOTHING
    expect((await test.app.inject({ url: '/reauthenticate', headers })).statusCode).toBe(200)
  })
})

describe('work that runs twice', () => {
  /** Runs work that mails a secret to a user and writes a log line. Records the secrets of each run. */
  const invite = async (makeSecret: (deps: Repeatable<MailApp['deps']>) => string) => {
    const { user, email } = await createSignedUp(test.deps)
    const [runs, lines]: [object[], unknown[]] = [[], []]
    const logger = Object.assign(Object.create(test.deps.logger), {
      info: (line: object, text: string) => lines.push([line, text]),
    })
    const outcome = runHooked({ ...test.deps, logger }, async (trx, deps) => {
      const Token = makeSecret(deps)
      runs.push({ Token, at: deps.now() })
      await updateUser(trx, user.id, { raw_user_meta_data: { Token } })
      const mail = {
        kind: 'INVITE',
        to: email,
        userId: user.id,
        variables: { Token },
        expiresAt: '2030-01-01',
      } as const
      await queueMail(trx, deps, mail)
      deps.logger.info({ email }, 'invited')
    })
    const error = await outcome.catch((thrown: unknown) => thrown)
    const stored = (await findUserById(test.deps.db, user.id))?.userMetadata
    return { error, runs, lines, stored, email }
  }

  it('gets the same time and the same random bytes in both runs, and logs once', async () => {
    answer('SEND_EMAIL', () => {
      test.clock.advance(1_000)
      return {}
    })
    const { error, runs, lines, stored, email } = await invite(({ randomBytes }) => randomBytes(8).toString('hex'))
    expect(error).toBeUndefined()
    expect(runs).toEqual([runs[0], runs[0]])
    expect([stored, lines]).toEqual([{ Token: lastMail().email_data.token }, [[{ email }, 'invited']]])
  })

  it('runs again after a deadlock that it has lost, in the rehearsal as in the second run', async () => {
    const lost = sql`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01'; END $$`
    const { user, email } = await createSignedUp(test.deps)
    const sent = stub.callsOf('SEND_EMAIL').length
    let run = 0
    await runHooked(test.deps, async (trx, deps) => {
      run += 1
      const variables = { Token: deps.randomBytes(8).toString('hex') }
      await updateUser(trx, user.id, { raw_user_meta_data: { run } })
      await queueMail(trx, deps, { kind: 'INVITE', to: email, userId: user.id, variables, expiresAt: '2030-01-01' })
      if (run % 2 === 1) await lost.execute(trx)
    })
    const stored = (await findUserById(test.deps.db, user.id))?.userMetadata
    expect([run, stored, stub.callsOf('SEND_EMAIL').length - sent]).toEqual([4, { run: 4 }, 1])
  })

  it('503: stores and logs nothing when the second run would send another mail than the first', async () => {
    const { error, runs, lines, stored } = await invite(() => randomUUID())
    expect(error).toEqual(serverBusy())
    expect(runs).toHaveLength(2)
    expect(runs[0]).not.toEqual(runs[1])
    expect([stored, lines]).toEqual([{ name: 'Ann' }, []])
  })
})

describe('SEND_SMS in the request', () => {
  it('403: refuses codes of sign-ups, sign-ins, changes and second factors, and stores nothing', async () => {
    const { headers } = await createSignedIn(test)
    const factor = (await test.post('/factors', { factor_type: 'phone', phone: '14155550190' }, headers)).json()
    const requests: readonly (() => ReturnType<MailApp['post']>)[] = [
      () => test.post('/signup', { phone: '14155550191', password }),
      () => test.post('/otp', { phone: '14155550192' }),
      () => put(headers, { phone: '14155550193' }),
      () => test.post(`/factors/${factor.id}/challenge`, {}, headers),
    ]
    const before = await snapshot()
    answer('SEND_SMS', () => refusal)
    for (const request of requests) expect(statusAndBody(await request())).toEqual(REFUSED)
    expect(await snapshot()).toEqual(before)
    stub.answer = () => NOTHING
    for (const request of requests) expect((await request()).statusCode).toBe(200)
    const sms = { otp: expect.stringMatching(/^\d{6}$/), phone: '14155550190', sms_type: 'mfa' }
    expect(stub.callsOf('SEND_SMS').at(-1)?.payload.sms).toEqual(sms)
  })

  it('is sent the code and the phone', async () => {
    const phone = '14155550194'
    expect((await test.post('/otp', { phone })).statusCode).toBe(200)
    const { sms } = Sms.parse({ sms: stub.callsOf('SEND_SMS').at(-1)?.payload.sms })
    expect(sms.phone).toBe(phone)
    const verified = await test.post('/verify', { type: 'sms', phone, token: sms.otp })
    expect(withOffsets(verified)).toEqual([200, phoneSession(phone)])
  })
})

describe('an SMS in the request, by the gateway', () => {
  it('422: reports a refusal and an outage of the gateway, and stores nothing', async () => {
    const service = await openBeside(test, {
      ...{ AUTH_PROFILE: 'supabase', AUTH_EXTERNAL_PHONE_ENABLED: 'true' },
      ...{ AUTH_MFA_PHONE_ENROLL_ENABLED: 'true', AUTH_MFA_PHONE_VERIFY_ENABLED: 'true' },
    })
    const byPhone = { phone: '14155550198', phone_confirmed_at: new Date().toISOString() }
    const { headers } = await createSignedIn(service)
    const withPhone = await signIn(service, {
      ...byPhone,
      ...(await createSignedUp(test.deps, { email: null, ...byPhone })),
    })
    const factor = (await service.post('/factors', { factor_type: 'phone', phone: '14155550199' }, headers)).json()
    await service.post('/signup', { phone: '14155550200', password })
    test.clock.advance(60_000)
    const requests: readonly (() => ReturnType<MailApp['post']>)[] = [
      () => service.post('/signup', { phone: '14155550201', password }),
      () => service.post('/otp', { phone: '14155550202' }),
      () => service.post('/resend', { type: 'sms', phone: '14155550200' }),
      () => service.app.inject({ method: 'PUT', url: '/user', headers, payload: { phone: '14155550203' } }),
      () => service.app.inject({ url: '/reauthenticate', headers: withPhone.headers }),
      () => service.post(`/factors/${factor.id}/challenge`, {}, headers),
    ]
    const before = await snapshot()
    const failed = (reason: string) => [
      422,
      errorBody(422, 'sms_send_failed', `Error sending confirmation OTP to provider: ${reason}`),
    ]
    service.sms.answer = { status: 400, body: { code: 21211, message: 'not a valid number' } }
    for (const request of requests) expect(statusAndBody(await request())).toEqual(failed('not a valid number'))
    service.sms.answer = { status: 401, body: { code: 20003, message: 'Authenticate' } }
    for (const request of requests) expect(statusAndBody(await request())).toEqual(failed('the gateway does not work'))
    expect(await snapshot()).toEqual(before)
    service.sms.answer = SMS_TAKEN
    const sent = service.sms.messages.length
    for (const request of requests) expect((await request()).statusCode).toBe(200)
    expect(service.sms.messages).toHaveLength(sent + requests.length)
    const { code } = service.sms.messages.findLast(({ to }) => to === '14155550202') ?? {}
    const verified = await service.post('/verify', { type: 'sms', phone: '14155550202', token: code })
    expect(withOffsets(verified)).toEqual([200, phoneSession('14155550202')])
    await service.close()
  })
})

describe('hooks of new users in the request', () => {
  const findId = (email: string) =>
    test.deps.db.selectFrom('users').select('id').where('email', '=', email).executeTakeFirst()

  it('tells AFTER_USER_CREATED before the answer', async () => {
    const email = 'told@example.com'
    const user = (await test.post('/signup', { email, password })).json()
    const metadata = { uuid: anyId, time: expect.any(String), name: 'after-user-created', ip_address: '127.0.0.1' }
    expect(stub.callsOf('AFTER_USER_CREATED').at(-1)?.payload).toEqual({ metadata, user })
  })

  it('500: keeps the user of a sign-up, and 403 that of an invitation, where AFTER_USER_CREATED refuses', async () => {
    answer('AFTER_USER_CREATED', () => refusal)
    const signedUp = await test.post('/signup', { email: 'stays@example.com', password })
    const invited = await test.post('/invite', { email: 'stays-invited@example.com' }, OPERATOR)
    const failed = errorBody(500, 'unexpected_failure', 'Error running hook', { error_id: anyId })
    expect(statusAndBody(signedUp)).toEqual([500, failed])
    expect(statusAndBody(invited)).toEqual(REFUSED)
    expect([await findId('stays@example.com'), await findId('stays-invited@example.com')]).toEqual([
      { id: anyId },
      { id: anyId },
    ])
    const anonymous = await test.post('/signup', {})
    expect(statusAndBody(anonymous)).toEqual(REFUSED)
  })

  it('403: makes no user of a one-time code that BEFORE_USER_CREATED refuses', async () => {
    answer('BEFORE_USER_CREATED', () => refusal)
    const email = 'no-user@example.com'
    expect(statusAndBody(await test.post('/otp', { email }))).toEqual(REFUSED)
    expect(await findId(email)).toBeUndefined()
    const known = await createSignedUp(test.deps)
    expect((await test.post('/otp', { email: known.email })).statusCode).toBe(200)
    const phone = await test.post('/otp', { phone: '14155550195' })
    expect(statusAndBody(phone)).toEqual(REFUSED)
  })

  it('asks for the claims of a new phone that needs no confirmation, and ends its session where that fails', async () => {
    const service = await openBeside(test, {
      AUTH_PROFILE: 'supabase',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMS_AUTOCONFIRM: 'true',
      ...stub.settings('SEND_SMS', 'CUSTOM_ACCESS_TOKEN'),
    })
    stub.answer = ({ name, payload }) => ({ body: name === 'CUSTOM_ACCESS_TOKEN' ? { claims: payload.claims } : {} })
    const before = stub.callsOf('CUSTOM_ACCESS_TOKEN').length
    expect((await service.post('/otp', { phone: '14155550196' })).statusCode).toBe(200)
    expect(stub.callsOf('CUSTOM_ACCESS_TOKEN')).toHaveLength(before + 1)
    answer('CUSTOM_ACCESS_TOKEN', () => refusal)
    expect(statusAndBody(await service.post('/otp', { phone: '14155550197' }))).toEqual(REFUSED)
    const { user_id: id } = stub.callsOf('CUSTOM_ACCESS_TOKEN').at(-1)?.payload ?? {}
    const sessions = test.deps.db.selectFrom('sessions').select('id').where('user_id', '=', String(id))
    expect(await sessions.execute()).toEqual([])
    await service.close()
  })
})
