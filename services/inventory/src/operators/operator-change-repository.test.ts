import { anyTime } from '@trestle/testing/any-text.ts'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { actorOf } from '../../test/operators.ts'
import { openStockDatabase, type StockDatabase } from '../../test/stock-database.ts'
import type { OperatorChange } from './operator-change.ts'
import { type ChangeDeps, runAuditedChange } from './operator-change-repository.ts'

let stock: StockDatabase
beforeAll(async () => {
  stock = await openStockDatabase()
})
afterEach(() => stock.query(`DELETE FROM inventory.locations WHERE code <> 'MAIN'`))
afterAll(() => stock.close())

const change: OperatorChange = {
  operator: { actor: actorOf('support'), key: 'desk', role: 'support', address: '2001:db8::7' },
  key: 'click-1',
}
const audited = {
  action: 'locations.change',
  object: { kind: 'location', id: 7 },
  productIds: [3, 5],
  changes: { name: 'Attic' },
} as const

const insertAttic = ({ db }: Pick<ChangeDeps, 'db'>) =>
  db.insertInto('locations').values({ code: 'ATTIC', name: 'Attic', active: true }).execute()
const codes = async () =>
  (await stock.query('SELECT code FROM inventory.locations ORDER BY id')).map(({ code }) => code)
const countAudit = async () => (await stock.query('SELECT count(*) AS rows FROM inventory.operator_audit'))[0]?.rows

describe('runAuditedChange', () => {
  it('makes the change together with its row of the audit log, and returns what was made', async () => {
    const make = async (deps: ChangeDeps) => {
      await insertAttic(deps)
      // The pools belong to the transaction, so they see its uncommitted changes.
      const seen = await sql`SELECT 1 FROM inventory.locations WHERE code = 'ATTIC'`.execute(deps.db)
      return seen.rows.length
    }
    const made = await runAuditedChange(stock, change, make, () => audited)
    expect([made, await codes()]).toEqual([1, ['MAIN', 'ATTIC']])
    const rows = await stock.query('SELECT * FROM inventory.operator_audit')
    expect(rows.map((row) => ({ ...row, created_at: JSON.parse(JSON.stringify(row.created_at)) }))).toEqual([
      {
        id: expect.any(Number),
        created_at: anyTime,
        action: 'locations.change',
        actor_id: actorOf('support').id,
        actor_email: 'support@example.com',
        key_name: 'desk',
        role: 'support',
        address: '2001:db8::7',
        object_kind: 'location',
        object_id: 7,
        product_ids: ['3', '5'],
        idempotency_key: 'click-1',
        changes: { name: 'Attic' },
      },
    ])
  })

  it('adds no row for a change that changed nothing', async () => {
    const before = await countAudit()
    const made = await runAuditedChange(
      stock,
      change,
      async () => 'as before',
      () => undefined,
    )
    expect(made).toBe('as before')
    expect(await countAudit()).toBe(before)
  })

  it('takes the change back when its effect throws, and adds no row', async () => {
    const before = await countAudit()
    const make = async (deps: ChangeDeps) => {
      await insertAttic(deps)
      throw new Error('refused')
    }
    const failing = runAuditedChange(stock, change, make, () => audited)
    await expect(failing).rejects.toThrow('refused')
    expect([await codes(), await countAudit()]).toEqual([['MAIN'], before])
  })

  it('takes the change back when its row cannot be written', async () => {
    const before = await countAudit()
    const nobody = { ...change.operator, actor: { ...actorOf('support'), id: 'nobody' } }
    const failing = runAuditedChange(stock, { ...change, operator: nobody }, insertAttic, () => audited)
    await expect(failing).rejects.toThrow('invalid input syntax for type uuid')
    expect([await codes(), await countAudit()]).toEqual([['MAIN'], before])
  })

  it('makes a change again that lost a conflict, and adds one row', async () => {
    const before = Number(await countAudit())
    let runs = 0
    const make = async (deps: ChangeDeps) => {
      await insertAttic(deps)
      runs += 1
      if (runs === 1) await sql`DO $$ BEGIN RAISE 'lost' USING ERRCODE = 'deadlock_detected'; END $$`.execute(deps.db)
      return runs
    }
    const made = await runAuditedChange(stock, change, make, () => audited)
    expect([made, await codes(), await countAudit()]).toEqual([2, ['MAIN', 'ATTIC'], before + 1])
  })
})
