import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { alter, disarm, readColumns, readRows, remove, restore } from '../../test/tamper.ts'
import { ledgerCommand } from './ledger.ts'

let payments: TestPayments
let member: TestApp
let merchantId: string
let transactionId: string
/** A live merchant without any payment. */
let liveId: string
/** A connection with all rights. Triggers and checks are off for it. */
let intruder: pg.Client
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'payments-'))
  payments = await startPayments()
  member = await createTestApp(payments)
  const bank = { iban: 'DK5000400440116243' }
  merchantId = (await createTestMerchant(payments, member, { test: true, bank })).id
  transactionId = await customerPayment(payments, merchantId, { currency: 'EUR', amount: 90_000 })
  await post(`/transactions/${transactionId}/captures`, { amount: 80_000, reference: 'r' })
  await post(`/transactions/${transactionId}/voids`, { amount: 10_000 })
  await post(`/transactions/${transactionId}/refunds`, { amount: 5_000 })
  for (const outcome of ['won', 'lost']) {
    const { dispute } = (await post(`/test/transactions/${transactionId}/disputes`, { amount: 100 })).json()
    await post(`/test/disputes/${dispute.id}/outcomes`, { outcome })
  }
  await post(`/test/merchants/${merchantId}/payouts`, {})
  liveId = (await createTestMerchant(payments, member)).id
  intruder = new pg.Client({ connectionString: payments.url })
  await intruder.connect()
  await disarm(intruder, TABLES)
})
afterEach(() => restore(intruder, ...TABLES))
afterAll(async () => {
  await intruder.end()
  await payments.close()
  await rm(folder, { recursive: true })
})

const TABLES = [
  'merchants',
  'merchant_balances',
  'transactions',
  'disputes',
  'payouts',
  'journals',
  'entries',
  'trail_entries',
  'lines',
  'state_entries',
  'instruments',
  'cards',
]
const CHAINED = ['journals', 'entries', 'trail_entries', 'lines', 'state_entries'] as const

const post = (url: string, payload: object) =>
  payments.app.inject({ method: 'POST', url, payload, headers: member.headers })

/** Runs the command. @returns the printed lines, and the error message if it fails */
async function verify(...words: string[]): Promise<{ lines: string[]; failure: string | undefined }> {
  const lines: string[] = []
  const operator = { open: async () => operatorDeps(payments), print: (line: string) => lines.push(line) }
  const program = new Command().exitOverride().addCommand(ledgerCommand(operator))
  try {
    await program.parseAsync(['ledger', 'verify', ...words], { from: 'user' })
    return { lines, failure: undefined }
  } catch (error) {
    return { lines, failure: error instanceof Error ? error.message : String(error) }
  }
}

/** Verifies only the merchant with payments. */
const verifyOne = (...words: string[]) => verify('--merchant', merchantId, ...words)

/** Returns the first altered row that the command reports. */
async function firstFound(): Promise<{ table: string; id: string; invariant: number } | undefined> {
  const { lines } = await verifyOne('--json')
  const [line = '{}'] = lines
  return JSON.parse(line).violation
}

