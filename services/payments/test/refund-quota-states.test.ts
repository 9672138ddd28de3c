import { randomUUID } from 'node:crypto'
import { watchRows } from '@trestle/testing/watched-rows.ts'
import { expect, it } from 'vitest'
import { callUseQuota, claimQuota, returnQuota } from '../src/operators/refund-quota-repository.ts'
import { drawnFor } from './drawn-arrows.ts'
import { openTestDatabase } from './payments-app.ts'

const USES = 'payments.allowance_uses'

it('the use of a refund quota goes through the arrows of its diagram, and through no others', async () => {
  const database = await openTestDatabase()
  const { db } = database.operators
  const watched = await watchRows(database.url, { [USES]: ({ row }) => (row.used === true ? 'used' : 'taken') })
  const begin = async () => ({ actorId: randomUUID(), key: 'refund', currency: 'EUR', amount: 300, daily: 1_000 })
  type Use = Awaited<ReturnType<typeof begin>>
  const events = {
    'a refund with the key begins': (use: Use) => claimQuota(db, use),
    'the refund is made': (use: Use) => db.transaction().execute((trx) => callUseQuota(trx, use)),
    'the refund is refused': (use: Use) => returnQuota(db, use),
    'a minute passes': () => watched.change(USES, "SET created = created - interval '61 seconds'"),
    '24 hours pass': () => watched.change(USES, "SET created = created - interval '25 hours'"),
    'another refund of the operator begins': (use: Use) => claimQuota(db, { ...use, key: 'another' }),
  }
  const taken = ['a refund with the key begins']
  const used = [...taken, 'the refund is made']
  const ways = [[], taken, used].flatMap((way) => [way, [...way, 'a minute passes'], [...way, '24 hours pass']])
  const found = await watched.explore(events, ways, begin)
  expect(found.get(USES)).toEqual(drawnFor('operators')[0])
  await watched.close()
  await database.close()
})
