import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { credentialsOf } from '../../test/caller.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestPayments,
  testPepper,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { hashToken } from '../members/invitation.ts'
import { keyMac } from './app.ts'
import {
  callRegisterApp,
  deleteUnusedApps,
  insertAppInvitation,
  readIdentity,
  updateAllKeysRevoked,
} from './app-repository.ts'

const DAY_MS = 86_400_000
const DAYS = 30

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const read = (key: string) => readIdentity(payments.deps.pools, credentialsOf({ key }))
const NOT_INVITED = { verdict: 'not-invited', id: null }
const unauthorized = { verdict: 'unauthorized', identityId: null, identity: undefined }

describe('an invitation to register an app', () => {
  const register = (code: string, key: string) =>
    callRegisterApp(payments.deps.pools, {
      keyMac: keyMac(testPepper, key),
      hint: key.slice(-4),
      name: 'Shop',
      codeHash: hashToken(code),
    })

  it('registers one app within 14 days', async () => {
    const { code, expires } = await insertAppInvitation(payments.owner.db, { code: 'code-1', note: null })
    expect(Math.abs(expires.getTime() - Date.now() - 14 * DAY_MS)).toBeLessThan(60_000)
    const { id } = await register(code, 'key-1')
    expect(await read('key-1')).toEqual({
      verdict: 'done',
      identityId: id,
      identity: { id, name: 'Shop', email: null, created: expect.any(Date) },
    })
    expect([await register(code, 'key-2'), await read('key-2')]).toEqual([NOT_INVITED, unauthorized])
  })

  it('registers none when it is unknown or has expired', async () => {
    const { code } = await insertAppInvitation(payments.owner.db, { code: 'code-2', note: null })
    await payments.owner.db
      .updateTable('app_invitations')
      .set({ expires: sql`now() - interval '1 second'` })
      .where('code_hash', '=', hashToken(code))
      .execute()
    expect([await register(code, 'key-3'), await register('none', 'key-3')]).toEqual([NOT_INVITED, NOT_INVITED])
  })
})

describe('updateAllKeysRevoked', () => {
  it('revokes each good key once', async () => {
    const app = await createTestApp(payments)
    await payments.app.inject({ method: 'POST', url: '/me/keys', headers: app.headers })
    expect([
      await updateAllKeysRevoked(payments.owner.db, app.id),
      await updateAllKeysRevoked(payments.owner.db, app.id),
    ]).toEqual([2, 0])
    expect(await read(app.key)).toEqual(unauthorized)
  })

  it('throws for an unknown app', async () => {
    await expect(updateAllKeysRevoked(payments.owner.db, UNKNOWN_ID)).rejects.toThrow(
      new Error(`there is no app ${UNKNOWN_ID}`),
    )
  })
})

describe('deleteUnusedApps', () => {
  it('deletes old apps that look after no merchant and whose keys are idle', async () => {
    const [idle, used, member, young] = [
      await createTestApp(payments),
      await createTestApp(payments),
      await createTestApp(payments),
      await createTestApp(payments),
    ]
    await createTestMerchant(payments, member)
    const old = [idle.id, used.id, member.id]
    const past = sql<Date>`now() - ${DAYS + 1} * interval '1 day'`
    await payments.owner.db.updateTable('apps').set({ created: past }).where('id', 'in', old).execute()
    await payments.owner.db.updateTable('app_keys').set({ created: past }).where('app_id', 'in', old).execute()
    await payments.owner.db
      .updateTable('app_keys')
      .set({ last_used: new Date() })
      .where('app_id', '=', used.id)
      .execute()
    expect([await deleteUnusedApps(payments.owner.db, DAYS), await deleteUnusedApps(payments.owner.db, DAYS)]).toEqual([
      1, 0,
    ])
    const verdicts = await Promise.all([idle, used, member, young].map(async ({ key }) => (await read(key)).verdict))
    expect(verdicts).toEqual(['unauthorized', 'done', 'done', 'done'])
  })
})
