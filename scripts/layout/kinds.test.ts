import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isOfKind, KINDS } from './kinds.ts'

it.each([
  'services/shop/src/routes',
  'services/shop/src/controllers/items.ts',
  'services/shop/src/use-cases/list-items.ts',
  'services/shop/src/oauth/providers/github.ts',
  'services/shop/src/sms/gateways/twilio/send.ts',
  'services/shop/src/config/mail.ts',
  'services/shop/src/commands/seed.ts',
])('is of a kind: %s', (path) => {
  expect(isOfKind(path)).toBe(true)
})

it.each([
  'services/shop/src/items/item.ts',
  'services/shop/src/jobs-of-items/item.ts',
  'services/shop/src/config.ts',
  'services/routes/src/items/item.ts',
  'services/shop/test/routes/items.ts',
  'scripts/commands/seed.ts',
  'services/shop/src/pages/languages/de.ts',
])('is of no kind: %s', (path) => {
  expect(isOfKind(path)).toBe(false)
})

it('is named by CONTRIBUTING, folder by folder', () => {
  const contributing = readFileSync(join(import.meta.dirname, '../../CONTRIBUTING.md'), 'utf8')
  const sentence = /Both rules leave the folders alone [^.]*\./.exec(contributing)?.[0] ?? ''
  expect([...sentence.matchAll(/`([a-z-]+)\/`/g)].map(([, name]) => name)).toEqual(KINDS)
})
