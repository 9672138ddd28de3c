import { describe, expect, it } from 'vitest'
import { clockAndEnvironment, pureFiles } from './pure-files.ts'
import { problemsOf } from './shop-tree.ts'

describe('pureFiles', () => {
  const price = 'services/shop/src/items/price.ts'
  const list = 'scripts/layout/impure-files.json'

  const reaches = (...way: readonly string[]) => `${price} is pure by its place, but reaches ${way.join(' → ')}`

  it.each([
    'node:fs',
    'node:fs/promises',
    'node:net',
    'node:http',
    'node:https',
    'node:http2',
    'node:tls',
    'node:dgram',
    'node:dns/promises',
    'node:child_process',
    'node:worker_threads',
    'node:cluster',
    'node:process',
    'node:os',
    'node:readline',
    'node:timers/promises',
    'node:perf_hooks',
    'pg',
    'pg-cursor',
    'kysely',
    'kysely/helpers/postgres',
    'fastify',
    'fastify-plugin',
    '@opentelemetry/api',
    '@fastify/cors',
    'undici',
    'nodemailer',
    'ioredis',
    'pg-boss',
    'pino',
    'some-package',
    'fs',
    'node:stream',
    'node:async_hooks',
    'node:zlib',
  ])('refuses %s in a pure file, its types too', async (specifier) => {
    expect(await problemsOf(pureFiles, { [price]: `import { a } from '${specifier}'\n` })).toEqual([reaches(specifier)])
    expect(await problemsOf(pureFiles, { [price]: `import type { A } from '${specifier}'\n` })).toEqual([
      reaches(specifier),
    ])
  })

  it.each([
    "import { randomBytes } from 'node:crypto'",
    "import { createHash, randomUUID } from 'node:crypto'",
    "import { generateKeyPairSync } from 'node:crypto'",
    "import { getRandomValues } from 'node:crypto'",
    "import { webcrypto } from 'node:crypto'",
    "import { subtle } from 'node:crypto'",
    "import crypto from 'node:crypto'",
  ])('refuses randomness: %s', async (text) => {
    expect(await problemsOf(pureFiles, { [price]: `${text}\n` })).toEqual([reaches('node:crypto')])
  })

  it.each([
    "import { type Kysely } from 'kysely'",
    "import type { Generated, Transaction } from 'kysely'",
    "import { sql, type Generated } from 'kysely'",
    "import * as kysely from 'kysely'",
    "import 'kysely'",
  ])('refuses a connection and queries: %s', async (text) => {
    expect(await problemsOf(pureFiles, { [price]: `${text}\n` })).toEqual([reaches('kysely')])
  })

  it.each([
    "import type { ColumnType, Generated, Insertable, Selectable } from 'kysely'",
    "import { type Updateable } from 'kysely'",
    "import { isIP } from 'node:net'",
    "import { ResponseBodyError } from 'oauth4webapi'",
    "import { createHash, createHmac, timingSafeEqual } from 'node:crypto'",
    "import { z } from 'zod'",
    "import { isDeepStrictEqual } from 'node:util'",
    "import { error } from '../errors.ts'",
  ])('allows %s', async (text) => {
    expect(
      await problemsOf(pureFiles, { [price]: `${text}\n`, 'services/shop/src/errors.ts': "import { z } from 'zod'\n" }),
    ).toEqual([])
  })

  it('refuses what a pure file reaches through others, and names the shortest way', async () => {
    const files = {
      [price]: "import { vat } from './rate.ts'\n",
      'services/shop/src/items/rate.ts': "import { connect } from '@trestle/database/connect.ts'\n",
      'packages/database/src/connect.ts': "import { Pool } from 'pg'\n",
    }
    expect(await problemsOf(pureFiles, files)).toContain(
      reaches('services/shop/src/items/rate.ts', 'packages/database/src/connect.ts', 'pg'),
    )
  })

  it.each([
    ['isPrice', []],
    ['isPrice, connect', [reaches('packages/bank/src/connect.ts', 'pg')]],
  ])('looks behind the entry of a package for what declares %s', async (names, problems) => {
    const files = {
      [price]: `import { ${names} } from '@trestle/bank'\n`,
      'packages/bank/src/bank.ts': "export { connect } from './connect.ts'\nexport { isPrice } from './is-price.ts'\n",
      'packages/bank/src/connect.ts': "import { Pool } from 'pg'\n",
      'packages/bank/src/is-price.ts': "import { z } from 'zod'\n",
    }
    expect(await problemsOf(pureFiles, files)).toEqual(problems)
  })

  it('refuses a connection of the database as an argument, and allows the type of a row', async () => {
    const take = (type: string, file: string) => `import type { ${type} } from '${file}'\nexport type Given = ${type}\n`
    for (const file of ['../database.ts', '../transaction.ts']) {
      expect(await problemsOf(pureFiles, { [price]: take('Trx', file) })).toEqual([reaches(file)])
    }
    expect(await problemsOf(pureFiles, { [price]: take('PricesTable', '../database.ts') })).toEqual([])
  })

  it.each([
    ['console', "console.log('sold')"],
    ['process', 'export const port = process.argv[2]'],
    ['process', 'export const hrtime = () => process.hrtime()'],
    ['performance', 'export const now = performance.now()'],
    ['crypto', 'export const id = crypto.randomUUID()'],
    ['crypto', 'crypto.getRandomValues(new Uint8Array(1))'],
    ['Math.random', 'export const dice = Math.random()'],
    ['Math.random', "export const dice = Math['random']()"],
    ['Date.now', 'export const now = Date.now()'],
    ['Date.now', 'export const clock = Date.now'],
    ['Date.now', 'const { now } = Date\nexport const moment = now()'],
    ['Math.random', 'const { max, random: dice } = Math\nexport const roll = max(1, dice())'],
    ['new Date()', 'export const now = new Date()'],
    ['Date()', 'export const now = Date()'],
    ['new Date()', 'export const now = new (Date)()'],
    ['Date.now', 'export const now = (Date).now()'],
    ['Date', 'const D = Date\nexport const now = new D()'],
    ['Math', 'const M = Math\nexport const dice = M.random()'],
    ['Math', 'export const roll = (M = (Math)) => M.random()'],
    ['format()', "export const now = new Intl.DateTimeFormat('en').format()"],
    ['formatToParts()', 'export const nowOf = (format: Intl.DateTimeFormat) => format.formatToParts()'],
    ['Atomics.wait', 'Atomics.wait(cells, 0, 0, 100)'],
    ['Function', "export const now = new Function('return Date.now()')()"],
    ['eval', "export const now = eval('Date.now()')"],
    ['fetch', "export const page = fetch('https://example.com')"],
    ['fetch', 'export const send = fetch'],
    ['WebSocket', "export const socket = new WebSocket('wss://example.com')"],
    ['EventSource', "export const events = new EventSource('https://example.com')"],
    ['BroadcastChannel', "export const channel = new BroadcastChannel('a')"],
    ['navigator', 'export const cores = navigator.hardwareConcurrency'],
    ['setTimeout', 'setTimeout(() => {}, 1)'],
    ['setInterval', 'setInterval(() => {}, 1)'],
    ['setImmediate', 'setImmediate(() => {})'],
    ['queueMicrotask', 'queueMicrotask(() => {})'],
    ['AbortSignal.timeout', 'export const signal = AbortSignal.timeout(1)'],
    ['globalThis', "export const hidden = globalThis['fetch']"],
    ['global', 'export const hidden = global.fetch'],
  ])('refuses the global %s in a pure file: %s', async (name, text) => {
    expect(await problemsOf(pureFiles, { [price]: `${text}\n` })).toEqual([reaches(name)])
  })

  it('refuses a global that a pure file reaches through others', async () => {
    const files = {
      [price]: "import { rate } from '@trestle/common/rate.ts'\n",
      'packages/common/src/rate.ts': 'export const rate = Math.random()\n',
    }
    expect(await problemsOf(pureFiles, files)).toEqual([reaches('packages/common/src/rate.ts', 'Math.random')])
  })

  it.each([
    'export const at = new Date(0)',
    'export const due = Date.parse(text)',
    'export const isMoment = (value: Date | string) => value instanceof Date',
    "export const due = new Intl.DateTimeFormat('en').format(at)",
    'export const bytes = Buffer.alloc(8)',
    'export const up = Math.ceil(1.5)',
    'export const figures = { performance: 1, process: 2 }.performance',
    'export interface Bank {\n  readonly process: string\n  fetch(): void\n}',
    'export class Bank {\n  process = 1\n  fetch() {}\n}',
    'export const { signal } = new AbortController()',
  ])('allows %s', async (text) => {
    expect(await problemsOf(pureFiles, { [price]: `${text}\n` })).toEqual([])
  })

  it('allows types of files that reach outside', async () => {
    const files = {
      [price]: "import type { Item } from './item-repository.ts'\n",
    }
    expect(await problemsOf(pureFiles, files)).toEqual([])
  })

  it.each([
    'app.ts',
    'config.ts',
    'database.ts',
    'deps.ts',
    'error-body.ts',
    'main.ts',
    'migrations.ts',
    'open-database.ts',
    'open-telemetry.ts',
    'openapi.ts',
    'routes/sales.ts',
    'controllers/sales.ts',
    'use-cases/sell.ts',
    'plugins/guard.ts',
    'commands/serve.ts',
    'config/mail.ts',
    'items/sale-repository.ts',
    'items/sale-job.ts',
    'items/sale-jobs.ts',
    'items/sale-group.ts',
    'items/gateways/bank.ts',
  ])('allows %s, which ties rules to the outside', async (path) => {
    expect(await problemsOf(pureFiles, { [`services/shop/src/${path}`]: "import 'pg'\n" })).toEqual([])
  })

  it.each([
    'identifier.ts',
    'errors.ts',
    'items/sale.ts',
    'items/repository.ts',
    'items/apples/sale.ts',
    'providers/bank.ts',
  ])('expects %s to be pure without a list', async (path) => {
    const file = `services/shop/src/${path}`
    expect(await problemsOf(pureFiles, { [file]: "import 'pg'\n" })).toEqual([
      `${file} is pure by its place, but reaches pg`,
    ])
  })

  it('leaves packages and tests alone', async () => {
    const files = {
      'packages/common/src/rate.ts': "import 'pg'\n",
      'services/shop/src/items/price.test.ts': "import 'pg'\n",
      'services/shop/test/prices.ts': "import 'pg'\n",
    }
    expect(await problemsOf(pureFiles, files)).toEqual([])
  })

  it('refuses an entry of the list that is pure, or not there', async () => {
    expect(
      await problemsOf(pureFiles, {
        [list]: '{ "runs statements": { "services/shop/src/items": ["item-stock", "item-view", "vat"] } }',
      }),
    ).toEqual([
      'scripts/layout/impure-files.json lists services/shop/src/items/item-view.ts, which is pure or not there',
      'scripts/layout/impure-files.json lists services/shop/src/items/vat.ts, which is pure or not there',
    ])
  })

  it('needs no list when every file is pure', async () => {
    expect(await problemsOf(pureFiles, { [list]: undefined, 'services/shop/src/items/item-stock.ts': '' })).toEqual([])
  })
})

