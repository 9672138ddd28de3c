import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { amrEntry, anyId, anyTime } from '../../test/bodies.ts'
import { describeMail } from '../messages/message-record.ts'
import { judgeSignUp, type OwnerState } from './sign-up.model.ts'
import { batchSignUps, type InsertSignUp, insertSignUp, type SignUp } from './sign-up-repository.ts'

const INTERVAL_MS = 60_000
const start = Date.parse('2026-01-02T03:04:05.678Z')
let database: TestDatabase
/** Runs sign-ups that need no confirmation. */
let batched: InsertSignUp

// The namespace makes the names of the function as long as possible.
beforeAll(async () => {
  database = await openTestDatabase('app')
  batched = batchSignUps(database.pools)
})
afterAll(() => database.drop())

/** The address of a user who signs up. */
interface Address {
  readonly kind: 'email' | 'phone'
  readonly value: string
}

let count = 0
const newAddress = (kind: 'email' | 'phone'): Address => ({ kind, value: `${++count}` })

const shown = (userId: string, to: string) => describeMail({ kind: 'CONFIRMATION', messageId: userId, to, userId })

interface SignUpOptions {
  readonly nowMs: number
  readonly autoconfirm: boolean
}

function toSignUp({ kind, value }: Address, { nowMs, autoconfirm }: SignUpOptions): SignUp {
  const now = new Date(nowMs)
  const userId = randomUUID()
  const message = (name: string) => ({ task: name, data: { to: value } })
  return {
    userId,
    identityId: randomUUID(),
    email: kind === 'email' ? value : null,
    phone: kind === 'phone' ? value : null,
    audience: 'authenticated',
    role: 'authenticated',
    passwordHash: `hash of ${userId}`,
    data: { full_name: 'A User' },
    identityData: { sub: userId, [kind]: value },
    now,
    confirmation: autoconfirm
      ? undefined
      : {
          interval: {
            key: Buffer.from(value),
            kind: kind === 'email' ? 'confirmation' : 'sms',
            dueBefore: new Date(nowMs - INTERVAL_MS),
          },
          secrets: {
            kind: kind === 'email' ? 'confirmation' : 'sms',
            identifier: value,
            linkHash: Buffer.from(userId),
            codeHash: Buffer.from('code'),
            codeSalt: Buffer.from('salt'),
            sentAt: now,
            expiresAt: new Date(nowMs + INTERVAL_MS),
          },
          pkce: kind === 'email' ? { codeChallenge: 'c'.repeat(43), codeChallengeMethod: 's256' } : undefined,
          message: { ...message('first'), message: shown(userId, value) },
          messageAgain: message('again'),
        },
    tokenHash: Buffer.from(randomUUID()),
    userAgent: 'test',
    ip: '192.0.2.1',
    audit: true,
  }
}

const signUp = (address: Address, { nowMs = start, autoconfirm = false }: Partial<SignUpOptions> = {}) =>
  insertSignUp(database.pools, toSignUp(address, { nowMs, autoconfirm }))
const change = ({ kind, value }: Address, changes: object) =>
  database.db.updateTable('users').set(changes).where(kind, '=', value).execute()
const rowsOf = ({ kind, value }: Address) =>
  database.db.selectFrom('users').selectAll().where(kind, '=', value).execute()
/** Changes the identity to one of an external provider. */
const leaveToProvider = ({ value }: Address) =>
  database.db.updateTable('identities').set({ provider: 'spotify' }).where('email', '=', value).execute()
const tasksFor = async ({ value }: Address) => {
  const rows = await database.db.selectFrom('outbox').selectAll().orderBy('id').execute()
  return rows.filter(({ data }) => data.to === value).map(({ task }) => task)
}
const auditOf = async (actorId: string) => {
  const entries = database.db.selectFrom('audit_log_entries').selectAll().where('actor_id', '=', actorId)
  return (await entries.orderBy('id').execute()).map(({ action, payload }) => [action, payload])
}

const TABLES_OF_USER = ['identities', 'sessions', 'refresh_tokens', 'mfa_amr_claims', 'audit_log_entries'] as const

