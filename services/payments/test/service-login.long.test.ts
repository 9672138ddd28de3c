import { anyId } from '@trestle/testing/any-text.ts'
import { type RawBuilder, sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ledgerCommand } from '../src/commands/ledger.ts'
import { adjustCommand } from '../src/commands/merchants.ts'
import { runOperatorChange } from '../src/operators/operator-change-repository.ts'
import { submitOperation } from '../src/use-cases/submit-operation.ts'
import { createLiveMerchant, settle } from './live-merchant.ts'
import { actorOf } from './operators.ts'
import { createTestApp, operatorDeps, startPayments, type TestApp, type TestPayments } from './payments-app.ts'
import { commandRunner } from './run-command.ts'
import { createStubAcquirer } from './stub-acquirer.ts'

const north = createStubAcquirer()
let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  payments = await startPayments({ acquirers: new Map([['north', north]]) })
  app = await createTestApp(payments)
})
afterAll(() => payments.close())

const live = () => createLiveMerchant(payments, app, { north })

/** Runs a statement with the SQL login of the service, inside the service's role. */
const attack = (statement: RawBuilder<unknown>) => statement.execute(payments.service.db)
const REFUSED = '42501'
const commands = [ledgerCommand, adjustCommand] as const
const { run } = commandRunner(commands, () => operatorDeps(payments))

describe('an operation that was booked again', () => {
  /** A refund that the acquirer accepted after it had been taken back; answers the ids of both entries. */
  async function bookAgain() {
    const merchant = await live()
    const transactionId = await merchant.charge(1_000)
    await merchant.answer(await merchant.book('capture', transactionId, 1_000), { verdict: 'accepted' })
    const first = await merchant.book('refund', transactionId, 400)
    for (const outcome of ['unanswered', 'accepted']) {
      await attack(sql`SELECT * FROM ${sql.table('close_operation')}(${merchant.id}, ${first}, ${outcome}, NULL)`)
    }
    const { trail } = await merchant.get(transactionId)
    return { merchant, transactionId, first, again: String(trail.at(-1).id) }
  }

  it('is sent to no acquirer by a job, and gets no operation', async () => {
    const { merchant, again } = await bookAgain()
    const sent: string[] = []
    north.answers.submit = async ({ operationId }) => {
      sent.push(operationId)
      return { verdict: 'accepted' }
    }
    const deps = { ...payments.deps, db: payments.service.db, logger: pino({ enabled: false }) }
    await expect(submitOperation(deps, { merchantId: merchant.id, id: again })).rejects.toThrow(
      `there is no operation ${again}`,
    )
    expect(sent).toEqual([])
    const close = sql`SELECT * FROM ${sql.table('close_operation')}(${merchant.id}, ${again}, 'accepted', NULL)`
    await expect(attack(close)).rejects.toHaveProperty('code', 'P0002')
    expect(await merchant.violations()).toEqual([])
  })

  it('is reported by ledger verify when it has an operation', async () => {
    const { merchant, transactionId, again } = await bookAgain()
    await sql`
      INSERT INTO ${sql.table('acquirer_operations')} (merchant_id, id, created, transaction_id, kind)
      VALUES (${merchant.id}, ${again}, now(), ${transactionId}, 'refund')`.execute(payments.owner.db)
    expect(await merchant.violations()).toEqual([
      {
        table: 'acquirer_operations',
        id: again,
        invariant: 17,
        merchantId: anyId,
        message: 'is not that of its trail entry',
      },
      {
        table: 'trail_entries',
        id: anyId,
        invariant: 18,
        merchantId: anyId,
        message: 'takes back what no acquirer has rejected or left unanswered',
      },
    ])
    await sql`DELETE FROM ${sql.table('acquirer_operations')} WHERE id = ${again}`.execute(payments.owner.db)
  })

  it('is not confused with another entry by ledger verify, whatever reference a client has chosen', async () => {
    const { merchant, transactionId, first } = await bookAgain()
    const url = `/transactions/${transactionId}/refunds`
    const payload = { amount: 100, reference: `accepted ${first}` }
    expect((await payments.app.inject({ method: 'POST', url, payload, headers: app.headers })).statusCode).toBe(201)
    expect(await merchant.violations()).toEqual([])
  })
})