describe('payments ledger verify', () => {
  it('finds nothing in a ledger that nobody altered', async () => {
    expect(await verify()).toEqual({ lines: ['2 merchants, 22 links, 0 violations'], failure: undefined })
    expect((await verify('--merchant', merchantId.toUpperCase(), '--json')).lines).toEqual([
      '{"merchants":1,"links":21,"violations":0}',
    ])
    expect(await verify('--merchant', UNKNOWN_ID)).toEqual({
      failure: 'the ledger does not hold',
      lines: [expect.any(String), '1 merchants, 0 links, 1 violations'],
    })
  })

  it.each(CHAINED)('names the first row when a byte of any column was altered: %s', async (table) => {
    for (const column of await readColumns(intruder, table)) {
      const rows = await readRows(intruder, table, merchantId)
      const row = rows[column.name.length % rows.length]
      if (!row || !(await alter(intruder, row, column, 7))) throw new Error(`${column.name} was not altered`)
      const found = await firstFound()
      expect([column.name, found?.invariant]).toEqual([column.name, 16])
      // If the id of a row is altered, the command reports the next row instead, because the altered row is no longer at its
      // place.
      const isMoved = table !== 'entries' && /^(merchant_)?id$/.test(column.name)
      if (!isMoved) expect([column.name, found?.id]).toEqual([column.name, row.id])
      await restore(intruder, table)
    }
    expect((await verify()).failure).toBeUndefined()
  })

  it('names a row whose time is infinite, and goes on', async () => {
    for (const table of ['journals', 'trail_entries', 'lines', 'state_entries'] as const) {
      const [row] = await readRows(intruder, table, merchantId)
      await intruder.query(`UPDATE payments.${table} SET created = 'infinity' WHERE id = $1`, [row?.id])
      expect(await firstFound()).toEqual({
        table,
        id: row?.id,
        invariant: 16,
        merchantId,
        message: 'does not follow from the rows before it: it was altered, or one was put in or taken out',
      })
      await restore(intruder, table)
    }
  })

  it('finds a row that was removed, anywhere', async () => {
    for (const table of CHAINED) {
      for (const end of [0, -1]) {
        const row = (await readRows(intruder, table, merchantId)).at(end)
        if (row) await remove(intruder, row)
        expect((await verifyOne()).failure).toBe('the ledger does not hold')
        await restore(intruder, table)
      }
    }
  })

  it('finds an entry that was inserted without a journal, and one with a wrong sum', async () => {
    const insert = (journalId: string) =>
      intruder.query("INSERT INTO payments.entries VALUES ($1, $2, 9, 'bank', 'DKK', 1, true)", [merchantId, journalId])
    await insert(UNKNOWN_ID)
    expect((await verify()).lines).toEqual([
      `${merchantId} merchant_balances ${merchantId}: 1 entries belong to no journal (invariant 14)`,
      '2 merchants, 22 links, 1 violations',
    ])
  })

  it('finds a chain that was cut off or rewritten, even with a matching head, by a kept list', async () => {
    for (const json of [[], ['--json']]) {
      const file = join(folder, 'heads')
      await writeFile(file, (await verify('--head', ...json)).lines.join('\n'))
      expect(await verify('--head', file)).toEqual({ failure: undefined, lines: [expect.any(String)] })
      await post(`/transactions/${transactionId}/refunds`, { amount: 1 })
      expect(await verify('--head', file)).toEqual({ failure: undefined, lines: [expect.any(String)] })
    }
    const file = join(folder, 'kept')
    await writeFile(file, (await verify('--head')).lines.join('\n'))
    const lines = await readRows(intruder, 'lines', merchantId)
    const trail = await readRows(intruder, 'trail_entries', merchantId)
    const [line, entry] = [lines.at(-1), trail.at(-1)]
    if (!line || !entry) throw new Error('there are links')
    const { rows } = await intruder.query('SELECT hash FROM payments.trail_entries WHERE id = $1', [entry.id])
    await remove(intruder, line)
    await intruder.query(
      `UPDATE payments.merchant_balances SET chain_head = $1, chain_length = chain_length - 1 WHERE merchant_id = $2`,
      [rows[0]?.hash, merchantId],
    )
    const chain = (found: { lines: string[] }) => found.lines.filter((each) => each.endsWith('(invariant 16)'))
    expect(chain(await verify())).toEqual([])
    expect(chain(await verify('--head', file))).toEqual([expect.stringContaining('has lost those up to the 20th')])
    await writeFile(file, `${merchantId} 13 ${'0'.repeat(64)}`)
    expect(chain(await verify('--head', file))).toEqual([expect.stringContaining('is not the 13th link that was kept')])
    await writeFile(file, `${UNKNOWN_ID} 1 ${'0'.repeat(64)}`)
    expect(chain(await verify('--head', file))).toEqual([`${UNKNOWN_ID}: the merchant has no ledger (invariant 16)`])
    await writeFile(file, 'x')
    expect((await verify('--head', file)).failure).toBe(`${file} is not a list of heads`)
  })

  it('says how many merchants a list has, which lacks those that it lost', async () => {
    const file = join(folder, 'cut')
    const [head = ''] = (await verify('--head')).lines
    await writeFile(file, `${head}\n\n${head}\n`)
    const text = '2 merchants, 22 links, 0 violations, 1 merchants compared with the list'
    expect(await verify('--head', file)).toEqual({ failure: undefined, lines: [text] })
    const json = '{"merchants":2,"links":22,"violations":0,"compared":1}'
    expect(await verify('--head', file, '--json')).toEqual({ failure: undefined, lines: [json] })
  })

  it('refuses a list that is empty, lacks the merchant, or contradicts itself', async () => {
    const file = join(folder, 'refused')
    const heads = (await verify('--head')).lines
    const refusalOf = async (text: string, ...words: string[]) => {
      await writeFile(file, text)
      return verify('--head', file, ...words)
    }
    for (const empty of ['', '\n \n']) {
      expect(await refusalOf(empty)).toEqual({ lines: [], failure: `${file} has no heads` })
    }
    const ofOthers = heads.filter((line) => !line.startsWith(merchantId)).join('\n')
    expect(await refusalOf(ofOthers, '--merchant', merchantId.toUpperCase())).toEqual({
      lines: [],
      failure: `${file} has no head of merchant ${merchantId}`,
    })
    const other = ofOthers.replace(/[0-9a-f]{64}$/, 'a'.repeat(64))
    for (const contradiction of [`${ofOthers}\n${other}`, `${other}\n${ofOthers}`]) {
      expect(await refusalOf(contradiction)).toEqual({
        lines: [],
        failure: `${file} has two heads of merchant ${liveId}`,
      })
    }
  })

  it('reads lists that are older than the chain of states, and finds a chain of states that was rewritten', async () => {
    const file = join(folder, 'states')
    const heads = (await verify('--head')).lines.join('\n')
    await writeFile(file, heads)
    const [state] = (await readRows(intruder, 'state_entries', merchantId)).slice(-1)
    if (!state) throw new Error('there are states')
    await remove(intruder, state)
    await intruder.query(
      `UPDATE payments.merchant_balances b SET state_length = state_length - 1, state_head = (
         SELECT hash FROM payments.state_entries s WHERE s.merchant_id = b.merchant_id ORDER BY id DESC LIMIT 1
       ) WHERE merchant_id = $1`,
      [merchantId],
    )
    const chain = (found: { lines: string[] }) => found.lines.filter((each) => each.endsWith('(invariant 16)'))
    expect(chain(await verify('--head', file))).toEqual([expect.stringContaining('has lost those up to the 7th')])
    await writeFile(file, heads.replaceAll(/ \d+ [0-9a-f]{64}$/gm, ''))
    expect(chain(await verify('--head', file))).toEqual([])
  })

  it.each([
    ['transactions SET captured = captured - 1, voided = voided + 1', [3, 3]],
    ['transactions SET amount = amount + 1', [1, 17]],
    ['transactions SET amount = amount + 500000, pending = pending + 500000', [17]],
    ['transactions SET trail_length = 7', [5]],
    ["disputes SET status = 'open' WHERE status = 'lost'", [4, 17]],
    ["disputes SET status = 'lost' WHERE status = 'won'", [4, 4, 4, 17]],
    ['merchant_balances SET balance = balance + 1', [9, 9]],
    ["merchant_balances SET currency = 'SEK'", [9]],
    ['merchant_balances SET line_count = line_count + 1', [13]],
    ['merchant_balances SET chain_length = chain_length + 1', [16]],
    ['merchant_balances SET state_length = state_length + 1', [16]],
    ["payouts SET status = 'created'", [15, 17]],
  ])('compares what stands beside the ledger with it: %s', async (change, invariants) => {
    await intruder.query(`UPDATE payments.${change}`)
    const { lines } = await verify('--json', '--merchant', merchantId)
    const found = lines.flatMap((line) => JSON.parse(line).violation?.invariant ?? [])
    expect(found).toEqual(invariants)
  })

  it.each([
    [
      'transactions',
      "currency = 'USD'",
      'what moves money was changed: one of test, currency, funding_currency, amount',
    ],
    ['transactions', "instrument_id = repeat('a', 24)", 'who gets or pays money was changed: one of instrument_id'],
    ['transactions', "tds = 'full'", 'its terms were changed: one of created, descriptor'],
    ['transactions', `custom = '{"a":1}'`, 'its terms were changed: one of created, descriptor'],
    ['transactions', "descriptor = 'Other'", 'its terms were changed: one of created, descriptor'],
    ['payouts', "iban = 'DK5000400440116244'", 'who gets or pays money was changed: one of iban'],
    ['merchants', `pricing = pricing || '{"rate":1}'`, 'what moves money was changed: one of currency, test'],
    ['merchants', "iban = 'DK5000400440116244'", 'who gets or pays money was changed: one of iban, holder, name'],
    ['merchants', `claim = claim || '{"canRefund":false}'`, 'what moves money was changed: one of currency, test'],
  ])('finds a column of %s that somebody changed by hand: %s', async (table, change, message) => {
    await intruder.query(`UPDATE payments.${table} SET ${change}`)
    const { lines, failure } = await verifyOne()
    expect(failure).toBe('the ledger does not hold')
    expect(lines[0]).toContain(`${merchantId} ${table} `)
    expect(lines[0]).toContain(message)
  })

  it('finds a dispute that was removed together with its reserve', async () => {
    await intruder.query("DELETE FROM payments.disputes WHERE status = 'lost'")
    await intruder.query('UPDATE payments.transactions SET disputed = 0')
    expect((await verify()).lines).toContainEqual(expect.stringMatching(/ disputes .* was recorded and is gone/))
  })

  it('finds a transaction that was inserted by hand', async () => {
    await intruder.query(`
      CREATE TEMP TABLE copies AS TABLE payments.transactions;
      UPDATE copies SET id = 'a' || substr(id, 2), pending = amount, captured = 0, refunded = 0, voided = 0, disputed = 0,
        lost = 0, trail_length = 0;
      INSERT INTO payments.transactions TABLE copies; DROP TABLE copies`)
    expect((await verify()).lines).toEqual([
      expect.stringMatching(/ transactions a\w+: was never recorded: it was put in by hand \(invariant 17\)$/),
      '2 merchants, 22 links, 1 violations',
    ])
  })

  it.each([
    [['merchant_balances'], 'merchant_balances', 1],
    [['merchants'], 'merchants', 1],
    [['merchants', 'merchant_balances'], 'merchants', 2],
  ])('finds a merchant whose rows were removed: %s', async (removed, table, violations) => {
    for (const each of removed) {
      const key = each === 'merchants' ? 'id' : 'merchant_id'
      await intruder.query(`DELETE FROM payments.${each} WHERE ${key} = $1`, [merchantId])
    }
    const { lines } = await verify()
    expect(lines[0]).toBe(`${merchantId} ${table} ${merchantId}: is gone (invariant 17)`)
    expect(lines.at(-1)).toBe(`2 merchants, 22 links, ${violations} violations`)
  })

  it('finds a clock of a live merchant that runs ahead', async () => {
    await intruder.query('UPDATE payments.merchant_balances SET clock_offset = 86400 WHERE merchant_id = $1', [liveId])
    const message = 'the clock runs 86400 s ahead (invariant 12)'
    expect((await verify()).lines[0]).toBe(`${liveId} merchant_balances ${liveId}: ${message}`)
  })
})
