import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { type CommandServer, startCommandServer } from '@trestle/testing/command-server.ts'
import { createTemporaryDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { environmentWith, MAIN, runInventory } from '../../test/run-inventory.ts'
import { loadInventoryConfig } from '../config.ts'
import { migrateOptions } from '../migrations.ts'

removeFoldersAtEnd()

let [from, to]: TemporaryDatabase[] = []
let server: CommandServer
/** The result of importing FILE into `from`. */
let first: Awaited<ReturnType<typeof run>>
beforeAll(async () => {
  const create = () =>
    createTemporaryDatabase({
      template: 'inventory-transfer',
      migrate: (url) => migrateUp(migrateOptions(loadInventoryConfig({ INVENTORY_DATABASE_URL: url }))),
    })
  ;[server, from, to] = [await startCommandServer(), await create(), await create()]
  first = await run(from, ['import', 'products.ndjson'], { 'products.ndjson': FILE })
})
afterAll(() => Promise.all([server?.stop(), from?.drop(), to?.drop()]))

/** Runs the program in a new folder. */
async function run(
  database: TemporaryDatabase | undefined,
  args: readonly string[],
  files: Record<string, string | Buffer> = {},
) {
  const cwd = createFolder()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text)
  const env = environmentWith({ INVENTORY_DATABASE_URL: database?.url ?? '' })
  const read = (name: string) => readFileSync(join(cwd, name), 'utf8')
  return { ...(await server.run(MAIN, args, { cwd, env })), read }
}

async function stored(database: TemporaryDatabase | undefined): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: database?.url })
  await client.connect()
  const { rows } = await client.query('SELECT sku, attributes::text FROM inventory.products ORDER BY id')
  await client.end()
  return rows
}

const ATTRIBUTES = [
  '{"big":12345678901234567890.10,"odd":"\u2028\ud83d\ude00\\u0001\\t,\\"\\\\","":{"a.b":[null,[],{}]}}',
  '"a text"',
  '-0.00',
  'false',
  '[1e20]',
]
const FILE = ATTRIBUTES.map((attributes, n) => `${JSON.stringify({ sku: `S-${n}\u{1f9e6}`, attributes })}\n`).join('')

it('inventory export and import carry products over exactly, as NDJSON and as CSV', async () => {
  expect([first.status, first.stderr]).toEqual([0, ''])
  expect(first.stdout).toBe('5 received, 5 created, 0 updated, 0 skipped, 0 failed\n')
  const expected = await stored(from)
  expect(expected).toHaveLength(5)
  for (const file of ['out.csv', 'out.jsonl']) {
    const exported = await run(from, ['export', file])
    expect([exported.status, exported.stdout, exported.stderr]).toEqual([0, '', ''])
    const imported = await run(
      to,
      ['import', '--mode', 'upsert', 'again.file', '--format', file === 'out.csv' ? 'csv' : 'ndjson'],
      {
        'again.file': exported.read(file),
      },
    )
    expect(imported.status, imported.stderr).toBe(0)
    expect(await stored(to)).toEqual(expected)
  }
}, 180_000)

it('inventory import says in one line how a file can be imported a second time', async () => {
  const again = await run(from, ['import', 'products.ndjson'], { 'products.ndjson': FILE })
  const advice = '--mode skip leaves the products as they are, --mode upsert changes them'
  expect([again.status, again.stderr]).toEqual([
    1,
    `records whose sku is taken: 5, such as S-0🧦 in line 1; ${advice}\n5 of 5 records failed\n`,
  ])
  expect(again.stdout).toBe('5 received, 0 created, 0 updated, 0 skipped, 5 failed\n')
}, 180_000)

it('inventory import exits with 1 for a failed record, which it names', async () => {
  const file = { 'products.csv': 'sku,attributes\nBAD\nGOOD,{}\n' }
  const tried = await run(to, ['import', '--dry-run', 'products.csv'], file)
  expect(tried.status).toBe(1)
  expect(tried.stderr).toBe('line 2: The record has 1 fields, the header has 2.\n1 of 2 records failed\n')
  expect(tried.stdout).toMatch(/^nothing was stored; would be: 2 received, 1 created, 0 updated, 0 skipped, 1 failed/)
}, 180_000)