describe('an authorization that no acquirer gave', () => {
  const CONTRADICTION = '23514'
  const begin = async (merchantId: string, amount: number, currency = 'EUR') => {
    const payment = {
      ...{ currency, amount, descriptor: 'x', acquirer: 'north', tokens: [] },
      instrument: {
        ...{ id: `0123456789abcdef${merchantId.slice(16)}`, keyId: 0, bin: '424242', last4: '4242' },
        ...{ expiry: '2066-08-31', scheme: 'visa', planned: false },
      },
    }
    const { rows } = await sql<{ id: string }>`
      SELECT f.attempt_id AS id FROM ${sql.table('begin_payment')}(
        NULL, ${merchantId}, NULL, ${JSON.stringify(payment)}::jsonb, '\\x00'::bytea, decode(repeat('00', 32), 'hex')
      ) f`.execute(payments.service.db)
    return rows[0]?.id ?? ''
  }
  type End = readonly [outcome: string, errorCode: number | null, reference: string | null]
  const finish = (merchantId: string, attempt: string, [outcome, errorCode, reference]: End) =>
    attack(sql`SELECT * FROM ${sql.table('finish_payment')}(
      ${merchantId}, ${attempt}, ${outcome}, NULL, ${errorCode}::int, ${reference}, NULL)`)

  it.each<End>([
    ['approved', null, null],
    ['approved', null, ''],
    ['declined', null, 'n-1'],
    ['unknown', null, 'n-1'],
    ['approved', 12, 'n-1'],
  ])('is refused as %s with the error %j and the reference %j', async (...end) => {
    const merchant = await live()
    const attempt = await begin(merchant.id, 1_000)
    await expect(finish(merchant.id, attempt, end)).rejects.toHaveProperty('code', CONTRADICTION)
    await finish(merchant.id, attempt, ['approved', null, 'n-1'])
    expect(await merchant.violations()).toEqual([])
  })

  it('is refused at a live merchant without an acquirer, whatever the call names', async () => {
    const merchant = await live()
    await settle(payments.owner.db, merchant.id, { acquirer: null })
    const payment = { currency: 'EUR', amount: 1_000, descriptor: 'x', acquirer: null, tokens: [], instrument: {} }
    const call = sql`SELECT * FROM ${sql.table('begin_payment')}(
      NULL, ${merchant.id}, NULL, ${JSON.stringify(payment)}::jsonb, '\\x00', decode(repeat('00', 32), 'hex'))`
    await expect(attack(call)).rejects.toHaveProperty('code', CONTRADICTION)
    expect(await merchant.violations()).toEqual([])
  })

  it('is stored once, with an outcome', async () => {
    const merchant = await live()
    const attempt = await begin(merchant.id, 1_000)
    for (const outcome of ['sent', 'reversed', '']) {
      const odd = finish(merchant.id, attempt, [outcome, 12, null])
      await expect(odd).rejects.toHaveProperty('code', '22023')
      const charge = sql`SELECT * FROM ${sql.table('finish_charge')}(${merchant.id}, ${attempt}, ${outcome}, 12, NULL)`
      await expect(attack(charge)).rejects.toHaveProperty('code', '22023')
    }
    await finish(merchant.id, attempt, ['approved', null, 'n-1'])
    const { rows } = await attack(sql`
      SELECT verdict FROM ${sql.table('finish_payment')}(${merchant.id}, ${attempt}, 'approved', NULL, NULL, 'n-2', NULL)`)
    expect(rows).toEqual([{ verdict: 'settled' }])
  })

  it('ends by the function of its kind alone', async () => {
    const merchant = await live()
    const attempt = await begin(merchant.id, 1_000)
    const kind = (name: string) =>
      sql`UPDATE ${sql.table('attempts')} SET kind = ${name} WHERE id = ${attempt}`.execute(payments.owner.db)
    const charge = sql`SELECT * FROM ${sql.table('finish_charge')}(${merchant.id}, ${attempt}, 'approved', NULL, 'n-1')`
    await expect(attack(charge)).rejects.toHaveProperty('code', 'P0002')
    await kind('charge')
    await expect(finish(merchant.id, attempt, ['approved', null, 'n-1'])).rejects.toHaveProperty('code', 'P0002')
    await kind('payment')
    await finish(merchant.id, attempt, ['approved', null, 'n-1'])
    expect(await merchant.violations()).toEqual([])
  })

  it('is reported by ledger verify when two transactions have it', async () => {
    const merchant = await live()
    const ids = [await merchant.charge(100), await merchant.charge(100)].sort()
    for (const id of ids) {
      await sql`UPDATE ${sql.table('transactions')} SET acquirer_ref = 'n-9' WHERE merchant_id = ${merchant.id} AND id = ${id}`.execute(
        payments.owner.db,
      )
      await sql`SELECT ${sql.table('record_states')}(${merchant.id}, 'transactions', ARRAY[${id}])`.execute(
        payments.owner.db,
      )
    }
    const message = 'has the authorization of another transaction'
    const found = { merchantId: merchant.id, invariant: 18, table: 'transactions', message }
    expect(await merchant.violations()).toEqual(ids.map((id) => ({ ...found, id })))
  })

  it('is declined with no error that the reference does not list', async () => {
    const merchant = await live()
    const attempt = await begin(merchant.id, 1_000)
    for (const code of [9_999, 23, 24, 32, 0, -1]) {
      await expect(finish(merchant.id, attempt, ['declined', code, null])).rejects.toHaveProperty('code', CONTRADICTION)
    }
    await finish(merchant.id, attempt, ['declined', 31, null])
    expect(await merchant.violations()).toEqual([])
  })

  it('is refused for a charge from a transaction, too', async () => {
    const merchant = await live()
    await merchant.charge(100)
    const { rows } = await sql<{ id: string }>`
      SELECT id FROM ${sql.table('attempts')} WHERE merchant_id = ${merchant.id} AND kind = 'charge'`.execute(
      payments.owner.db,
    )
    const again = sql`UPDATE ${sql.table('attempts')} SET state = 'sent' WHERE merchant_id = ${merchant.id}`
    await again.execute(payments.owner.db)
    const call = sql`SELECT * FROM ${sql.table('finish_charge')}(${merchant.id}, ${rows[0]?.id}, 'approved', NULL, NULL)`
    await expect(attack(call)).rejects.toHaveProperty('code', CONTRADICTION)
  })

  it('is asked for no amount beyond the bound', async () => {
    const merchant = await live()
    for (const amount of [1_000_000_000_000, 9_000_000_000_000_000, -1]) {
      await expect(begin(merchant.id, amount)).rejects.toHaveProperty('code', CONTRADICTION)
    }
    expect(await begin(merchant.id, 999_999_999_999)).toEqual(anyId)
  })

  it.each(['XXX', 'EUA', 'eur', ''])('is asked for in no currency that is not listed: %j', async (currency) => {
    const merchant = await live()
    await expect(begin(merchant.id, 1_000, currency)).rejects.toHaveProperty('code', '22023')
    expect(await begin(merchant.id, 1_000)).toEqual(anyId)
  })

  it('is reported by ledger verify in a currency that is not listed', async () => {
    const merchant = await live()
    const id = await merchant.charge(100)
    await sql`UPDATE ${sql.table('transactions')} SET currency = 'XXX' WHERE merchant_id = ${merchant.id} AND id = ${id}`.execute(
      payments.owner.db,
    )
    await sql`SELECT ${sql.table('record_states')}(${merchant.id}, 'transactions', ARRAY[${id}])`.execute(
      payments.owner.db,
    )
    const message = 'is in no listed currency'
    const found = { merchantId: merchant.id, invariant: 18, table: 'transactions', id, message }
    expect(await merchant.violations()).toEqual([found])
  })

  it('is reported by ledger verify', async () => {
    const merchant = await live()
    const id = await merchant.charge(100)
    const change = async (...statements: string[]) => {
      for (const statement of statements) await sql.raw(statement).execute(payments.owner.db)
    }
    const own = `merchant_id = '${merchant.id}' AND id = '${id}'`
    const record = `SELECT payments.record_states('${merchant.id}', 'transactions', ARRAY['${id}'])`
    const finding = (message: string) => ({
      ...{ merchantId: merchant.id, invariant: 18, table: 'transactions', id, message },
    })
    const check =
      "CHECK (test OR NOT successful OR coalesce(acquirer, '') <> '' AND coalesce(acquirer_ref, '') <> '') NOT VALID"
    await change(
      'ALTER TABLE payments.transactions DROP CONSTRAINT transactions_acquirer_ck',
      'ALTER TABLE payments.transactions DROP CONSTRAINT transactions_amount_ck',
      `UPDATE payments.transactions SET acquirer_ref = NULL WHERE ${own}`,
      record,
    )
    expect(await merchant.violations()).toEqual([finding('was authorized by no acquirer')])
    await change(
      `UPDATE payments.transactions SET acquirer_ref = 'n-2', amount = 1000000000000, pending = 1000000000000 WHERE ${own}`,
      record,
    )
    expect(await merchant.violations()).toEqual([finding('is of more than 999999999999')])
    await change(
      `UPDATE payments.transactions SET amount = 100, pending = 100 WHERE ${own}`,
      `ALTER TABLE payments.transactions ADD CONSTRAINT transactions_acquirer_ck ${check}`,
      'ALTER TABLE payments.transactions ADD CONSTRAINT transactions_amount_ck CHECK (amount BETWEEN 0 AND 999999999999)',
    )
  })
})

