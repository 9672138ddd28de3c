import { randomBytes, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { addApp, answerChallenge, claimsOf, enrolApp } from './authenticator-app.ts'
import {
  amrEntry,
  anyId,
  anyTime,
  claimsBody,
  confirmedBody,
  emailIdentity,
  errorBody,
  factorBody,
  grantErrorBody,
  outcomeOf,
  signedUpBody,
  statusAndBody,
  userBody,
  wrongPassword,
} from './bodies.ts'
import { expectSession } from './expect-user.ts'
import { OPERATOR } from './forged-token.ts'
import { type HookStub, NOTHING, startHookStub } from './hook-stub.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { createSignedIn, signIn } from './signed-in.ts'
import { createSignedUp } from './signed-up.ts'

let stub: HookStub
let test: MailApp
beforeAll(async () => {
  stub = await startHookStub()
  test = await openMailApp({
    AUTH_DB_NAMESPACE: 'app',
    // The service has one proxy. The requests have no X-Real-Ip, so the request limits do not count them.
    AUTH_TRUSTED_PROXIES: '1',
    AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
    AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
    AUTH_SMTP_MAX_FREQUENCY: '0',
    AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true',
    ...stub.settings(
      'CUSTOM_ACCESS_TOKEN',
      'MFA_VERIFICATION_ATTEMPT',
      'PASSWORD_VERIFICATION_ATTEMPT',
      'BEFORE_USER_CREATED',
    ),
  })
})
afterAll(async () => {
  await test.close()
  await stub.close()
})

type Answer = Parameters<typeof answers>[0]
/** Sets the answers of hooks. By default each hook permits everything. */
function answers(changes: Partial<Record<string, (payload: Record<string, unknown>) => object>>) {
  stub.answer = ({ name, payload }) => {
    const answer = changes[name]
    if (answer) return { body: answer(payload) }
    if (name === 'CUSTOM_ACCESS_TOKEN') return { body: { claims: payload.claims } }
    return name.endsWith('_ATTEMPT') ? { body: { decision: 'continue' } } : NOTHING
  }
}
const Claims = z.looseObject({ iat: z.number() })
const shorten = (claims: z.output<typeof Claims>) => ({ ...claims, exp: claims.iat + 60 })
const rejected = { error: { http_code: 403, message: 'Not you' } }
const FAILED = [
  500,
  { ...grantErrorBody('server_error', 'unexpected_failure', 'Error running hook', 500), error_id: anyId },
]
const whatHookSays = { code: 403, error_code: 'hook_rejected', msg: 'Not you' }
beforeEach(() => answers({}))
const refuse = (name: string): Answer => ({ [name]: () => rejected })
const enterPassword = (payload: object) => test.post('/token?grant_type=password', payload)
const refresh = (refresh_token: unknown) => test.post('/token?grant_type=refresh_token', { refresh_token })

describe('CUSTOM_ACCESS_TOKEN', () => {
  it('writes the claims of every token and is told the authentication method', async () => {
    answers({ CUSTOM_ACCESS_TOKEN: ({ claims }) => ({ claims: { ...Claims.parse(claims), plan: 'gold' } }) })
    const signedIn = await createSignedIn(test)
    const session = (await refresh(signedIn.refreshToken)).json()
    expect(claimsOf(session.access_token)).toEqual(
      claimsBody({
        sub: signedIn.user.id,
        email: signedIn.email,
        session_id: signedIn.sessionId,
        user_metadata: { name: 'Ann' },
        amr: [amrEntry('password')],
        plan: 'gold',
      }),
    )
    const app = await enrolApp(test, { authorization: `Bearer ${session.access_token}` })
    const code = { factorId: app.factorId, code: app.code() }
    const steppedUp = (await answerChallenge(test, { authorization: `Bearer ${session.access_token}` }, code)).json()
    expect(claimsOf(steppedUp.access_token)).toEqual(
      claimsBody({
        sub: signedIn.user.id,
        email: signedIn.email,
        aal: 'aal2',
        session_id: signedIn.sessionId,
        user_metadata: { name: 'Ann' },
        amr: [amrEntry('totp'), amrEntry('password')],
        plan: 'gold',
      }),
    )
    const calls = stub.callsOf('CUSTOM_ACCESS_TOKEN').filter(({ payload }) => payload.user_id === signedIn.user.id)
    expect(calls.map(({ payload }) => payload.authentication_method)).toEqual(['password', 'token_refresh', 'totp'])
    expect(calls.at(-1)?.payload.claims).toEqual(
      claimsBody({
        sub: signedIn.user.id,
        email: signedIn.email,
        user_metadata: { name: 'Ann' },
        aal: 'aal2',
        amr: [amrEntry('totp'), amrEntry('password')],
        session_id: signedIn.sessionId,
      }),
    )
  })

  it('may shorten the life of a token, and expires_at follows', async () => {
    const { email, password } = await createSignedUp(test.deps)
    answers({ CUSTOM_ACCESS_TOKEN: ({ claims }) => ({ claims: shorten(Claims.parse(claims)) }) })
    const { access_token, expires_in, expires_at } = (await enterPassword({ email, password })).json()
    expect([expires_in, expires_at]).toEqual([60, claimsOf(access_token).exp])
  })

  // ASVS 16.5.3
  it('500: fails for claims that lack a required member', async () => {
    const signedUp = await createSignedUp(test.deps)
    for (const claim of ['aud', 'exp', 'iat', 'sub', 'email', 'phone', 'role', 'aal', 'session_id', 'is_anonymous']) {
      answers({ CUSTOM_ACCESS_TOKEN: ({ claims }) => ({ claims: { ...Claims.parse(claims), [claim]: undefined } }) })
      const answer = await enterPassword({ email: signedUp.email, password: signedUp.password })
      expect(statusAndBody(answer)).toEqual(FAILED)
    }
  })

  it.each(['sub', 'session_id'])('500: fails for another %s', async (claim) => {
    const { email, password } = await createSignedUp(test.deps)
    answers({ CUSTOM_ACCESS_TOKEN: ({ claims }) => ({ claims: { ...Claims.parse(claims), [claim]: randomUUID() } }) })
    expect(statusAndBody(await enterPassword({ email, password }))).toEqual(FAILED)
  })

  // ASVS 2.3.3, 16.5.3
  it('leaves no session of a sign-in that it refuses', async () => {
    const { user, email, password } = await createSignedUp(test.deps)
    answers(refuse('CUSTOM_ACCESS_TOKEN'))
    const { statusCode, body } = await enterPassword({ email, password })
    expect([statusCode, JSON.parse(body)]).toEqual([
      403,
      grantErrorBody('invalid_request', 'hook_rejected', 'Not you', 403),
    ])
    await test.post('/magiclink', { email })
    const { token } = await test.readMail(email)
    expect(statusAndBody(await test.post('/verify', { type: 'magiclink', token_hash: token }))).toEqual([
      403,
      errorBody(403, 'hook_rejected', 'Not you'),
    ])
    const sessions = test.deps.db.selectFrom('sessions').select('id').where('user_id', '=', user.id)
    expect(await sessions.execute()).toEqual([])
  })

  it('uses up no refresh token during an outage of the hook', async () => {
    const { refreshToken, ...signedIn } = await createSignedIn(test)
    answers(refuse('CUSTOM_ACCESS_TOKEN'))
    expect((await refresh(refreshToken)).json()).toEqual(
      grantErrorBody('invalid_request', 'hook_rejected', 'Not you', 403),
    )
    // By the database's clock, this is long after the reuse interval.
    const query = test.deps.db.updateTable('refresh_tokens').set({ updated_at: new Date(0), created_at: new Date(0) })
    await query.execute()
    answers({})
    expectSession(await refresh(refreshToken), signedUpBody(signedIn))
  })
})

describe('CUSTOM_ACCESS_TOKEN, for a second factor', () => {
  it('uses up no code and no refresh token during an outage of the hook', async () => {
    const signedIn = await createSignedIn(test)
    const { app, headers } = await addApp(test, signedIn.headers)
    // Factors are listed by age, so the codes must be newer than the app.
    test.clock.advance(1)
    const codes = (await test.post('/factors/recovery-codes', {}, headers)).json().codes
    const later = await signIn(test, signedIn)
    const show = () => answerChallenge(test, later.headers, { factorId: app.factorId, code: app.code(1) })
    const recover = () => test.post('/factors/recovery-codes/verify', { code: codes[0] }, later.headers)
    answers(refuse('CUSTOM_ACCESS_TOKEN'))
    expect((await show()).json()).toEqual(whatHookSays)
    expect((await recover()).json()).toEqual(whatHookSays)
    answers({})
    const factors = [
      factorBody({ id: app.factorId, last_challenged_at: anyTime }),
      factorBody({ factor_type: 'recovery_code', friendly_name: 'Recovery codes' }),
    ]
    const expected = signedUpBody(signedIn, { factors })
    expectSession(await refresh(later.refreshToken), expected)
    expectSession(await show(), expected)
    expect(claimsOf((await recover()).json().access_token)).toEqual(
      claimsBody({
        sub: signedIn.user.id,
        email: signedIn.email,
        aal: 'aal2',
        session_id: later.sessionId,
        user_metadata: { name: 'Ann' },
        amr: [amrEntry('mfa/recovery_code'), amrEntry('totp'), amrEntry('password')],
      }),
    )
  })
})

describe('PASSWORD_VERIFICATION_ATTEMPT', () => {
  it('is told of right and wrong passwords of known users only', async () => {
    const { user, email, password } = await createSignedUp(test.deps)
    await enterPassword({ email, password })
    await enterPassword({ email, password: 'wrong' })
    await enterPassword({ email: 'nobody@example.com', password })
    const calls = stub.callsOf('PASSWORD_VERIFICATION_ATTEMPT').filter(({ payload }) => payload.user_id === user.id)
    expect(calls.map(({ payload }) => payload)).toEqual([
      { user_id: user.id, valid: true },
      { user_id: user.id, valid: false },
    ])
  })

  it('400: refuses a right password with its own message, and ends sessions when it asks for that', async () => {
    const { user, email, password, refreshToken } = await createSignedIn(test)
    const proof = { code_challenge: 'x', code_challenge_method: 'plain', auth_code_hash: randomBytes(32) }
    const flow = { user_id: user.id, provider_type: 'email', authentication_method: 'magiclink', ...proof }
    await test.deps.db.insertInto('flow_state').values(flow).execute()
    const countCodes = async () =>
      (await test.deps.db.selectFrom('flow_state').select('id').where('user_id', '=', user.id).execute()).length
    answers({ PASSWORD_VERIFICATION_ATTEMPT: () => ({ decision: 'reject', message: 'Come back later' }) })
    const refused = await enterPassword({ email, password })
    expect(refused.json()).toEqual(grantErrorBody('invalid_grant', 'invalid_credentials', 'Come back later'))
    const next = await refresh(refreshToken)
    expect([next.statusCode, await countCodes()]).toEqual([200, 1])
    answers({ PASSWORD_VERIFICATION_ATTEMPT: () => ({ decision: 'reject', should_logout_user: true }) })
    expect(statusAndBody(await enterPassword({ email, password }))).toEqual(wrongPassword)
    expect(statusAndBody(await refresh(next.json().refresh_token))).toEqual([
      400,
      grantErrorBody('invalid_grant', 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
    ])
    expect(await countCodes()).toBe(0)
  })

  it('is told of the current password of a password change, and may refuse it', async () => {
    const { user, password: current_password, headers } = await createSignedIn(test)
    const change = async (payload: object) => {
      const wanted = { password: 'another horse', ...payload }
      const answer = await test.app.inject({ method: 'PUT', url: '/user', headers, payload: wanted })
      return outcomeOf(answer)
    }
    expect(await change({ current_password: 'wrong' })).toEqual([
      400,
      errorBody(400, 'current_password_invalid', 'Current password required when setting new password.'),
    ])
    answers({ PASSWORD_VERIFICATION_ATTEMPT: () => ({ decision: 'reject', message: 'Come back later' }) })
    expect(await change({ current_password })).toEqual([400, errorBody(400, 'invalid_credentials', 'Come back later')])
    answers({})
    expect(await change({ current_password })).toBe(200)
    const calls = stub.callsOf('PASSWORD_VERIFICATION_ATTEMPT').filter(({ payload }) => payload.user_id === user.id)
    expect(calls.map(({ payload }) => payload.valid)).toEqual([true, false, true, true])
  })

  it('500: fails for an answer without a decision', async () => {
    const { email, password } = await createSignedUp(test.deps)
    answers({ PASSWORD_VERIFICATION_ATTEMPT: () => ({}) })
    const error = { error: 'server_error', error_description: 'Error running hook', error_id: anyId }
    expect(statusAndBody(await enterPassword({ email, password }))).toEqual([
      500,
      errorBody(500, 'unexpected_failure', 'Error running hook', error),
    ])
  })
})

describe('every hook that answers', () => {
  const error = { http_code: 403 }
  it.each<[string, Answer]>([
    ['PASSWORD_VERIFICATION_ATTEMPT', { PASSWORD_VERIFICATION_ATTEMPT: () => ({ decision: 'continue', error }) }],
    ['CUSTOM_ACCESS_TOKEN', { CUSTOM_ACCESS_TOKEN: ({ claims }) => ({ claims, error }) }],
  ])('500: %s fails for an error that is no refusal, whatever it stands beside', async (_, answer) => {
    const { email, password } = await createSignedUp(test.deps)
    answers(answer)
    expect(statusAndBody(await enterPassword({ email, password }))).toEqual(FAILED)
  })
})

/** Returns a user's audit log entries about failures and ended sessions, with their traits. */
async function failuresOf(userId: string): Promise<readonly unknown[]> {
  await test.idle()
  const actions = ['login_failed', 'reauthentication_failed', 'factor_verification_failed', 'logout']
  const query = test.deps.db
    .selectFrom('audit_log_entries')
    .select(['action', sql<unknown>`payload -> 'traits'`.as('traits')])
    .where('action', 'in', actions)
    .where(sql<boolean>`payload ->> 'actor_id' = ${userId}`)
  return query.orderBy('created_at').orderBy('id').execute()
}

describe('the audit log of an attempt that a hook refuses', () => {
  const factorRefusal = errorBody(403, 'mfa_verification_rejected', 'MFA verification attempt rejected')
  const endedBy = (hook: string) => ({ action: 'logout', traits: { hook } })

  it.each(['right', 'wrong'])('has the %s password, and the end of the sessions', async (kind) => {
    const { user, email, password } = await createSignedIn(test)
    answers({ PASSWORD_VERIFICATION_ATTEMPT: () => ({ decision: 'reject', should_logout_user: true }) })
    const entered = await enterPassword({ email, password: kind === 'right' ? password : 'wrong' })
    expect(statusAndBody(entered)).toEqual(wrongPassword)
    expect(await failuresOf(user.id)).toEqual([
      { action: 'login_failed', traits: { provider: 'email' } },
      endedBy('PASSWORD_VERIFICATION_ATTEMPT'),
    ])
  })

  it.each([
    ['rejects', { decision: 'reject' }],
    ['refuses', rejected],
    ['does not judge', { decision: 'perhaps' }],
  ])('has the right password that the hook %s', async (_, answer) => {
    const { user, email, password } = await createSignedIn(test)
    answers({ PASSWORD_VERIFICATION_ATTEMPT: () => answer })
    expect(outcomeOf(await enterPassword({ email, password }))).not.toBe(200)
    expect(await failuresOf(user.id)).toEqual([{ action: 'login_failed', traits: { provider: 'email' } }])
  })

  it('has the right current password', async () => {
    const { user, headers, password } = await createSignedIn(test)
    answers({ PASSWORD_VERIFICATION_ATTEMPT: () => ({ decision: 'reject' }) })
    const payload = { password: 'another long password', current_password: password }
    await test.app.inject({ method: 'PUT', url: '/user', headers, payload })
    expect(await failuresOf(user.id)).toEqual([{ action: 'reauthentication_failed', traits: { proof: 'password' } }])
  })

  it.each(['right', 'wrong'])('has the %s code of a factor, and the end of the sessions', async (kind) => {
    const { user, headers } = await createSignedIn(test)
    const { factorId, code } = await enrolApp(test, headers)
    answers({ MFA_VERIFICATION_ATTEMPT: () => ({ decision: 'reject' }) })
    const answer = await answerChallenge(test, headers, { factorId, code: kind === 'right' ? code() : 'x' })
    expect(answer.json()).toEqual(factorRefusal)
    expect(await failuresOf(user.id)).toEqual([
      { action: 'factor_verification_failed', traits: { factor_id: factorId, challenge_id: anyId } },
      endedBy('MFA_VERIFICATION_ATTEMPT'),
    ])
  })

  it.each(['right', 'wrong'])('has the %s recovery code, and the end of the sessions', async (kind) => {
    const { user, headers } = await createSignedIn(test)
    const steppedUp = await addApp(test, headers)
    const { codes } = (await test.post('/factors/recovery-codes', {}, steppedUp.headers)).json()
    answers({ MFA_VERIFICATION_ATTEMPT: () => ({ decision: 'reject' }) })
    const code = kind === 'right' ? codes[0] : 'wrong'
    const answer = await test.post('/factors/recovery-codes/verify', { code }, steppedUp.headers)
    expect(answer.json()).toEqual(factorRefusal)
    expect(await failuresOf(user.id)).toEqual([
      { action: 'factor_verification_failed', traits: { factor_id: anyId } },
      endedBy('MFA_VERIFICATION_ATTEMPT'),
    ])
  })
})

describe('MFA_VERIFICATION_ATTEMPT', () => {
  it('is told of right and wrong answers', async () => {
    const { user, headers } = await createSignedIn(test)
    const app = await enrolApp(test, headers)
    await answerChallenge(test, headers, { factorId: app.factorId, code: 'x' })
    await answerChallenge(test, headers, { factorId: app.factorId, code: app.code() })
    const calls = stub.callsOf('MFA_VERIFICATION_ATTEMPT').filter(({ payload }) => payload.user_id === user.id)
    const attempt = { user_id: user.id, factor_id: app.factorId, factor_type: 'totp' }
    expect(calls.map(({ payload }) => payload)).toEqual([
      { ...attempt, valid: false },
      { ...attempt, valid: true },
    ])
  })

  it('403: refuses a right answer with its own message and signs the user out everywhere', async () => {
    const signedIn = await createSignedIn(test)
    const steppedUp = await addApp(test, signedIn.headers)
    const codes = (await test.post('/factors/recovery-codes', {}, steppedUp.headers)).json().codes
    const later = await signIn(test, signedIn)
    answers({ MFA_VERIFICATION_ATTEMPT: () => ({ decision: 'reject', message: 'Too often' }) })
    const answer = await test.post('/factors/recovery-codes/verify', { code: codes[0] }, later.headers)
    expect(answer.json()).toEqual({ code: 403, error_code: 'mfa_verification_rejected', msg: 'Too often' })
    expect(statusAndBody(await refresh(steppedUp.refreshToken))).toEqual([
      400,
      grantErrorBody('invalid_grant', 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
    ])
  })

  it('422: counts wrong answers whatever the hook says, and refuses the right one after twenty', async () => {
    const { headers } = await createSignedIn(test)
    const app = await enrolApp(test, headers)
    const answer = (code: string) => answerChallenge(test, headers, { factorId: app.factorId, code })
    answers(refuse('MFA_VERIFICATION_ATTEMPT'))
    for (let guess = 0; guess < 20; guess += 1) expect((await answer('x')).json()).toEqual(whatHookSays)
    answers({})
    expect(statusAndBody(await answer(app.code()))).toEqual([
      422,
      errorBody(422, 'mfa_verification_failed', 'Invalid TOTP code entered'),
    ])
    expect(stub.callsOf('MFA_VERIFICATION_ATTEMPT').at(-1)?.payload).toEqual({
      user_id: anyId,
      factor_id: app.factorId,
      factor_type: 'totp',
      valid: false,
    })
  })
})

describe('BEFORE_USER_CREATED', () => {
  const createdBy = async (email: string) => {
    const query = test.deps.db.selectFrom('users').select('staged_at').where('email', '=', email)
    return query.executeTakeFirst()
  }

  it('403: refuses signups of every kind, and nothing is stored or sent', async () => {
    answers(refuse('BEFORE_USER_CREATED'))
    const email = 'refused@example.com'
    const kinds = [
      test.post('/signup', { email, password: 'correct horse' }),
      test.post('/signup', { phone: '14155550142', password: 'correct horse' }),
      test.post('/signup', {}),
      test.post('/invite', { email }, OPERATOR),
      test.post('/admin/generate_link', { type: 'magiclink', email }, OPERATOR),
    ]
    for (const answer of await Promise.all(kinds)) expect(answer.json()).toEqual(whatHookSays)
    expect(await createdBy(email)).toBeUndefined()
    await test.idle()
    expect(test.recipients()).not.toContain(email)
  })

  it('500: takes no other answer for consent, and nothing is stored', async () => {
    const email = 'unclear@example.com'
    const failed = { ...errorBody(500, 'unexpected_failure', 'Error running hook'), error_id: anyId }
    for (const answer of [{ error: { http_code: 403 } }, { error: 'blocked' }, { decision: 'reject', message: 'no' }]) {
      answers({ BEFORE_USER_CREATED: () => answer })
      for (const { path, body, headers } of [
        { path: '/signup', body: { email, password: 'correct horse' } },
        { path: '/signup', body: {} },
        { path: '/invite', body: { email }, headers: OPERATOR },
      ])
        expect(statusAndBody(await test.post(path, body, headers))).toEqual([500, failed])
    }
    expect(await createdBy(email)).toBeUndefined()
  })

  it('is told the future user and the address of the request', async () => {
    const payload = { email: 'new@example.com', password: 'correct horse', data: { plan: 'gold' } }
    await test.post('/signup', payload, { 'x-forwarded-for': '203.0.113.7' })
    expect(stub.callsOf('BEFORE_USER_CREATED').at(-1)?.payload).toEqual({
      metadata: {
        uuid: anyId,
        time: test.clock.now().toISOString(),
        name: 'before-user-created',
        ip_address: '203.0.113.7',
      },
      user: userBody({
        email: 'new@example.com',
        confirmation_sent_at: anyTime,
        user_metadata: { plan: 'gold' },
        identities: [emailIdentity(anyId, payload.email, { plan: 'gold' })],
      }),
    })
    await test.post('/signup', { data: { plan: 'none' } })
    expect(stub.callsOf('BEFORE_USER_CREATED').at(-1)?.payload.user).toEqual(
      userBody({ app_metadata: {}, user_metadata: { plan: 'none' }, is_anonymous: true }),
    )
  })

  it('is asked for taken addresses too, so the answer of a signup reveals nothing', async () => {
    const { email } = await createSignedUp(test.deps)
    answers(refuse('BEFORE_USER_CREATED'))
    expect((await test.post('/signup', { email, password: 'correct horse' })).json()).toEqual(whatHookSays)
  })

  it('403: is asked when a first code is used, and a refusal keeps the code', async () => {
    const email = 'staged@example.com'
    const before = stub.callsOf('BEFORE_USER_CREATED').length
    await test.post('/otp', { email })
    const { code } = await test.readMail(email)
    expect(stub.callsOf('BEFORE_USER_CREATED')).toHaveLength(before)
    answers(refuse('BEFORE_USER_CREATED'))
    const verify = () => test.post('/verify', { type: 'email', email, token: code })
    expect((await verify()).json()).toEqual(whatHookSays)
    expect((await createdBy(email))?.staged_at).not.toBeNull()
    answers({})
    expectSession(await verify(), confirmedBody(anyId, email, { recovery_sent_at: anyTime }), { type: 'magiclink' })
    expect((await createdBy(email))?.staged_at).toBeNull()
    // The hook is not called for an existing user.
    const asked = stub.callsOf('BEFORE_USER_CREATED').length
    await test.post('/otp', { email })
    const again = await test.readMail(email)
    await test.post('/verify', { type: 'email', email, token: again.code })
    expect(stub.callsOf('BEFORE_USER_CREATED')).toHaveLength(asked)
  })
})
