import { expect, it } from 'vitest'
import { pureFiles } from './pure-files.ts'
import { type Files, problemsOf } from './test/shop-tree.ts'

const price = 'services/shop/src/items/price.ts'
const vat = 'services/shop/src/items/vat.ts'
const list = { 'scripts/layout/pure-files.json': '{ "money": ["services/shop/src/items/{price,vat}.ts"] }' }

async function judge(files: Files): Promise<readonly string[]> {
  return problemsOf(pureFiles, { ...list, [price]: '', [vat]: '', ...files })
}

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
])('refuses %s in a pure file, its types too', async (specifier) => {
  expect(await judge({ [price]: `import { a } from '${specifier}'\n` })).toEqual([
    `${price} is pure, but reaches ${specifier}`,
  ])
  expect(await judge({ [price]: `import type { A } from '${specifier}'\n` })).toEqual([
    `${price} is pure, but reaches ${specifier}`,
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
  expect(await judge({ [price]: `${text}\n` })).toEqual([`${price} is pure, but reaches node:crypto`])
})

it.each([
  "import { createHash, createHmac, timingSafeEqual } from 'node:crypto'",
  "import { z } from 'zod'",
  "import { isDeepStrictEqual } from 'node:util'",
  "import { pgLike } from 'pglike'",
  "import { error } from '../errors.ts'",
])('allows %s', async (text) => {
  expect(await judge({ [price]: `${text}\n`, 'services/shop/src/errors.ts': "import { z } from 'zod'\n" })).toEqual([])
})

it('refuses what a pure file reaches through others, and names the shortest way', async () => {
  const files = {
    [price]: "import { vat } from './rate.ts'\n",
    'services/shop/src/items/rate.ts': "import { connect } from '@trestle/database/connect.ts'\n",
    'packages/database/src/connect.ts': "import { Pool } from 'pg'\n",
  }
  expect(await judge(files)).toEqual([
    `${price} is pure, but reaches services/shop/src/items/rate.ts → packages/database/src/connect.ts → pg`,
  ])
})

it('allows types of files that reach outside', async () => {
  const files = {
    [price]: "import type { Rate } from './rate.ts'\n",
    'services/shop/src/items/rate.ts': "import { sql } from 'kysely'\n",
  }
  expect(await judge(files)).toEqual([])
})

it('reads a glob without alternatives', async () => {
  const files = {
    'scripts/layout/pure-files.json': '{ "money": ["services/shop/src/items/p*.ts"] }',
    [price]: "import 'pg'\n",
    [vat]: "import 'pg'\n",
  }
  expect(await judge(files)).toEqual([`${price} is pure, but reaches pg`])
})

it('judges every listed file, and no other', async () => {
  const files = {
    [vat]: "import 'pg'\n",
    'services/shop/src/items/rate.ts': "import 'pg'\n",
    'services/shop/src/items/price.test.ts': "import 'pg'\n",
  }
  expect(await judge(files)).toEqual(['services/shop/src/items/vat.ts is pure, but reaches pg'])
})

it('refuses an entry that names no file', async () => {
  expect(await judge({ [vat]: undefined })).toEqual([
    'scripts/layout/pure-files.json lists services/shop/src/items/vat.ts, which is not there',
  ])
})

it('accepts every file when there is no list', async () => {
  expect(await problemsOf(pureFiles, { [price]: "import 'pg'\n" })).toEqual([])
})