describe('terms that no merchant may have', () => {
  const money = (amount: unknown, currency: unknown = 'EUR') => ({ amount, currency })
  it.each([
    ['pricing', { pricing: { rate: -1 } }],
    ['pricing', { pricing: { rate: 10_001 } }],
    ['pricing', { pricing: { rate: '135' } }],
    ['pricing', { pricing: { rate: [135] } }],
    ['pricing', { pricing: { rate: null } }],
    ['pricing', { pricing: { flat: money(-1) } }],
    ['pricing', { pricing: { flat: money('25') } }],
    ['pricing', { pricing: { flat: money([25]) } }],
    ['pricing', { pricing: { flat: money(0.5) } }],
    ['pricing', { pricing: { flat: money(25, 'euro') } }],
    ['pricing', { pricing: { flat: money(25, null) } }],
    ['pricing', { pricing: { flat: { amount: 25 } } }],
    ['pricing', { pricing: { flat: 25 } }],
    ['pricing', { pricing: { dispute: null } }],
    ['pricing', { pricing: { dispute: [money(2_500)] } }],
    ['pricing', { pricing: { refund: money(-1) } }],
    ['pricing', { pricing: [] }],
    ['claim', { claim: { canCapture: 'perhaps' } }],
    ['claim', { claim: { canCapture: null } }],
    ['claim', { claim: { canVoid: 1 } }],
    ['claim', { claim: [true] }],
    ['iban', { iban: 'not an iban' }],
    ['iban', { iban: 'dk5000400440116243' }],
    ['iban', { iban: '' }],
    ['acquirer', { acquirer: '' }],
  ])('are refused in the %s of an operator: %j', async (column, change) => {
    const merchant = await live()
    const call = sql`SELECT FROM ${sql.table('change_merchant')}(${merchant.id}, ${JSON.stringify(change)}::jsonb)`
    await expect(call.execute(payments.operators.db)).rejects.toThrow(`merchants_${column}_ck`)
    expect(await merchant.violations()).toEqual([])
  })

  it.each([
    ['email', { email: '' }],
    ['email', { email: '@shop.example' }],
    ['descriptor', { descriptor: '' }],
    ['descriptor', { descriptor: 'Café' }],
    ['descriptor', { descriptor: 'x'.repeat(23) }],
  ])('are refused as the %s that its member sends: %j', async (column, change) => {
    const merchant = await live()
    const { rows } = await sql<{ mac: string }>`
      SELECT encode(mac, 'hex') AS mac FROM ${sql.table('app_keys')} WHERE app_id = ${app.id}`.execute(
      payments.owner.db,
    )
    const call = sql`SELECT FROM ${sql.table('update_merchant')}(
      ROW(decode(${rows[0]?.mac}, 'hex'), NULL, NULL, NULL, NULL, NULL)::${sql.table('caller')},
      ${merchant.id}, ${JSON.stringify(change)}::jsonb, '{}')`
    await expect(attack(call)).rejects.toThrow(`merchants_${column}_ck`)
  })

  it('are no claim without one of its permissions', async () => {
    const { id } = await live()
    const forget = sql`UPDATE ${sql.table('merchants')} SET claim = claim - 'canSaveCard' WHERE id = ${id}`
    await expect(forget.execute(payments.owner.db)).rejects.toThrow('merchants_claim_ck')
  })
})

