import { migrateDown, migrateUp, readMigrationStatus } from '@trestle/database/migrations/migrate.ts'
import { inventoryFunctions, inventoryMigrations } from '@trestle/migrations/inventory.ts'
import { migrateCommand } from '@trestle/service/migrate-command.ts'
import { readMade } from '@trestle/testing/migration-cuts.ts'
import {
  createEmptyDatabase,
  createTemporaryDatabase,
  type TemporaryDatabase,
} from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { migrateOptions } from '../src/migrations.ts'

const NAME_LENGTH_MAX = 30
const names = Object.keys(inventoryMigrations)
const count = names.length
const functions = (await inventoryFunctions()).map(({ name }) => name)

let database: TemporaryDatabase
let client: pg.Client

async function open(): Promise<void> {
  database = await createTemporaryDatabase({ template: 'inventory', migrate: (url) => migrateUp(optionsOf(url)) })
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
}

async function close(): Promise<void> {
  await client.end()
  await database.drop()
}

const optionsOf = (migrationUrl: string, namespace = '') =>
  migrateOptions({ database: { migrationUrl, namespace, role: 'inventory_service' } })

/** Tables, types, indexes, sequences, constraints, functions and triggers of the schema, with what defines them. */
async function describeSchema(): Promise<string[]> {
  const { rows } = await client.query(`
    SELECT c.relkind::text || ' ' || c.relname AS item, coalesce(pg_get_indexdef(c.oid), '') AS definition
    FROM pg_class c WHERE c.relnamespace = 'inventory'::regnamespace AND c.relkind IN ('r', 'i', 'S', 'c')
    UNION ALL
    SELECT 'c ' || conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'inventory'::regnamespace AND contype <> 'n'
    UNION ALL
    SELECT 'f ' || proname, prosrc FROM pg_proc WHERE pronamespace = 'inventory'::regnamespace
    UNION ALL
    SELECT 't ' || t.tgname, pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND c.relnamespace = 'inventory'::regnamespace
    ORDER BY 1`)
  return rows.map(({ item, definition }) => `${item} ${definition}`.trim())
}

/** Adds products, and makes the planner prefer indexes. */
async function addProducts(): Promise<void> {
  await client.query(`INSERT INTO inventory.products (sku, attributes)
    SELECT 'P' || n, jsonb_build_object('a', n) FROM generate_series(1, 2000) AS n`)
  await client.query('VACUUM ANALYZE inventory.products')
  await client.query('SET enable_seqscan = off')
}

const ownNames = (items: readonly string[]) =>
  items.map((item) => item.split(' ')[1] ?? '').filter((name) => !name.includes('trestle_migrations'))

