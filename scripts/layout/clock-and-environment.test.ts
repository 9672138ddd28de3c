import { expect, it } from 'vitest'
import { clockAndEnvironment } from './clock-and-environment.ts'
import { problemsOf } from './shop-tree.ts'

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
])('allows %j in a noun', async (text) => {
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
