import { randomUUID } from 'node:crypto'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import { defineEncryptedTask } from '@trestle/jobs/task.ts'
import type { StubAnswer } from '@trestle/testing/stub-provider.ts'
import { sql, type Transaction } from 'kysely'
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { openMailApp } from '../../test/mail-app.ts'
import { SMS_TAKEN } from '../../test/sms-stub.ts'
import type { AuthTables } from '../database.ts'
import { overSmsRateLimit } from '../errors.ts'
import { hashCode } from '../one-time-tokens/one-time-token.ts'
import { insertUser } from '../users/user-change-repository.ts'
import { issueSmsCode, takeSms } from './sms-code.ts'
import { type HeldSms, holdSms, queueSms, type SmsJob, sendHeldSms, smsTask } from './sms-job.ts'

const app = await openMailApp({
  AUTH_SMS_TEST_OTP: '15005550001:123456',
  AUTH_SMS_TEST_OTP_VALID_UNTIL: '2030-01-01T00:00:00Z',
  AUTH_SMS_TEMPLATE: '{{ .Code }} is your code',
  AUTH_RATE_LIMIT_SMS_SENT: '1',
})
const { deps, sms, clock } = app
const { db } = deps
afterAll(() => app.close())
beforeEach(() => {
  sms.answer = SMS_TAKEN
})

let count = 0
const nextPhone = () => `1415555${String(++count).padStart(4, '0')}`

async function issue<T>(phone: string, then: (trx: Transaction<AuthTables>, job: SmsJob | undefined) => Promise<T>) {
  const user = await insertUser(db, { aud: 'authenticated', role: 'authenticated', phone })
  return db.transaction().execute(async (trx) => {
    const messageId = randomUUID()
    return then(trx, await issueSmsCode(trx, deps, { user, phone, tokenKind: 'sms', channel: 'sms', messageId }))
  })
}

/** The task in older processes, which give an SMS no purpose. */
const olderTask = defineEncryptedTask(smsTask.name, (json) => z.looseObject({}).parse(json), smsTask)

const queue = (phone: string) =>
  issue(phone, async (trx, job) => {
    if (job) await queueSms(trx, deps, job)
  })
const hold = (phone: string): Promise<HeldSms> =>
  issue(phone, async (trx, job) => {
    if (!job) throw new Error('nothing is sent to a phone of the tests')
    return holdSms(trx, deps, job)
  })
const sentTo = (phone: string) => sms.messages.filter(({ to }) => to === phone)
const states = async () => {
  const query = sql<{ state: string }>`SELECT state::text FROM auth_jobs.job WHERE name = 'sms' ORDER BY created_on`
  return (await query.execute(db)).rows.map(({ state }) => state)
}
const lastState = async () => (await states()).at(-1)
const makeDue = () => sql`UPDATE auth_jobs.job SET start_after = now() WHERE state IN ('created', 'retry')`.execute(db)

describe('queueSms', () => {
  it('sends the stored code and keeps code and phone out of the queue', async () => {
    const phone = nextPhone()
    await queue(phone)
    const { text, code } = await sms.read(phone)
    expect(text).toBe(`${code} is your code`)
    const row = await db
      .selectFrom('one_time_tokens')
      .selectAll()
      .where('relates_to', '=', phone)
      .executeTakeFirstOrThrow()
    expect(row.otp_hash).toEqual(hashCode(deps.serverKeys.hmac, row.otp_salt ?? Buffer.alloc(0), phone, code))
    expect(Date.parse(row.expires_at) - clock.now().getTime()).toBe(60_000)
    await expect.poll(lastState).toBe('completed')
    const { rows } = await sql`SELECT * FROM auth_jobs.job`.execute(db)
    expect(JSON.stringify(rows)).not.toMatch(new RegExp(`${phone}|${code}`))
  })

  it('tries again after an outage of the gateway', async () => {
    sms.answer = { status: 503, body: '' }
    const phone = nextPhone()
    await queue(phone)
    await expect.poll(lastState).toBe('retry')
    sms.answer = SMS_TAKEN
    await makeDue()
    await expect.poll(lastState).toBe('completed')
    expect(sentTo(phone)).toHaveLength(2)
  })

  it('sends an SMS that an older process has queued', async () => {
    const phone = nextPhone()
    await issue(phone, async (trx, job) => {
      const { purpose: _, ...older } = job ?? {}
      await deps.jobs.send(trx, olderTask, older)
    })
    const { text, code } = await sms.read(phone)
    expect(text).toBe(`${code} is your code`)
    await expect.poll(lastState).toBe('completed')
  })

  it('drops an SMS whose code has expired', async () => {
    const phone = nextPhone()
    await issue(phone, async (trx, job) => {
      if (job) await queueSms(trx, deps, { ...job, expiresAt: clock.now().toISOString() })
    })
    await expect.poll(lastState).toBe('failed')
    expect(sentTo(phone)).toEqual([])
  })
})