describe('migrations of the inventory', () => {
  beforeAll(open)
  afterAll(close)

  it('run once, also when several processes start together', async () => {
    const empty = await createEmptyDatabase()
    const options = optionsOf(empty.url)
    const results = await Promise.all([1, 2, 3].map(() => migrateUp(options)))
    expect(results.map(({ migrations }) => migrations.length).sort()).toEqual([0, 0, count])
    const status = await readMigrationStatus(options)
    expect(status.every(({ executedAt }) => executedAt !== undefined)).toBe(true)
    await empty.drop()
  })

  it('are planned, applied, listed and taken back by the command', async () => {
    const empty = await createEmptyDatabase()
    const run = async (...words: string[]) => {
      const printed: string[] = []
      const command = migrateCommand(
        () => optionsOf(empty.url),
        (line) => void printed.push(line),
      )
      await command.parseAsync(words, { from: 'user' })
      return printed
    }
    const lines = (what: string, items: readonly string[]) => items.map((item) => `${what} ${item}`)
    const installed = `installed ${functions.length} functions`
    expect(await run('status')).toEqual([
      ...lines('pending', names),
      'no functions are installed',
      ...lines('missing function', functions),
    ])
    const plan = await run('plan')
    expect(plan.slice(0, 2)).toEqual(['-- 0001-create-products', expect.stringMatching(/^CREATE SEQUENCE .*;$/)])
    expect(plan.slice(-functions.length - 1)).toEqual([
      ...lines('-- creates the function', functions),
      expect.stringMatching(/^-- /),
    ])
    expect(await run()).toEqual([...lines('applied', names), installed])
    expect(await run('up')).toEqual(['nothing to do'])
    expect(await run('down')).toEqual([`taken back ${names.at(-1)}`])
    expect(await run('up')).toEqual([`applied ${names.at(-1)}`, installed])
    expect((await run('status')).map((line) => line.replace(/ \S+Z /, ' '))).toEqual([
      ...lines('applied', names),
      'functions of release 0.1.0 are installed',
    ])
    await empty.drop()
  })

  it('index live products only, under short names', async () => {
    const schema = await describeSchema()
    const indexes = schema.filter((item) => item.startsWith('i products_') && !item.includes('products_pkey'))
    expect(indexes.length).toBe(6)
    for (const index of indexes) expect(index).toMatch(/WHERE \(deleted_at IS NULL\)$/)
    for (const name of ownNames(schema)) expect(name.length).toBeLessThanOrEqual(NAME_LENGTH_MAX)
  })

  it("grant the service's role reading and writing, and nothing else", async () => {
    onTestFinished(async () => {
      await client.query('RESET ROLE')
    })
    await client.query('SET ROLE inventory_service')
    await client.query(`INSERT INTO inventory.products (sku, attributes) VALUES ('written', '{}')`)
    await expect(client.query('DROP TABLE inventory.products')).rejects.toThrow('must be owner')
    await expect(client.query('CREATE TABLE inventory.mine (id int)')).rejects.toThrow('permission denied')
    await expect(client.query('DELETE FROM inventory.trestle_migrations')).rejects.toThrow('permission denied')
    await expect(client.query('UPDATE inventory.movements SET reason = NULL')).rejects.toThrow('permission denied')
    await expect(client.query("UPDATE inventory.users SET username = 'x'")).rejects.toThrow('permission denied')
    for (const table of ['products', 'locations', 'stock_levels', 'reservations', 'users']) {
      await expect(client.query(`DELETE FROM inventory.${table}`)).rejects.toThrow('permission denied')
    }
  })

  it.each([
    [`INSERT INTO inventory.products (sku, attributes) VALUES ('', '{}')`, 'products_sku_check'],
    [`INSERT INTO inventory.products (sku, attributes) VALUES ('B', 'null')`, 'products_attributes_check'],
    [`INSERT INTO inventory.products (sku, attributes, version) VALUES ('B', '1', 0)`, 'products_version_check'],
    [`INSERT INTO inventory.products (sku, attributes) VALUES ('A', '{}')`, 'products_sku_key'],
    [`INSERT INTO inventory.users (username, first_name, last_name) VALUES ('Ada', '', '')`, 'users_username_check'],
    [
      `INSERT INTO inventory.users (username, first_name, last_name) VALUES ('jack.dorsey', '', '')`,
      'users_username_key',
    ],
  ])('refuse %s by the constraint %s', async (statement, constraint) => {
    onTestFinished(async () => {
      await client.query('ROLLBACK')
    })
    await client.query(`BEGIN; INSERT INTO inventory.products (sku, attributes) VALUES ('A', '{}')`)
    await expect(client.query(statement)).rejects.toHaveProperty('constraint', constraint)
  })
})

