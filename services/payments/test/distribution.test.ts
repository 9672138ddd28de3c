import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { planDistribution } from '@trestle/citus/distribute.ts'
import { createNames } from '@trestle/database/names.ts'
import { placeOf } from '@trestle/migrations/functions.ts'
import { paymentsFunctions, paymentsMigrations } from '@trestle/migrations/payments.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tableClasses } from '../src/placement/distributed-rows.ts'
import { distributionOptions, openTestDatabase } from './payments-app.ts'

// Checks statements of migrations and functions about a distributed database, as far as plain PostgreSQL allows.

interface ForeignKey {
  readonly from: string
  readonly to: string
  readonly columns: readonly string[]
  readonly referenced: readonly string[]
  /** `a` means no action, and `c` means cascade. */
  readonly onDelete: string
}

const files = await paymentsFunctions()
const places = new Map(files.map((file) => [file.name, placeOf(file)]))
const named = (place: string) => files.map(({ name }) => name).filter((name) => places.get(name) === place)

describe('the statements that distribute payments', () => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>
  let client: pg.Client
  let all: readonly string[]
  let printed: readonly string[]
  let keys: readonly ForeignKey[]
  beforeAll(async () => {
    database = await openTestDatabase()
    client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const options = distributionOptions(database.url, { operatorPassword: 'correct horse' })
    const service = { value: 'battery staple', place: 'that of the service' }
    const steps = await planDistribution({ ...options, passwords: { ...options.passwords, service } })
    all = steps.flatMap(({ statements }) => statements)
    printed = all.filter((text) => /create_(reference|distributed)_table|citus_add_local_table/.test(text))
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
    const claim = tables.filter(([, kind]) => kind === 'claim').map(([name]) => name)
    const owned = tables.filter(([, kind]) => kind === 'owned').map(([name]) => name)
    expect(printed.toSorted()).toEqual(
      [
        ...reference.map((name) => `SELECT create_reference_table('"payments"."${name}"')`),
        ...claim.map((name) => `SELECT citus_add_local_table_to_metadata('"payments"."${name}"')`),
        ...owned.map((name) => {
          const group = name === 'merchant_balances' ? 'none' : '"payments"."merchant_balances"'
          return `SELECT create_distributed_table('"payments"."${name}"', 'merchant_id', colocate_with => '${group}')`
        }),
      ].toSorted(),
    )
  })

  it('begin with the table that divides the others', () => {
    expect(printed[0]).toContain('\'"payments"."merchant_balances"\'')
  })

  it('note and drop every foreign key before the tables, and add it again afterwards', () => {
    const [first, last] = [all.indexOf(printed[0] ?? ''), all.indexOf(printed.at(-1) ?? '')]
    const keyStatements = (words: string) => all.flatMap((text, at) => (text.includes(words) ? [at] : []))
    for (const words of ["VALUES ('foreign key ", ' DROP CONSTRAINT ']) {
      expect(keyStatements(words).filter((at) => at < first)).toHaveLength(keys.length)
    }
    const added = all.flatMap((text, at) => (/^ALTER TABLE .* ADD CONSTRAINT /.test(text) ? [at] : []))
    expect(added.filter((at) => at > last)).toHaveLength(keys.length)
    expect(keys.length).toBeGreaterThan(10)
  })

  it('distribute every function that a merchant names', () => {
    const placed = all.flatMap(
      (text) => /create_distributed_function\('payments\.(\w+)\(.*'p_merchant_id'/.exec(text)?.[1] ?? [],
    )
    expect(placed).toEqual(named('p_merchant_id'))
  })

  it('plan every function with its values before any is distributed', () => {
    const planned = files.filter(({ text }) => text.includes('plan_cache_mode = force_generic_plan'))
    const statements = all.flatMap((text, at) =>
      /^ALTER FUNCTION .* SET plan_cache_mode = auto$/.test(text) ? [at] : [],
    )
    // The two additional functions belong to triggers and have no file.
    expect(statements).toHaveLength(planned.length + 2)
    expect(planned.length).toBeGreaterThan(30)
    expect(Math.max(...statements)).toBeLessThan(
      all.findIndex((text) => text.includes("create_distributed_function('payments.")),
    )
  })

  it('make the sequences and the types on every server, and no password', () => {
    expect(all.filter((text) => /CREATE SEQUENCE IF NOT EXISTS payments\.id_counter/.test(text))).toHaveLength(1)
    expect(all.filter((text) => /payments\.operation_result/.test(text) && /^CREATE FUNCTION/.test(text))).toHaveLength(
      1,
    )
    expect(all.join('\n').match(/ALTER ROLE "\w+" LOGIN PASSWORD '+SCRAM-SHA-256\$4096:/g)).toEqual(
      ['payments_service', 'payments_operators'].flatMap((role) => [
        `ALTER ROLE "${role}" LOGIN PASSWORD ''SCRAM-SHA-256$4096:`,
        `ALTER ROLE "${role}" LOGIN PASSWORD 'SCRAM-SHA-256$4096:`,
      ]),
    )
    expect(all.join('\n')).not.toMatch(/correct horse|battery staple/)
  })

  it('have foreign keys that stay on a node', () => {
    const classes = new Map(Object.entries(tableClasses))
    for (const { from, to, columns, referenced, onDelete } of keys) {
      if (classes.get(from) !== 'owned') {
        expect([from, to, classes.get(to)]).toEqual([from, to, 'reference'])
        continue
      }
      expect(['owned', 'reference']).toContain(classes.get(to))
      expect(onDelete).not.toMatch(/[nd]/)
      if (classes.get(to) === 'owned') {
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

describe('the places of functions', () => {
  it('are arguments of the functions themselves', () => {
    const wrong = files.filter((file) => {
      const place = placeOf(file)
      return place.startsWith('p_') && !new RegExp(`FUNCTION \\{\\{[^$]*\\b${place} text\\b[^$]*\\$\\$`).test(file.text)
    })
    expect(wrong.map(({ name }) => name)).toEqual([])
  })

  it('find a row of a merchant by a column: Citus finds none without', () => {
    const ofMerchants = Object.entries(tableClasses).flatMap(([table, kind]) => (kind === 'owned' ? [table] : []))
    const bare = files.flatMap(({ name, text }) =>
      [...text.matchAll(/PERFORM FROM \{\{([a-z_]+)\}\}/g)].flatMap(([, table = '']) =>
        ofMerchants.includes(table) ? [`${name}: ${table}`] : [],
      ),
    )
    expect(bare).toEqual([])
    expect(ofMerchants).toContain('webhooks')
  })

  it('are called by themselves, which Citus carries out everywhere', () => {
    const root = join(import.meta.dirname, '..', 'src')
    const statements = globSync('**/*.ts', { cwd: root })
      .filter((path) => !path.endsWith('.test.ts'))
      .flatMap((path) =>
        readFileSync(join(root, path), 'utf8')
          .split(/\bsql(?:<[^`]*>)?`/)
          .slice(1),
      )
    const delegated = statements.filter((statement) =>
      [...statement.matchAll(/sql\.table\('([a-z_]+)'\)\}\(/g)].some(([, name = '']) =>
        places.get(name)?.startsWith('p_'),
      ),
    )
    expect(delegated.length).toBeGreaterThan(20)
    expect(delegated.filter((statement) => /\b(JOIN|LATERAL)\b/.test(statement))).toEqual([])
  })

  it('let an operation of one merchant name one table in each statement: Citus plans any other at each call', () => {
    const text = files.find(({ name }) => name === 'run_merchant_operations')?.text ?? ''
    const statements = text
      .replaceAll(/--.*/g, '')
      .split(/;|\bLOOP\b/)
      .map((statement) => ({
        statement,
        tables: [...statement.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE) \{\{([a-z_]+)\}\}(?!\()/g)].map(
          ([, table]) => table,
        ),
      }))
      .filter(({ tables }) => tables.length > 0)
    expect(statements.length).toBeGreaterThan(10)
    expect(statements.filter(({ tables }) => tables.length > 1)).toEqual([])
    expect(statements.filter(({ statement }) => /\bunnest\(|\bARRAY\(/.test(statement))).toEqual([])
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