it('inventory import says how far it came with a file that breaks off', async () => {
  const file = { 'products.csv': Buffer.from('sku,attributes\nGOOD,{}\ncaf\xe9,{}\n', 'latin1') }
  const { status, stdout, stderr } = await run(to, ['import', 'products.csv'], file)
  const counts = '1 received, 1 created, 0 updated, 0 skipped, 0 failed'
  expect([status, stdout, stderr]).toEqual([1, `broke off at line 3: ${counts}\n`, 'The file is not UTF-8.\n'])
}, 180_000)

it('inventory import exits with 1 for a name that shows no format', async () => {
  const { status, stdout, stderr } = await run(to, ['import', 'products.txt'], { 'products.txt': '' })
  const message = 'products.txt: the name does not show the format; pass --format csv or ndjson\n'
  expect([status, stdout, stderr]).toEqual([1, '', message])
}, 180_000)

it('inventory import exits with 2 for wrong usage', async () => {
  const wrong = await run(to, ['import', '--mode', 'maybe', 'x.csv'])
  expect([wrong.status, wrong.stdout, wrong.stderr]).toEqual([
    2,
    '',
    "option '--mode <mode>' argument 'maybe' is invalid. Allowed choices are insert, upsert, skip; see inventory import --help\n",
  ])
}, 180_000)

it('inventory import prints no control character of a file', async () => {
  const file = { 'products.csv': 'sku,attributes,attributes.r\u009bed.y\nA,"{""r\u009bed"":1}",2\n' }
  const tried = await run(to, ['import', '--dry-run', 'products.csv'], file)
  expect(tried.stderr).toBe(
    'line 2: attributes.r\\u{9b}ed.y: leads through a value that is not an object\n1 of 1 records failed\n',
  )
}, 180_000)

it('inventory export writes the products that match to standard output', async () => {
  const filters = ['--filter', 'attributes.big[gt]=1', '--sort', '-id']
  const args = ['export', '--format', 'csv', '--flatten', 'big', ...filters]
  // Run a separate process, whose standard output is a pipe.
  const exported = runInventory(args, { INVENTORY_DATABASE_URL: from?.url ?? '' }, createFolder())
  expect(await exported.exited).toBe(0)
  const [header, line = '', ...rest] = exported.stdout().split('\r\n')
  expect([header, rest]).toEqual(['id,sku,attributes.big,attributes', ['']])
  expect(line).toMatch(/^1,S-0🧦,12345678901234567890\.10,"\{"".*"odd""/su)
}, 180_000)

it.each([
  [['sku=A', 'sku=B'], 'sku: must be given once'],
  [['attributes.a=1', 'sku[prefix]=A', 'attributes.a=2'], 'attributes.a: must be given once'],
  [['sort=sku'], 'sort=sku is not a filter: pass --sort'],
])(
  'inventory export refuses the filters %j, and writes no file',
  async (filters, problem) => {
    const refused = await run(from, ['export', 'out.csv', '--filter', ...filters])
    expect([refused.status, refused.stderr]).toEqual([1, `--filter ${problem}\n`])
    expect(() => refused.read('out.csv')).toThrow('ENOENT')
  },
  180_000,
)

it('inventory export --flatten takes paths that commas join', async () => {
  const exported = await run(from, ['export', 'out.csv', '--flatten', 'big,odd', 'no.such'])
  expect([exported.status, exported.stderr]).toEqual([0, ''])
  expect(exported.read('out.csv').split('\r\n')[0]).toBe(
    'id,sku,attributes.big,attributes.odd,attributes.no.such,attributes',
  )
}, 180_000)

it.each([
  ['export', '--flatten', 'big'],
  ['export', 'out.ndjson', '--flatten', 'big'],
])(
  'inventory %s %s %s refuses columns of a format that has none',
  async (...args) => {
    const { status, stdout, stderr } = await run(from, args)
    expect([status, stdout, stderr]).toEqual([1, '', '--flatten is for CSV; pass --format csv, or leave it out\n'])
  },
  180_000,
)