describe('clockAndEnvironment', () => {
  const item = 'services/shop/src/items/item.ts'

  it.each([
    ['process.env', 'export const port = process.env.PORT'],
    ['process.env', "import { env } from 'node:process'\nexport const port = env.PORT"],
    ['process.env', "import { env } from 'process'\nexport const port = env.PORT"],
    ['Date.now', 'export const now = Date.now()'],
    ['performance.timeOrigin', 'export const now = performance.timeOrigin + performance.now()'],
    ['Date.now', 'export const clock = Date.now'],
    ['new Date()', 'export const now = new Date()'],
  ])('refuses %s in %j', async (name, text) => {
    for (const path of [item, 'packages/database/src/connect.ts', 'migrations/shop/0001-create-items.ts']) {
      expect(await problemsOf(clockAndEnvironment, { [path]: `${text}\n` })).toEqual([
        `${path}:1 ${name} outside main.ts, deps.ts and config: take it as an argument`,
      ])
    }
  })

  it.each([
    'export const at = (time) => new Date(time)',
    'export const seen = [new Map(), new dates.Date()]',
    'export const kept = (kept) => [kept().env, kept.now]',
    'export const tookMs = (startMs) => performance.now() - startMs',
    "import { hrtime } from 'node:process'",
    "import { env } from 'node:processes'",
  ])('allows %j in a module', async (text) => {
    expect(await problemsOf(clockAndEnvironment, { [item]: `${text}\n` })).toEqual([])
  })

  it.each([
    'services/shop/src/main.ts',
    'services/shop/src/deps.ts',
    'services/shop/src/config.ts',
    'services/shop/src/config/mail.ts',
    'services/shop/src/items/item.test.ts',
    'packages/stack/src/stack.ts',
    'packages/testing/src/any-text.ts',
    'packages/endpoints/examples/a/server.ts',
    'packages/endpoints/scripts/b.ts',
  ])('allows them in %s', async (path) => {
    const text = 'export const now = [Date.now(), new Date(), process.env.NOW]\n'
    expect(await problemsOf(clockAndEnvironment, { [path]: text })).toEqual([])
  })
})
