import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { CONTEXT } from '../../test/sample-context.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import type { Trx } from '../database.ts'
import type { MessageRequest } from '../messages/message-request.ts'
import { resendEmailChange, resendPhoneChange, sendEmailChange, sendPhoneChange } from './send-address-change.ts'

const { deps, clock, close } = await openTestApp()
await deps.jobs.open()
afterAll(async () => {
  await deps.jobs.close()
  await close()
})

const DAY_MS = 86_400_000
const inTransaction = <Result>(run: (trx: Trx) => Promise<Result>) => deps.db.transaction().execute(run)

/** Asks for the messages of a change again, by the email that the user has. */
function sendAgain(purpose: 'email_change' | 'phone_change', email: string, changes: Partial<MessageRequest> = {}) {
  const request: MessageRequest = {
    ...CONTEXT,
    purpose,
    identifier: { kind: 'email', value: email },
    messageId: randomUUID(),
    askedAt: clock.now().toISOString(),
    ...changes,
  }
  return inTransaction((trx) =>
    (purpose === 'email_change' ? resendEmailChange : resendPhoneChange)(trx, deps, request),
  )
}

const codesOf = (userId: string) =>
  deps.db
    .selectFrom('one_time_tokens')
    .select(['kind', 'otp_hash'])
    .where('user_id', '=', userId)
    .orderBy('kind')
    .execute()

describe('resendEmailChange', () => {
  it('replaces both messages of a change that is younger than a day', async () => {
    const { user, email } = await createSignedUp(deps)
    expect(await sendAgain('email_change', email)).toBe('nobody')
    const newEmail = `new-${email}`
    await inTransaction((trx) =>
      sendEmailChange(trx, deps, user, { newEmail, pkce: undefined, context: CONTEXT, sessionId: null }),
    )
    await deps.db.updateTable('users').set({ email_change_confirm_status: 1 }).where('id', '=', user.id).execute()
    const first = await codesOf(user.id)
    expect(first.map(({ kind }) => kind)).toEqual(['email_change_current', 'email_change_new'])
    clock.advance(DAY_MS - 1)
    expect(await sendAgain('email_change', email, { audience: 'elsewhere' })).toBe('nobody')
    expect(await codesOf(user.id)).toEqual(first)
    expect(await sendAgain('email_change', email)).toBe('sent')
    const second = await codesOf(user.id)
    expect(second.map(({ kind }) => kind)).toEqual(['email_change_current', 'email_change_new'])
    for (const { otp_hash } of second) expect(first.map((code) => code.otp_hash)).not.toContainEqual(otp_hash)
    const row = deps.db.selectFrom('users').select(['email_change', 'email_change_confirm_status'])
    expect(await row.where('id', '=', user.id).execute()).toEqual([
      { email_change: newEmail, email_change_confirm_status: 0 },
    ])
    // Mails that are sent again do not make the change younger.
    clock.advance(1)
    expect(await sendAgain('email_change', email)).toBe('nobody')
  })
})

describe('resendPhoneChange', () => {
  it('sends another code once per interval of the new number, for a day', async () => {
    const { user, email } = await createSignedUp(deps)
    expect(await sendAgain('phone_change', email)).toBe('nobody')
    const change = { newPhone: '14155550100', channel: 'sms', messageId: randomUUID(), sessionId: null } as const
    expect(await inTransaction((trx) => sendPhoneChange(trx, deps, user, change))).toBe(true)
    const first = await codesOf(user.id)
    expect(await sendAgain('phone_change', email)).toBe('sent')
    const second = await codesOf(user.id)
    expect(second).toEqual([{ kind: 'phone_change', otp_hash: expect.any(Buffer) }])
    expect(second).not.toEqual(first)
    expect(await sendAgain('phone_change', email)).toBe('nobody')
    expect(await codesOf(user.id)).toEqual(second)
    clock.advance(60_000)
    expect(await sendAgain('phone_change', email)).toBe('sent')
    clock.advance(DAY_MS)
    expect(await sendAgain('phone_change', email)).toBe('nobody')
  })
})
