import { expect, it } from 'vitest'
import { momentNames } from './moment-names.ts'
import { problemsOf } from './shop-tree.ts'

const cart = 'services/shop/src/carts/cart.ts'

it.each([
  ['a reading of the monotonic clock', 'const started = performance.now()', 'started'],
  ['a reading of the wall clock', 'let sequence = Date.now()', 'sequence'],
  ['the time of a date', 'const now = clock().getTime()', 'now'],
  ['a moment later than that', 'const deadline = performance.now() + timeoutMs', 'deadline'],
  ['a moment earlier than that', 'const since = now.getTime() - freshForMs', 'since'],
  ['the time since a moment', 'const elapsed = performance.now() - startMs', 'elapsed'],
])('refuses a name without its unit for %s', async (_, text, name) => {
  expect(await problemsOf(momentNames, { [cart]: `\n${text}\n` })).toEqual([
    `${cart}:2 ${name} is a number of milliseconds: end its name in Ms`,
  ])
})

it('allows names with their unit, dates, and what is computed from a moment', async () => {
  const text = [
    'const startMs = performance.now()',
    'const ms = performance.now() - startMs',
    'const DEADLINE_MS = Date.now() + 5',
    'const created = new Date(now.getTime() + 1)',
    'const seconds = performance.now() / 1_000',
    'const isLate = now.getTime() > untilMs',
    'const now = config.now()',
  ]
  expect(await problemsOf(momentNames, { [cart]: text.join('\n') })).toEqual([])
})

it('leaves tests alone', async () => {
  const text = 'const started = performance.now()'
  expect(await problemsOf(momentNames, { 'services/shop/src/carts/cart.test.ts': text })).toEqual([])
})
