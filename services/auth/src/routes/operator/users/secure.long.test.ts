import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addApp, answerChallenge, enrolApp } from '../../../../test/authenticator-app.ts'
import { errorBody, outcomeOf } from '../../../../test/bodies.ts'
import { type MailApp, openMailApp } from '../../../../test/mail-app.ts'
import {
  changeEntry,
  changesOf,
  createOperator,
  forbidden,
  OPERATOR_SETTINGS,
  operate,
  type SignedInOperator,
  unknownUser,
} from '../../../../test/operators.ts'
import { paths } from '../../../../test/passkey-app.ts'
import { RECOVERY_CODES } from '../../../../test/recovery-codes-app.ts'
import { createSignedIn, type SignedIn, signIn } from '../../../../test/signed-in.ts'
import { createSignedUp } from '../../../../test/signed-up.ts'

type Headers = SignedIn['headers']

/** Waits for the next millisecond, so that existing rows are older. @returns the current time */
async function nextMoment(): Promise<string> {
  const made = Date.now()
  while (Date.now() === made) await setImmediate()
  return new Date().toISOString()
}

describe.each(['compatible', 'supabase'])('POST /operator/users/:userId/secure, AUTH_PROFILE=%s', (profile) => {
  let test: MailApp
  let support: SignedInOperator
  let admin: SignedInOperator
  beforeAll(async () => {
    const settings = {
      ...OPERATOR_SETTINGS,
      AUTH_PROFILE: profile,
      AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
      AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
      AUTH_PASSKEY_ENABLED: 'true',
      AUTH_WEBAUTHN_RP_ID: 'app.example.com',
      AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'The App',
      AUTH_WEBAUTHN_RP_ORIGINS: 'https://app.example.com',
      AUTH_MAILER_NOTIFICATIONS_PASSKEY_ADDED_ENABLED: 'false',
      AUTH_MAILER_NOTIFICATIONS_RECOVERY_CODES_CREATED_ENABLED: 'false',
    }
    // Use the real time, because the database dates sessions by its own clock.
    const now = () => new Date()
    test = { ...(await openMailApp(settings, { replace: () => ({ now }) })), clock: { now, advance: () => {} } }
    support = await createOperator(test, 'support')
    admin = await createOperator(test, 'admin')
  })
  afterAll(() => test.close())

  const secure = (userId: string, since: unknown = '2026-01-02T03:04:05Z', by = admin) =>
    operate(test, by, `POST /users/${userId}/secure`, { since })
  /** Returns the ids of the sessions, passkeys and factors that a user still has. */
  const leftOf = async (userId: string) => {
    const idsOf = async (table: 'sessions' | 'webauthn_credentials' | 'user_factors') => {
      const query = test.deps.db.selectFrom(table).select('id').where('user_id', '=', userId)
      return (await query.orderBy('created_at').execute()).map(({ id }) => id)
    }
    const [sessions, passkeys, factors] = [
      await idsOf('sessions'),
      await idsOf('webauthn_credentials'),
      await idsOf('user_factors'),
    ]
    return { sessions, passkeys, factors }
  }
  const refresh = ({ refreshToken }: Pick<SignedIn, 'refreshToken'>) =>
    test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken })
  const register = async (headers: Headers): Promise<string> => {
    const { challenge_id, options } = (await test.post(paths.start, {}, headers)).json()
    const payload = { challenge_id, credential: createAuthenticator().create(options) }
    return (await test.post(paths.finish, payload, headers)).json().id
  }
  const entriesOf = async (userId: string) => {
    const query = test.deps.db.selectFrom('audit_log_entries').select(['action', 'actor_id', 'payload'])
    const mine = query.where('target_user_id', '=', userId).where('actor_id', '=', admin.user.id)
    const rows = await mine.where('log_type', '!=', 'operator').orderBy('id').execute()
    return rows.map(({ action, payload }) => [action, payload.traits])
  }

  it('200: ends what was made at the time or later, keeps what is older, and records it', async () => {
    const owner = await createSignedIn(test)
    const { id } = owner.user
    const old = await addApp(test, owner.headers, 'app')
    const kept = await register(old.headers)
    expect(outcomeOf(await test.post(RECOVERY_CODES, {}, old.headers))).toBe(200)
    const since = await nextMoment()
    await signIn(test, owner)
    const passkey = await register(old.headers)
    const { factorId } = await enrolApp(test, old.headers, 'other')
    const { id: codes } = (await test.post(`${RECOVERY_CODES}/regenerate`, {}, old.headers)).json()

    const ended = { sessions: 1, passkeys: 1, factors: 2 }
    expect(await secure(id, since)).toEqual([200, ended])
    expect(outcomeOf(await refresh(old))).toBe(200)
    expect(await leftOf(id)).toEqual({ sessions: [owner.sessionId], passkeys: [kept], factors: [old.app.factorId] })
    const change = { action: 'users.secure', object: { kind: 'user', id }, changes: { since, ...ended } }
    expect(await changesOf(test, id)).toEqual([changeEntry(admin, change)])
    expect(await entriesOf(id)).toEqual([
      ['passkey_deleted', { user_id: id, passkey_id: passkey }],
      ...[codes, factorId].map((factor) => ['factor_deleted', { user_id: id, factor_id: factor }]),
    ])
  })

  it('200: ends a factor that was enrolled before the time and first shown since', async () => {
    const owner = await createSignedIn(test)
    const { factorId, code } = await enrolApp(test, owner.headers, 'app')
    const since = await nextMoment()
    const young = await signIn(test, owner)
    expect(outcomeOf(await answerChallenge(test, young.headers, { factorId, code: code() }))).toBe(200)
    expect(await secure(owner.user.id, since)).toEqual([200, { sessions: 1, passkeys: 0, factors: 1 }])
    expect((await leftOf(owner.user.id)).factors).toEqual([])
  })

  it('200: keeps a factor that was first shown before the time, although it was shown again since', async () => {
    const owner = await createSignedIn(test)
    const { headers, app } = await addApp(test, owner.headers, 'app')
    const { id: codes } = (await test.post(RECOVERY_CODES, {}, headers)).json()
    const since = await nextMoment()
    // Allow the code of the current time step to be used again.
    const unused = test.deps.db.updateTable('mfa_factors').set({ last_used_step: null })
    await unused.where('id', '=', app.factorId).execute()
    expect(outcomeOf(await answerChallenge(test, headers, { factorId: app.factorId, code: app.code() }))).toBe(200)
    expect(await secure(owner.user.id, since)).toEqual([200, { sessions: 0, passkeys: 0, factors: 0 }])
    expect((await leftOf(owner.user.id)).factors).toEqual([app.factorId, codes])
  })

  it('200: keeps recovery codes that are older, although one was used since', async () => {
    const owner = await createSignedIn(test)
    const { headers, app } = await addApp(test, owner.headers, 'app')
    const { id, codes } = (await test.post(RECOVERY_CODES, {}, headers)).json()
    const since = await nextMoment()
    expect(outcomeOf(await test.post(`${RECOVERY_CODES}/verify`, { code: codes[0] }, headers))).toBe(200)
    expect(await secure(owner.user.id, since)).toEqual([200, { sessions: 0, passkeys: 0, factors: 0 }])
    expect((await leftOf(owner.user.id)).factors).toEqual([app.factorId, id])
  })

  it('200: takes the recovery codes with the last factor, and lowers the session that the factor has stepped up', async () => {
    const owner = await createSignedIn(test)
    const since = await nextMoment()
    const { headers } = await addApp(test, owner.headers, 'app')
    expect(outcomeOf(await test.post(RECOVERY_CODES, {}, headers))).toBe(200)
    expect(await secure(owner.user.id, since)).toEqual([200, { sessions: 0, passkeys: 0, factors: 2 }])
    expect((await leftOf(owner.user.id)).factors).toEqual([])
    const sessions = test.deps.db.selectFrom('sessions').select(['id', 'aal']).where('user_id', '=', owner.user.id)
    expect(await sessions.execute()).toEqual([{ id: owner.sessionId, aal: 'aal1' }])
  })

  it('200: ends a session whose row has no time of its beginning, as others may have written it', async () => {
    const owner = await createSignedIn(test)
    const other = await signIn(test, owner)
    const ofOther = sql`UPDATE ${sql.table('sessions')} SET created_at = NULL WHERE id = ${other.sessionId}`
    await ofOther.execute(test.deps.db)
    expect(await secure(owner.user.id, await nextMoment())).toEqual([200, { sessions: 1, passkeys: 0, factors: 0 }])
    expect(outcomeOf(await refresh(owner))).toBe(200)
  })

  it(`200: ${profile === 'supabase' ? 'sends no mail' : 'mails the user'}, unless a setting says otherwise`, async () => {
    const { user, email } = await createSignedIn(test)
    expect(await secure(user.id, '2026-01-01T01:30:59+01:00')).toEqual([200, { sessions: 1, passkeys: 0, factors: 0 }])
    await test.idle()
    const count = test.recipients().filter((to) => to === email).length
    const texts = await Promise.all(Array.from({ length: count }, async () => (await test.readMail(email)).mail.text))
    const text = `Sessions, passkeys and verification methods of your account ${email} that were made since 2026-01-01 00:30 UTC were removed.\nIf this was not you, contact support at once.\n`
    expect(texts).toEqual(profile === 'supabase' ? [] : [text])
  })

  it('200: takes a time before all others', async () => {
    const { user } = await createSignedIn(test)
    expect(await secure(user.id, '0000-01-01T00:00:00Z')).toEqual([200, { sessions: 1, passkeys: 0, factors: 0 }])
  })

  const NO_TIME = 'since: must be an RFC 3339 time with an offset'
  it.each<[unknown, string]>([
    ['2026-01-02', NO_TIME],
    ['2026-01-02T03:04:05', NO_TIME],
    ['2026-01-02T03:04Z', NO_TIME],
    ['2026-02-30T03:04:05Z', NO_TIME],
    ['yesterday', NO_TIME],
    ['', NO_TIME],
    [1_767_322_800, NO_TIME],
    [null, NO_TIME],
    ['2126-01-02T03:04:05Z', 'since: must not be in the future'],
  ])('400: refuses %j as a time, and ends nothing', async (since, text) => {
    const owner = await createSignedIn(test)
    expect(await secure(owner.user.id, since)).toEqual([400, errorBody(400, 'validation_failed', text)])
    expect(await changesOf(test, owner.user.id)).toEqual([])
    expect(outcomeOf(await refresh(owner))).toBe(200)
  })

  it('403: only an admin secures accounts', async () => {
    const owner = await createSignedIn(test)
    expect(await secure(owner.user.id, undefined, support)).toEqual(forbidden('users.secure', 'support'))
    expect(outcomeOf(await refresh(owner))).toBe(200)
  })

  it('404: refuses an unknown user, a deleted user and an id that is no UUID', async () => {
    const { user } = await createSignedUp(test.deps, { deleted_at: new Date() })
    for (const id of [randomUUID(), user.id]) expect(await secure(id)).toEqual(unknownUser)
    expect(await secure('x')).toEqual([404, errorBody(404, 'validation_failed', 'user_id must be an UUID')])
  })
})