describe('migrations of the inventory, each in a database of its own', () => {
  beforeEach(open)
  afterEach(close)

  it('go down to an empty schema, and up to the same objects', async () => {
    const made = await readMade(optionsOf(database.url))
    for (let left = count; left > 0; left--) await migrateDown(optionsOf(database.url))
    expect(ownNames(await describeSchema())).toEqual([])
    await migrateUp(optionsOf(database.url))
    expect(await readMade(optionsOf(database.url))).toEqual(made)
  })

  it('have an index for every look-up', async () => {
    await addProducts()
    const plan = async (condition: string) => {
      const { rows } = await client.query(
        `EXPLAIN SELECT id FROM inventory.products WHERE deleted_at IS NULL AND ${condition}`,
      )
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    }
    expect(await plan(`sku = 'P7'`)).toContain('products_sku_key')
    expect(await plan(`sku LIKE 'P7%'`)).toContain('products_sku_key')
    expect(await plan('true ORDER BY sku LIMIT 5')).toContain('products_sku_key')
    expect(await plan(`lower(sku COLLATE "default") LIKE 'p7%'`)).toContain('products_lower_sku_idx')
    expect(await plan(`attributes @> '{"a":1}'`)).toContain('products_attributes_idx')
    expect(await plan(`search @@ to_tsquery('simple', 'p7:*')`)).toContain('products_search_idx')
    expect(await plan('true ORDER BY created_at, id LIMIT 5')).toContain('products_created_at_idx')
    expect(await plan('true ORDER BY updated_at, id LIMIT 5')).toContain('products_updated_at_idx')
  })

  it('have an index in the order of every list of stock', async () => {
    await addProducts()
    await client.query(
      `INSERT INTO inventory.locations (code, name) SELECT 'L' || n, 'x' FROM generate_series(1, 20) n`,
    )
    await client.query(`INSERT INTO inventory.stock_levels
      SELECT p.id, l.id, 5, 0 FROM inventory.products p, inventory.locations l WHERE p.id <= 500`)
    await client.query(`INSERT INTO inventory.movements OVERRIDING SYSTEM VALUE
      SELECT n, 1 + n % 500, 1 + n % 21, 'receive', 1, 0, 1, 0, 'r', 'PO-' || n % 900, NULL, NULL, NULL,
        now() + n * interval '1 s' FROM generate_series(1, 5000) n`)
    await client.query(`INSERT INTO inventory.reservations OVERRIDING SYSTEM VALUE
      SELECT n, p.id, 1, 1, (n % 2), CASE n % 2 WHEN 1 THEN 'active' ELSE 'released' END, NULL, now(), now()
      FROM generate_series(1, 5) n, LATERAL (SELECT id FROM inventory.products LIMIT 1) p`)
    await client.query('VACUUM ANALYZE inventory.stock_levels, inventory.movements, inventory.reservations')
    const plan = async (query: string) => {
      const { rows } = await client.query(`EXPLAIN ${query}`)
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    }
    const movements = (condition: string) =>
      plan(`SELECT id FROM inventory.movements WHERE ${condition}
        AND (created_at, id) < (SELECT created_at, id FROM inventory.movements WHERE id = 2500)
        ORDER BY created_at DESC, id DESC LIMIT 51`)
    expect(await movements('true')).toMatch(/^Limit[^\n]*\n.*Scan Backward using movements_created_at_idx/s)
    expect(await movements('product_id = 7')).toContain('movements_product_idx')
    expect(await movements('location_id = 99')).toContain('movements_location_idx')
    expect(await movements('product_id = 7 AND location_id = 8')).toMatch(/movements_(level|product)_idx/)
    expect(await movements(`reference = 'PO-7'`)).toContain('movements_reference_idx')
    const levels = await plan(`SELECT product_id FROM inventory.stock_levels l
      WHERE (SELECT deleted_at IS NULL FROM inventory.products p WHERE p.id = l.product_id) AND
        (product_id, location_id) > (250, 3) ORDER BY product_id, location_id LIMIT 51`)
    expect(levels).toContain('using stock_levels_pkey')
    expect(levels).not.toContain('Sort')
    expect(
      await plan(`SELECT id FROM inventory.reservations WHERE status = 'active' AND expires_at <= now()
        ORDER BY expires_at LIMIT 100`),
    ).toContain('reservations_due_idx')
  })

  it('give a new user an id after the seeded ones', async () => {
    const { rows } = await client.query(
      `INSERT INTO inventory.users (username, first_name, last_name) VALUES ('ada', 'Ada', 'Lovelace') RETURNING id`,
    )
    expect(rows).toEqual([{ id: '6' }])
  })

  it('put the namespace before every name of their own', async () => {
    const plain = ownNames(await describeSchema())
    await migrateUp(optionsOf(database.url, 'shop'))
    const all = ownNames(await describeSchema())
    expect(all.filter((name) => name.startsWith('shop_')).map((name) => name.slice(5))).toEqual(plain)
  })
})
