import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openTestApp, type TestApp } from '../../../test/auth-app.ts'
import { anyTime, emailIdentity, errorBody, factorBody, listedSessionBody, signedUpBody } from '../../../test/bodies.ts'
import { factorRow } from '../../../test/factor-row.ts'
import {
  createOperator,
  OPERATOR_SETTINGS,
  operate,
  type SignedInOperator,
  unknownUser,
} from '../../../test/operators.ts'
import { createSignedIn } from '../../../test/signed-in.ts'
import { createSignedUp } from '../../../test/signed-up.ts'
import { describeMail } from '../../messages/message-record.ts'
import { insertMessage, updateMessages } from '../../messages/message-repository.ts'

let test: TestApp
let viewer: SignedInOperator
beforeAll(async () => {
  test = await openTestApp({ settings: { ...OPERATOR_SETTINGS, AUTH_JWT_ADMIN_ROLES: 'service_role,staff' } })
  viewer = await createOperator(test, 'viewer')
})
afterAll(() => test.close())

const Shown = z.object({
  console_role: z.string().nullable(),
  is_protected: z.boolean(),
  messages: z.array(z.unknown()),
  why_not: z.array(z.unknown()),
})
const read = async (id: string) => {
  const [status, body] = await show(id)
  expect(status).toBe(200)
  return Shown.parse(body)
}
const show = (id: string) => operate(test, viewer, `GET /users/${id}`)
const whyNot = async (changes: Parameters<typeof createSignedUp>[1]) => {
  const { user } = await createSignedUp(test.deps, changes)
  return (await read(user.id)).why_not
}

describe('GET /operator/users/:userId', () => {
  it('200: shows a user with factors, sessions and what was done to them', async () => {
    const { user, email, sessionId } = await createSignedIn(test)
    const row = factorRow({ user_id: user.id, factor_type: 'totp', status: 'verified', friendly_name: 'app' })
    await test.deps.db.insertInto('mfa_factors').values(row).execute()
    const factors = [factorBody({ id: row.id, friendly_name: 'app' })]
    const payload = {
      ...{ actor_id: user.id, actor_username: email, actor_via_sso: false },
      ...{ action: 'login', log_type: 'account', traits: { provider: 'email' } },
    }
    expect(await show(user.id)).toEqual([
      200,
      {
        user: signedUpBody({ user, email }, { last_sign_in_at: anyTime, factors }),
        console_role: null,
        is_protected: false,
        identities: [emailIdentity(user.id, email, { email_verified: true })],
        factors,
        passkeys: [],
        sessions: [listedSessionBody(sessionId)],
        messages: [],
        audit: [{ id: expect.any(String), created_at: anyTime, ip_address: '127.0.0.1', payload }],
        why_not: [{ code: 'factor_required' }],
      },
    ])
  })

  it.each<[string, Parameters<typeof createSignedUp>[1], readonly object[]]>([
    ['nothing', {}, []],
    ['a ban', { banned_until: '2100-01-01T00:00:00+00:00' }, [{ code: 'banned', until: anyTime }]],
    ['no ban that is over', { banned_until: '2020-01-01T00:00:00+00:00' }, []],
    ['a deletion', { deleted_at: new Date() }, [{ code: 'deleted', at: anyTime }]],
    ['an email that waits for its confirmation', { email_confirmed_at: null }, [{ code: 'email_not_confirmed' }]],
    ['a phone that waits for its confirmation', { phone: '4520304059' }, [{ code: 'phone_not_confirmed' }]],
    ['a missing password', { encrypted_password: null }, [{ code: 'no_password' }]],
  ])('200: names %s as what keeps a user from signing in', async (_case, changes, expected) => {
    expect(await whyNot(changes)).toEqual(expected)
  })

  it('200: names a provider that is switched off', async () => {
    const { user } = await createSignedUp(test.deps)
    const account = { provider: 'github', provider_id: '42' }
    await test.deps.db.updateTable('identities').set(account).where('user_id', '=', user.id).execute()
    expect((await read(user.id)).why_not).toEqual([{ code: 'provider_disabled', provider: 'github' }])
  })

  it('200: shows the newest messages, and names the last one where it was not taken', async () => {
    const { user } = await createSignedUp(test.deps)
    const ids = [randomUUID(), randomUUID()]
    for (const id of ids)
      await insertMessage(
        test.deps.db,
        describeMail({ kind: 'RECOVERY', to: 's@example.com', messageId: id, userId: user.id }),
      )
    await updateMessages(test.deps.db, ids, { status: 'failed', attempt: 61, error: 'SMTP EAUTH 535' })
    const shown = {
      ...{ kind: 'mail', purpose: 'recovery', user_id: user.id, to: 's…@example.com', status: 'failed', attempts: 61 },
      ...{ error: 'SMTP EAUTH 535', created_at: anyTime },
    }
    const { messages, why_not: whyNot } = await read(user.id)
    expect(messages).toEqual(ids.toReversed().map((id) => ({ id, ...shown })))
    expect(whyNot).toEqual([{ code: 'message_failed', message_id: ids[1], error: 'SMTP EAUTH 535' }])
  })

  it.each([
    ['an operator', { console_role: 'support' }, ['support', true]],
    ['an admin of the API', { role: 'staff' }, [null, true]],
    ['another user', {}, [null, false]],
  ])('200: says whether only admins act on %s', async (_who, changes, expected) => {
    const { user } = await createSignedUp(test.deps, changes)
    const { console_role: role, is_protected: isProtected } = await read(user.id)
    expect([role, isProtected]).toEqual(expected)
  })

  it('404: refuses an unknown user, a pending sign-up and an id that is no UUID', async () => {
    const { user } = await createSignedUp(test.deps, { staged_at: new Date() })
    for (const id of [randomUUID(), user.id]) expect(await show(id)).toEqual(unknownUser)
    expect(await show('x')).toEqual([404, errorBody(404, 'validation_failed', 'user_id must be an UUID')])
  })
})
