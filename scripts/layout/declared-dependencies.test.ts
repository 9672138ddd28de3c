import { expect, it } from 'vitest'
import { declaredDependencies } from './declared-dependencies.ts'
import { problemsOf } from './shop-tree.ts'

const manifest = JSON.stringify({
  dependencies: { kysely: '1', '@trestle/database': '1' },
  devDependencies: { pg: '8', '@types/pg': '8' },
})
const path = 'services/shop/src/items/item-error.ts'

it.each([
  "import { sql } from 'kysely'",
  "import { connect } from '@trestle/database/connect.ts'",
  "import { join } from 'node:path'",
  "import type { Pool } from 'pg'",
  "import { item } from './item-view.ts'",
])('accepts %s', async (text) => {
  expect(await problemsOf(declaredDependencies, { 'services/shop/package.json': manifest, [path]: text })).toEqual([])
})

it('accepts a development dependency of a test', async () => {
  const files = {
    'services/shop/src/items/item.test.ts': "import pg from 'pg'",
    'services/shop/package.json': manifest,
  }
  expect(await problemsOf(declaredDependencies, files)).toEqual([])
})

it.each([
  ['pg', "import pg from 'pg'"],
  ['undici', "import { fetch } from 'undici/index.js'"],
  ['@fastify/cors', "export const cors = () => import('@fastify/cors')"],
])('refuses %s, which images do not install', async (name, text) => {
  expect(await problemsOf(declaredDependencies, { 'services/shop/package.json': manifest, [path]: text })).toEqual([
    `${path}:1 ${name} is no dependency of services/shop`,
  ])
})