it.each([
  sql`SELECT * FROM ${sql.table('close_payout')}(repeat('b', 24), repeat('a', 24), 'created')`,
  sql`SELECT * FROM ${sql.table('close_dispute')}(NULL, repeat('b', 24), repeat('a', 24), 'open')`,
  sql`SELECT * FROM ${sql.table('close_operation')}(repeat('b', 24), repeat('a', 24), 'open', NULL)`,
  sql`SELECT ${sql.table('settle_attempt')}(repeat('b', 24), repeat('a', 24), 'approved')`,
  sql`SELECT ${sql.table('settle_attempt')}(repeat('b', 24), repeat('a', 24), NULL)`,
])('a function refuses an outcome that is none, before it reads a row: %#', async (call) => {
  await expect(call.execute(payments.owner.db)).rejects.toHaveProperty('code', '22023')
})

describe('a report of an acquirer', () => {
  const reports: readonly (readonly [string, (merchantId: string, transactionId: string) => RawBuilder<unknown>])[] = [
    ...['NULL', "''"].flatMap((reference) => {
      const literal = sql.raw(reference)
      return [
        [
          `a settlement with the reference ${reference}`,
          (merchantId: string) =>
            sql`SELECT ${sql.table('book_settlement')}(${merchantId}, 'north', 'EUR', 100, ${literal})`,
        ],
        [
          `an exception with the reference ${reference}`,
          (merchantId: string) =>
            sql`SELECT ${sql.table('add_exception')}(${merchantId}, ${literal}, '{"acquirer":"north"}', NULL, NULL)`,
        ],
        [
          `an exception that holds back money with the reference ${reference}`,
          (merchantId: string) =>
            sql`SELECT ${sql.table('add_exception')}(${merchantId}, ${literal}, '{"acquirer":"north"}', 5, 'EUR')`,
        ],
      ] as const
    }),
    [
      "a dispute with the reference ''",
      (merchantId, transactionId) =>
        sql`SELECT ${sql.table('open_dispute')}(NULL, ${merchantId}, ${transactionId},
        '{"amount":5,"acquirerRef":"","reasonCode":1,"reasonTitle":"x"}')`,
    ],
    [
      "a fraud alert with the reference ''",
      (merchantId, transactionId) =>
        sql`SELECT ${sql.table('add_fraud')}(NULL, ${merchantId}, ${transactionId}, '{"acquirerRef":""}')`,
    ],
  ]
  it.each(reports)('is refused, and stores nothing: %s', async (_name, toCall) => {
    const merchant = await live()
    const transactionId = await merchant.charge(1_000)
    await merchant.answer(await merchant.book('capture', transactionId, 1_000), { verdict: 'accepted' })
    const count = sql<object>`SELECT
      (SELECT count(*) FROM ${sql.table('journals')})::int AS journals,
      (SELECT count(*) FROM ${sql.table('acquirer_exceptions')})::int AS exceptions,
      (SELECT count(*) FROM ${sql.table('disputes')})::int AS disputes,
      (SELECT count(*) FROM ${sql.table('frauds')})::int AS frauds`
    const { rows } = await count.execute(payments.owner.db)
    await expect(attack(toCall(merchant.id, transactionId))).rejects.toHaveProperty('code', '22023')
    expect((await count.execute(payments.owner.db)).rows).toEqual(rows)
  })
})