describe('smsTask', () => {
  const sms = {
    ...{ to: '14155550100', text: '123456 is your code', code: '123456', channel: 'sms', messageId: randomUUID() },
    ...{ expiresAt: '2030-01-01T00:00:00Z', userId: randomUUID() },
  }

  it.each([
    ['with its purpose', { purpose: 'phone_change' }, 'phone_change'],
    ['of an older process', {}, 'one_time_code'],
    ['of an older process for a second factor', { isForFactor: true }, 'second_factor'],
  ])('reads an SMS %s, and knows what it is for', (_whose, stored, purpose) => {
    expect(smsTask.read({ ...sms, ...stored })).toEqual({ ...sms, purpose })
  })
})

describe('sendHeldSms', () => {
  it('sends at once and only once', async () => {
    const phone = nextPhone()
    await sendHeldSms(deps, await hold(phone))
    await expect.poll(lastState).toBe('completed')
    await makeDue()
    expect(sentTo(phone)).toHaveLength(1)
  })

  it('422: returns the refusal of the gateway and ends the job', async () => {
    sms.answer = { status: 400, body: { code: 21211, message: 'not a valid number' } }
    const phone = nextPhone()
    await expect(sendHeldSms(deps, await hold(phone))).rejects.toEqual(
      new HttpError(422, 'sms_send_failed', {
        message: 'Error sending confirmation OTP to provider: not a valid number',
      }),
    )
    await expect.poll(lastState).toBe('completed')
    expect(sentTo(phone)).toHaveLength(1)
  })

  it('leaves an outage to the queue', async () => {
    sms.answer = { status: 500, body: '' }
    const phone = nextPhone()
    await sendHeldSms(deps, await hold(phone))
    expect(await lastState()).toBe('created')
    sms.answer = SMS_TAKEN
    await makeDue()
    await expect.poll(lastState).toBe('completed')
    expect(sentTo(phone)).toHaveLength(2)
  })

  it.each([
    ['takes', SMS_TAKEN, 'completed'],
    ['refuses', { status: 400, body: { code: 1, message: 'no' } }, 'created'],
  ])('waits two seconds at most for a gateway that %s later', async (_case, answer, state) => {
    const later = Promise.withResolvers<StubAnswer>()
    sms.answer = later.promise
    const phone = nextPhone()
    const held = await hold(phone)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const sent = sendHeldSms(deps, held)
    // The first timer of the call ends the wait for the gateway. The test ends it early.
    const [endPatience, patienceMs] = timers.mock.calls[0] ?? []
    timers.mockRestore()
    expect(patienceMs).toBe(2_000)
    await expect.poll(() => sentTo(phone)).toHaveLength(1)
    endPatience?.()
    await sent
    expect(await lastState()).toBe('created')
    later.resolve(answer)
    await expect.poll(lastState).toBe(state)
    expect(sentTo(phone)).toHaveLength(1)
  })
})

describe('a test phone', () => {
  it('has its test code, and no SMS is sent or counted', async () => {
    const phone = '15005550001'
    expect(await issue(phone, async (_trx, job) => job)).toBeUndefined()
    const row = await db
      .selectFrom('one_time_tokens')
      .selectAll()
      .where('relates_to', '=', phone)
      .executeTakeFirstOrThrow()
    expect(row.otp_hash).toEqual(hashCode(deps.serverKeys.hmac, row.otp_salt ?? Buffer.alloc(0), phone, '123456'))
    for (let i = 0; i < 3; i += 1) await takeSms({ ...deps, sms: undefined }, phone, undefined)
  })

  it('counts messages again after the test code has expired', async () => {
    const late = { ...deps, now: () => new Date('2030-01-01T00:00:00Z') }
    await takeSms(late, '15005550001', undefined)
    await expect(takeSms(late, '15005550001', undefined)).rejects.toEqual(
      overSmsRateLimit({ headers: { 'retry-after': expect.stringMatching(/^\d+$/) } }),
    )
    await expect(takeSms({ ...late, sms: undefined }, '15005550001', undefined)).rejects.toEqual(
      new HttpError(500, 'unexpected_failure', { message: 'Unable to get SMS provider' }),
    )
  })
})