/** Returns the outcome and the rows of a sign-up that needs no confirmation, without ids and times. */
async function signUpAndRead(address: Address) {
  const input = toSignUp(address, { nowMs: start, autoconfirm: true })
  const outcome = await batched(input)
  if (outcome.verdict !== 'signed-in') throw new Error(outcome.verdict)
  const { sessionId } = outcome.session
  const { db } = database
  const ofSession = (table: 'refresh_tokens' | 'mfa_amr_claims') =>
    db.selectFrom(table).selectAll().where('session_id', '=', sessionId).execute()
  const rows = [
    ['identities', await db.selectFrom('identities').selectAll().where('user_id', '=', input.userId).execute()],
    ['sessions', await db.selectFrom('sessions').selectAll().where('id', '=', sessionId).execute()],
    ['refresh_tokens', await ofSession('refresh_tokens')],
    ['mfa_amr_claims', await ofSession('mfa_amr_claims')],
    [
      'audit_log_entries',
      await db.selectFrom('audit_log_entries').selectAll().where('actor_id', '=', input.userId).execute(),
    ],
  ] as const
  const names = new Map([
    [input.userId, 'user'],
    [input.identityId, 'identity'],
    [sessionId, 'session'],
    [address.value, 'who'],
    [new Date(start).toISOString().replace('Z', '000+00:00'), 'start'],
  ])
  const text = JSON.stringify({ outcome, users: await rowsOf(address), rows }, (key, value) => {
    if (value?.type === 'Buffer') return 'bytes'
    if (key === 'id' && !names.has(value)) return 'id'
    if (typeof value === 'bigint') return Number(value)
    if (key === 'timestamp') return typeof value
    if (typeof value !== 'string') return value
    return names.get(value) ?? value.replace(input.userId, 'user').replace(/^\d{4}-\d\d-\d\dT.*/, 'moment')
  })
  return z.looseObject({ rows: z.array(z.tuple([z.string(), z.array(z.unknown())])) }).parse(JSON.parse(text))
}

/** The expected user after a sign-up and sign-in. */
const signedInUser = (members: object) => ({
  id: anyId,
  audience: 'authenticated',
  role: 'authenticated',
  email: null,
  emailAsWritten: null,
  phone: null,
  passwordHash: null,
  emailConfirmedAt: null,
  phoneConfirmedAt: null,
  confirmedAt: null,
  invitedAt: null,
  confirmationSentAt: null,
  recoverySentAt: null,
  emailChange: null,
  emailChangeSentAt: null,
  emailChangeConfirmStatus: 0,
  phoneChange: null,
  phoneChangeSentAt: null,
  reauthenticationSentAt: null,
  lastSignInAt: anyTime,
  userMetadata: { full_name: 'A User' },
  bannedUntil: null,
  deletedAt: null,
  isAnonymous: false,
  isSsoUser: false,
  consoleRole: null,
  pendingSince: null,
  createdAt: anyTime,
  updatedAt: anyTime,
  ...members,
})