it('the service can write no row of the audit log, by a statement or by the function', async () => {
  const silence = JSON.stringify({ merchants: 1, links: 1, violations: 0 })
  const row = sql`
    INSERT INTO ${sql.table('audit')} VALUES
    (repeat('0', 24), repeat('f', 24), NULL, 'ledger.verified', ${silence}::jsonb, '2100-01-01')`
  await expect(attack(row)).rejects.toHaveProperty('code', REFUSED)
  const call = sql`SELECT ${sql.table('add_audit')}(repeat('0', 24), NULL, 'ledger.verified', ${silence}::jsonb)`
  await expect(attack(call)).rejects.toHaveProperty('code', REFUSED)
})

it('a command that only the owner may run says which setting it needs', async () => {
  const { id } = await live()
  const asService = commandRunner(commands, () => operatorDeps({ ...payments, owner: payments.service }))
  const message = 'the login of the service may not do this: set PAYMENTS_MIGRATION_DATABASE_URL'
  await expect(asService.run('adjust', id, '500', 'Goodwill')).rejects.toThrow(message)
  await expect(asService.run('ledger', 'verify')).rejects.toThrow(message)
})

it('the service can hide no event from its merchant, by a statement or by the function', async () => {
  const merchant = await live()
  await merchant.charge(100)
  const before = await merchant.events()
  const own = sql`WHERE merchant_id = ${merchant.id}`
  await expect(attack(sql`DELETE FROM ${sql.table('events')} ${own}`)).rejects.toHaveProperty('code', REFUSED)
  await expect(attack(sql`UPDATE ${sql.table('events')} SET type = 'x' ${own}`)).rejects.toHaveProperty('code', REFUSED)
  await attack(sql`SELECT ${sql.table('delete_old_events')}(ARRAY[${merchant.id}]::text[], 1000)`)
  expect([before.length > 0, await merchant.events()]).toEqual([true, before])
})

