import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { CONTEXT } from '../../test/sample-context.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import type { Trx } from '../database.ts'
import type { MessageRequest } from '../messages/message-request.ts'
import { confirmEmailChange } from './apply-address-change.ts'
import { resendEmailChange, resendPhoneChange, sendEmailChange, sendPhoneChange } from './request-address-change.ts'

const { deps, clock, close } = await openTestApp()
await deps.jobs.open()
afterAll(async () => {
  await deps.jobs.close()
  await close()
})

const DAY_MS = 86_400_000
const inTransaction = <Result>(run: (trx: Trx) => Promise<Result>) => deps.db.transaction().execute(run)

/** Requests the messages of a change again, by the current email of the user. */
function sendAgain(
  purpose: 'email_change' | 'phone_change',
  email: string,
  changes: Partial<MessageRequest> = {},
  senderDeps = deps,
) {
  const request: MessageRequest = {
    ...CONTEXT,
    purpose,
    identifier: { kind: 'email', value: email },
    messageId: randomUUID(),
    askedAt: clock.now().toISOString(),
    ...changes,
  }
  return inTransaction((trx) =>
    (purpose === 'email_change' ? resendEmailChange : resendPhoneChange)(trx, senderDeps, request),
  )
}

const codesOf = (userId: string) =>
  deps.db
    .selectFrom('one_time_tokens')
    .select(['kind', 'otp_hash'])
    .where('user_id', '=', userId)
    .orderBy('kind')
    .orderBy('otp_hash')
    .execute()

type Codes = Awaited<ReturnType<typeof codesOf>>
const keptOf = (before: Codes, after: Codes) =>
  after.filter((code) => before.some(({ otp_hash }) => code.otp_hash !== null && otp_hash?.equals(code.otp_hash)))

describe('resendEmailChange', () => {
  it('adds one message for each address that has not agreed, and ends none', async () => {
    const { user, email } = await createSignedUp(deps)
    expect(await sendAgain('email_change', email)).toBe('nobody')
    const newEmail = `new-${email}`
    await inTransaction((trx) =>
      sendEmailChange(trx, deps, user, { newEmail, pkce: undefined, context: CONTEXT, sessionId: null }),
    )
    const first = await codesOf(user.id)
    expect(first.map(({ kind }) => kind)).toEqual(['email_change_current', 'email_change_new'])
    expect(await sendAgain('email_change', email, { audience: 'elsewhere' })).toBe('nobody')
    clock.advance(60_000)
    expect(await sendAgain('email_change', email)).toBe('sent')
    const second = await codesOf(user.id)
    expect(keptOf(first, second)).toEqual(first)
    expect(second.map(({ kind }) => kind)).toEqual([
      'email_change_current',
      'email_change_current',
      'email_change_new',
      'email_change_new',
    ])
    clock.advance(60_000)
    expect(await sendAgain('email_change', email)).toBe('nobody')
    expect(await codesOf(user.id)).toEqual(second)
  })

  it('keeps the agreement of an address, and sends it nothing', async () => {
    const { user, email } = await createSignedUp(deps)
    const newEmail = `new-${email}`
    const change = { newEmail, pkce: undefined, context: CONTEXT, sessionId: null }
    await inTransaction((trx) => sendEmailChange(trx, deps, user, change))
    const used = { used: 'email_change_new', ip: '127.0.0.1' } as const
    const pending = { ...user, emailChange: newEmail }
    expect(await inTransaction((trx) => confirmEmailChange(trx, deps, pending, used))).toBe('other-address-left')
    clock.advance(DAY_MS - 1)
    expect(await sendAgain('email_change', email)).toBe('sent')
    expect((await codesOf(user.id)).map(({ kind }) => kind)).toEqual(['email_change_current', 'email_change_current'])
    const row = deps.db.selectFrom('users').select(['email_change', 'email_change_confirm_status'])
    expect(await row.where('id', '=', user.id).execute()).toEqual([
      { email_change: newEmail, email_change_confirm_status: 1 },
    ])
    // Sending mails again does not extend the lifetime of the change.
    clock.advance(1)
    expect(await sendAgain('email_change', email)).toBe('nobody')
  })

  it('begins the change from the start where an operator asks', async () => {
    const { user, email } = await createSignedUp(deps)
    const change = { newEmail: `new-${email}`, pkce: undefined, context: CONTEXT, sessionId: null }
    await inTransaction((trx) => sendEmailChange(trx, deps, user, change))
    const first = await codesOf(user.id)
    clock.advance(60_000)
    expect(await sendAgain('email_change', email, { restartsChange: true })).toBe('sent')
    const second = await codesOf(user.id)
    expect(second.map(({ kind }) => kind)).toEqual(['email_change_current', 'email_change_new'])
    for (const { otp_hash } of second) expect(first.map((code) => code.otp_hash)).not.toContainEqual(otp_hash)
  })
})

describe('resendPhoneChange', () => {
  it('adds one code beside the first, and another once a code has expired', async () => {
    const { user, email } = await createSignedUp(deps)
    expect(await sendAgain('phone_change', email)).toBe('nobody')
    const change = { newPhone: '14155550100', channel: 'sms', messageId: randomUUID(), sessionId: null } as const
    expect(await inTransaction((trx) => sendPhoneChange(trx, deps, user, change))).toBe(true)
    const first = await codesOf(user.id)
    expect(await sendAgain('phone_change', email)).toBe('sent')
    const second = await codesOf(user.id)
    expect(keptOf(first, second)).toEqual(first)
    expect(second.map(({ kind }) => kind)).toEqual(['phone_change', 'phone_change'])
    expect(await sendAgain('phone_change', email)).toBe('nobody')
    expect(await codesOf(user.id)).toEqual(second)
    clock.advance(deps.config.sms.codeLifetimeSeconds * 1_000)
    expect(await sendAgain('phone_change', email)).toBe('sent')
    clock.advance(DAY_MS)
    expect(await sendAgain('phone_change', email)).toBe('nobody')
  })

  it('leaves the code of a later SMS alone, once the first code has expired', async () => {
    const { user, email } = await createSignedUp(deps)
    const { config } = deps
    const lasting = { ...deps, config: { ...config, sms: { ...config.sms, codeLifetimeSeconds: 300 } } }
    const change = { newPhone: '14155550101', channel: 'sms', messageId: randomUUID(), sessionId: null } as const
    await inTransaction((trx) => sendPhoneChange(trx, lasting, user, change))
    const first = await codesOf(user.id)
    clock.advance(60_000)
    expect(await sendAgain('phone_change', email, {}, lasting)).toBe('sent')
    const second = await codesOf(user.id)
    clock.advance(240_000)
    expect(await sendAgain('phone_change', email, {}, lasting)).toBe('sent')
    const third = await codesOf(user.id)
    expect(keptOf(second, third)).toEqual(second.filter((code) => !keptOf(first, [code]).length))
    expect(third.map(({ kind }) => kind)).toEqual(['phone_change', 'phone_change'])
  })

  it('ends both codes where an operator asks', async () => {
    const { user, email } = await createSignedUp(deps)
    const change = { newPhone: '14155550102', channel: 'sms', messageId: randomUUID(), sessionId: null } as const
    await inTransaction((trx) => sendPhoneChange(trx, deps, user, change))
    expect(await sendAgain('phone_change', email)).toBe('sent')
    const both = await codesOf(user.id)
    clock.advance(60_000)
    expect(await sendAgain('phone_change', email, { restartsChange: true })).toBe('sent')
    const after = await codesOf(user.id)
    expect([both.length, after.length, keptOf(both, after)]).toEqual([2, 1, []])
  })
})
