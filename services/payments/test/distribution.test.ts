import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createNames } from '@trestle/database/names.ts'
import { placeOf } from '@trestle/migrations/functions.ts'
import { paymentsFunctions, paymentsMigrations } from '@trestle/migrations/payments.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tableClasses } from '../src/placement/distributed-rows.ts'
import { openTestDatabase } from './payments-app.ts'

// The claims of the runbook about Citus, as far as plain PostgreSQL can check them.

const runbook = readFileSync(join(import.meta.dirname, '../../../docs/runbooks/scaling-out.md'), 'utf8')
const statement = /<<'SQL'\n(WITH RECURSIVE tables[\s\S]*?)\nSQL\n/.exec(runbook)?.[1] ?? ''

interface ForeignKey {
  readonly from: string
  readonly to: string
  readonly columns: readonly string[]
  readonly referenced: readonly string[]
  /** `a` for no action, `c` for cascade. */
  readonly onDelete: string
}

describe('the statements that distribute payments', () => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>
  let client: pg.Client
  let printed: readonly string[]
  let keys: readonly ForeignKey[]
  beforeAll(async () => {
    database = await openTestDatabase()
    client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const { rows } = await client.query<[string]>({ text: statement, rowMode: 'array' })
    printed = rows.map(([line]) => line)
    const found = await client.query<ForeignKey>(`
      SELECT conrelid::regclass::text AS from, confrelid::regclass::text AS to, confdeltype::text AS "onDelete",
        array(SELECT attname::text FROM unnest(conkey) WITH ORDINALITY k (number, place)
          JOIN pg_attribute ON attrelid = conrelid AND attnum = number ORDER BY place) AS columns,
        array(SELECT attname::text FROM unnest(confkey) WITH ORDINALITY k (number, place)
          JOIN pg_attribute ON attrelid = confrelid AND attnum = number ORDER BY place) AS referenced
      FROM pg_constraint WHERE contype = 'f' AND connamespace = 'payments'::regnamespace`)
    keys = found.rows.map((key) => ({ ...key, from: bare(key.from), to: bare(key.to) }))
  })
  afterAll(async () => {
    await client.end()
    await database.close()
  })

  it('name every table of its class', () => {
    const tables = Object.entries(tableClasses)
    const reference = tables.filter(([, kind]) => kind === 'reference').map(([name]) => name)
    const merchant = tables.filter(([, kind]) => kind === 'merchant').map(([name]) => name)
    expect(printed.toSorted()).toEqual(
      [
        ...reference.map((name) => `SELECT create_reference_table('payments.${name}');`),
        ...merchant.map((name) => {
          const group = name === 'merchant_balances' ? 'default' : 'payments.merchant_balances'
          return `SELECT create_distributed_table('payments.${name}', 'merchant_id', colocate_with => '${group}');`
        }),
      ].toSorted(),
    )
  })

  it('create each table after those that it refers to', () => {
    const order = printed.map((line) => /'payments\.(\w+)'/.exec(line)?.[1])
    for (const { from, to } of keys.filter((key) => key.from !== key.to)) {
      expect([from, to, order.indexOf(to) < order.indexOf(from)]).toEqual([from, to, true])
    }
    expect(order.indexOf('merchant_balances')).toBe(
      order.length - Object.values(tableClasses).filter(isMerchant).length,
    )
    expect(keys.length).toBeGreaterThan(10)
  })

  it('have foreign keys that stay on a node', () => {
    const classes = new Map(Object.entries(tableClasses))
    for (const { from, to, columns, referenced, onDelete } of keys) {
      if (classes.get(from) !== 'merchant') {
        expect([from, to, classes.get(to)]).toEqual([from, to, 'reference'])
        continue
      }
      expect(['merchant', 'reference']).toContain(classes.get(to))
      expect(onDelete).not.toMatch(/[nd]/)
      if (classes.get(to) === 'merchant') {
        expect([from, referenced.indexOf('merchant_id')]).toEqual([from, columns.indexOf('merchant_id')])
      }
    }
  })

  it('have no serial column and no exclusion constraint', async () => {
    const { rows } = await client.query(`
      SELECT attrelid::regclass, attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
        WHERE c.relnamespace = 'payments'::regnamespace AND attnum > 0 AND attidentity <> ''
      UNION ALL
      SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef JOIN pg_class c ON c.oid = adrelid
        WHERE c.relnamespace = 'payments'::regnamespace AND pg_get_expr(adbin, adrelid) LIKE '%nextval%'
      UNION ALL
      SELECT conrelid::regclass, conname FROM pg_constraint WHERE connamespace = 'payments'::regnamespace AND contype = 'x'`)
    expect(rows).toEqual([])
  })
})

describe('the places of tables', () => {
  it('are declared by the migrations that create them', async () => {
    const names = createNames('payments')
    const migrations = await Promise.all(Object.values(paymentsMigrations).map((source) => source(names)))
    const declared = migrations.flatMap(({ tables }) => Object.entries(tables ?? {}))
    expect(declared.toSorted()).toEqual(Object.entries(tableClasses).toSorted())
  })
})

describe('the places of functions', async () => {
  const files = await paymentsFunctions()
  const places = new Map(files.map((file) => [file.name, placeOf(file)]))

  it('are arguments of the functions themselves', () => {
    const wrong = files.filter((file) => {
      const place = placeOf(file)
      return place.startsWith('p_') && !new RegExp(`FUNCTION \\{\\{[^$]*\\b${place} text\\b[^$]*\\$\\$`).test(file.text)
    })
    expect(wrong.map(({ name }) => name)).toEqual([])
  })

  it('are every node for what runs on the node of a merchant calls', () => {
    const calls = files
      .filter((file) => placeOf(file) !== 'coordinator')
      .flatMap(({ name, text }) =>
        [...text.replaceAll(/--.*/g, '').matchAll(/\{\{([a-z_]+)\}\}\(/g)].map(([, called = '']) => [name, called]),
      )
    expect(calls.filter(([, called = '']) => places.get(called) === 'coordinator')).toEqual([])
    expect(calls.length).toBeGreaterThan(100)
  })
})

function bare(name: string): string {
  return name.replace('payments.', '')
}

function isMerchant(kind: string): boolean {
  return kind === 'merchant'
}