it.each([
  'SELECT payments.import_rates(\'[{"date":"2026-03-02","currency":"USD","rate":0.0001}]\')',
  'SELECT payments.export_waiting_payouts(1)',
  'SELECT payments.count_waiting_payouts()',
  "INSERT INTO payments.payout_batches VALUES (repeat('f', 24), now(), '{}', '{}', '[]', '')",
  "SELECT payments.close_payout(repeat('f', 24), repeat('f', 24), 'settled')",
  "SELECT payments.adjust(repeat('f', 24), 100, 'x')",
  'SELECT payments.change_merchant(repeat(\'f\', 24), \'{"iban":"LT601010012345678901"}\')',
  'SELECT payments.change_registration(false)',
  "SELECT payments.create_app(decode(repeat('06', 32), 'hex'), '0000', NULL)",
  "INSERT INTO payments_jobs.bam (name, version, table_name, command) VALUES ('x', 46, 'job_common', 'SELECT 1')",
])('the service cannot do what operators do: %s', async (statement) => {
  await expect(attack(sql.raw(statement))).rejects.toHaveProperty('code', REFUSED)
})

it('the service makes no change in the name of an operator', async () => {
  const operator = { key: 'desk', role: 'admin', actor: actorOf('admin'), address: '192.0.2.1' } as const
  const idempotentRequest = { method: 'POST', path: '/x', key: 'k', fingerprint: Buffer.alloc(32) }
  const change = { operator, action: 'apps.revoke-keys', idempotentRequest, status: 200 } as const
  const refused = runOperatorChange(payments.service.db, change, async () => {
    throw new Error('the effect ran')
  })
  await expect(refused).rejects.toHaveProperty('code', REFUSED)
})

it('a policy of row-level security hides no row from ledger verify, whoever runs it', async () => {
  const { id } = await live()
  const asOwner = async (...statements: string[]) => {
    for (const statement of statements) await sql.raw(statement).execute(payments.owner.db)
  }
  const forged = `'${id}', '${'f'.repeat(24)}', now(), '2020-01-01', false, 100, 'EUR', 'HIDDEN', 'created', '${'e'.repeat(24)}'`
  await asOwner(
    'ALTER TABLE payments.payouts ENABLE ROW LEVEL SECURITY',
    "CREATE POLICY hide ON payments.payouts USING (iban <> 'HIDDEN')",
    `INSERT INTO payments.payouts (merchant_id, id, created, date, test, amount, currency, iban, status, line_id) VALUES (${forged})`,
  )
  await expect(run('ledger', 'verify', '--merchant', id)).rejects.toThrow('the ledger does not hold')
  const asService = commandRunner(commands, () => operatorDeps({ ...payments, owner: payments.service }))
  await expect(asService.run('ledger', 'verify', '--merchant', id)).rejects.toThrow('row-level security policy')
  await asOwner(
    "DELETE FROM payments.payouts WHERE iban = 'HIDDEN'",
    'DROP POLICY hide ON payments.payouts',
    'ALTER TABLE payments.payouts DISABLE ROW LEVEL SECURITY',
  )
})