describe('insertSignUp', () => {
  it('stores a user with identity, secrets, flow, message and audit entry', async () => {
    const address = newAddress('email')
    const input = toSignUp(address, { nowMs: start, autoconfirm: false })
    expect(await insertSignUp(database.pools, input)).toEqual({ verdict: 'sent', actorId: input.userId })
    const at = '2026-01-02T03:04:05.678000+00:00'
    const stored = database.db
      .selectFrom('users')
      .select([
        'id',
        'email',
        'phone',
        'encrypted_password',
        'confirmation_sent_at',
        'email_confirmed_at',
        'raw_app_meta_data',
        'raw_user_meta_data',
        'is_anonymous',
        'created_at',
        'updated_at',
      ])
    expect(await stored.where('email', '=', address.value).execute()).toEqual([
      {
        id: input.userId,
        email: address.value,
        phone: null,
        encrypted_password: input.passwordHash,
        confirmation_sent_at: at,
        email_confirmed_at: null,
        raw_app_meta_data: { provider: 'email', providers: ['email'] },
        raw_user_meta_data: { full_name: 'A User' },
        is_anonymous: false,
        created_at: at,
        updated_at: at,
      },
    ])
    const ofUser = (table: 'identities' | 'one_time_tokens' | 'flow_state') =>
      database.db.selectFrom(table).selectAll().where('user_id', '=', input.userId).execute()
    expect(await ofUser('identities')).toEqual([
      {
        provider_id: input.userId,
        user_id: input.userId,
        identity_data: input.identityData,
        provider: 'email',
        last_sign_in_at: null,
        created_at: anyTime,
        updated_at: anyTime,
        email: address.value,
        id: input.identityId,
      },
    ])
    const [flow] = await ofUser('flow_state')
    expect([flow?.authentication_method, flow?.code_challenge_method]).toEqual(['email/signup', 's256'])
    expect(
      (await ofUser('one_time_tokens')).map(({ kind, relates_to, flow_state_id, guesses, sent_at }) => ({
        kind,
        relates_to,
        flow_state_id,
        guesses,
        sent_at,
      })),
    ).toEqual([{ kind: 'confirmation', relates_to: address.value, flow_state_id: flow?.id, guesses: 0, sent_at: at }])
    expect(await tasksFor(address)).toEqual(['first'])
    const log = { log_type: 'user', actor_via_sso: false, actor_username: address.value, traits: { provider: 'email' } }
    expect(await auditOf(input.userId)).toEqual([
      [
        'user_confirmation_requested',
        { ...log, action: 'user_confirmation_requested', actor_id: input.userId, actor_name: 'A User' },
      ],
    ])
  })

  it('signs in a user with a confirmed identifier, and an anonymous user', async () => {
    const address = newAddress('phone')
    const outcome = await signUp(address, { autoconfirm: true })
    if (outcome.verdict !== 'signed-in') throw new Error(outcome.verdict)
    expect(outcome.session).toEqual({
      user: signedInUser({
        phone: address.value,
        phoneConfirmedAt: '2026-01-02T03:04:05.678000+00:00',
        confirmedAt: anyTime,
        appMetadata: { provider: 'phone', providers: ['phone'] },
      }),
      identities: [
        {
          id: anyId,
          userId: anyId,
          provider: 'phone',
          providerId: anyId,
          data: { sub: anyId, phone: address.value },
          email: null,
          lastSignInAt: null,
          createdAt: anyTime,
          updatedAt: anyTime,
        },
      ],
      factors: [],
      sessionId: anyId,
      aal: 'aal1',
      startedAt: anyTime,
      amr: [amrEntry('password')],
    })
    const nobody = {
      ...toSignUp(address, { nowMs: start, autoconfirm: true }),
      email: null,
      phone: null,
      passwordHash: null,
    }
    const anonymous = await insertSignUp(database.pools, nobody)
    if (anonymous.verdict !== 'signed-in') throw new Error(anonymous.verdict)
    expect(anonymous.session).toEqual({
      user: signedInUser({ id: nobody.userId, appMetadata: {}, isAnonymous: true }),
      identities: [],
      factors: [],
      sessionId: anyId,
      aal: 'aal1',
      startedAt: anyTime,
      amr: [amrEntry('anonymous')],
    })
    expect(await auditOf(nobody.userId)).toEqual([
      [
        'user_signedup',
        {
          action: 'user_signedup',
          traits: { provider: 'anonymous' },
          actor_id: nobody.userId,
          log_type: 'team',
          actor_name: 'A User',
          actor_via_sso: false,
          actor_username: '',
        },
      ],
    ])
  })

  it.each(['email', 'phone'] as const)(
    'writes the same rows for a new %s and for that of a pending sign-up',
    async (kind) => {
      const [afterPending, fresh] = [newAddress(kind), newAddress(kind)]
      const pending = { aud: 'authenticated', role: 'authenticated', staged_at: new Date(start) }
      await database.db
        .insertInto('users')
        .values({ id: randomUUID(), ...pending, [kind]: afterPending.value })
        .execute()
      const [alone, inBatch] = [await signUpAndRead(afterPending), await signUpAndRead(fresh)]
      expect(inBatch).toEqual(alone)
      expect(inBatch.rows.map(([table, rows]) => [table, rows.length])).toEqual(
        TABLES_OF_USER.map((table) => [table, 1]),
      )
    },
  )

  it('creates one user for parallel sign-ups, also in place of a pending sign-up', async () => {
    const address = newAddress('email')
    await database.db
      .insertInto('users')
      .values({
        id: randomUUID(),
        aud: 'authenticated',
        role: 'authenticated',
        email: address.value,
        staged_at: new Date(start),
      })
      .execute()
    const outcomes = await Promise.all(Array.from({ length: 16 }, () => signUp(address)))
    expect(outcomes.map(({ verdict }) => verdict).sort()).toEqual([...Array(15).fill('repeated'), 'sent'])
    const [user, ...others] = await rowsOf(address)
    expect(others).toEqual([])
    expect(user?.staged_at).toBeNull()
    expect(new Set(outcomes.map(({ actorId }) => actorId))).toEqual(new Set([user?.id]))
    expect(await tasksFor(address)).toEqual(['first'])
  })

  it('decides as its model does', async () => {
    const who = fc.constantFrom(0, 1, 2)
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ do: fc.constant('sign-up' as const), who, autoconfirm: fc.boolean() }) },
      fc.record({ do: fc.constant('confirm' as const), who }),
      fc.record({ do: fc.constant('code' as const), who }),
      fc.record({ do: fc.constant('claim' as const), who }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, INTERVAL_MS - 1, INTERVAL_MS) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const addresses = [newAddress('email'), newAddress('phone'), newAddress('email')].map((address) => ({
          address,
          owner: 'nobody' as OwnerState,
          notedAt: Number.NEGATIVE_INFINITY,
          codeSentAt: Number.NEGATIVE_INFINITY,
          passwordHash: null as string | null,
          tasks: [] as string[],
        }))
        let now = start
        for (const action of steps) {
          if (action.do === 'wait') {
            now += action.ms
            continue
          }
          const one = addresses[action.who]
          if (!one) throw new Error('nobody')
          if (action.do === 'sign-up') {
            const { autoconfirm } = action
            const isDue = one.notedAt <= now - INTERVAL_MS
            const hasYoungCode = one.codeSentAt > now - INTERVAL_MS
            const verdict = judgeSignUp(one.owner, { autoconfirm, isDue, hasYoungCode })
            if (!autoconfirm && isDue) one.notedAt = now
            const input = toSignUp(one.address, { nowMs: now, autoconfirm })
            expect((await batched(input)).verdict).toBe(verdict)
            if (verdict === 'sent') one.tasks.push('first')
            if (verdict === 'sent-again') one.tasks.push('again')
            if (verdict === 'sent' || verdict === 'signed-in') {
              one.owner = verdict === 'sent' ? 'unconfirmed' : 'confirmed'
              one.passwordHash = input.passwordHash
              one.codeSentAt = verdict === 'sent' && one.address.kind === 'phone' ? now : Number.NEGATIVE_INFINITY
            }
          } else if (one.owner === 'unconfirmed' && action.do === 'confirm') {
            await change(one.address, { [`${one.address.kind}_confirmed_at`]: new Date(now) })
            one.owner = 'confirmed'
          } else if (one.owner === 'unconfirmed' && action.do === 'claim' && one.address.kind === 'email') {
            await leaveToProvider(one.address)
            one.owner = 'claimed'
          } else if (one.owner !== 'nobody' && action.do === 'code') {
            await change(one.address, { staged_at: new Date(now), [`${one.address.kind}_confirmed_at`]: null })
            one.owner = 'pending'
          }
        }
        for (const { address, owner, passwordHash, tasks } of addresses) {
          const rows = await rowsOf(address)
          expect(rows.map((row) => row.encrypted_password)).toEqual(owner === 'nobody' ? [] : [passwordHash])
          expect(await tasksFor(address)).toEqual(tasks)
        }
      }),
      { numRuns: 60 },
    )
  })
})
