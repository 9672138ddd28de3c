import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { mutations } from './mutations.ts'

const root = join(import.meta.dirname, '..')

it.each(mutations)('finds its place once: $breaks', ({ file, text, replacement, test }) => {
  const source = readFileSync(join(root, file), 'utf8')
  expect(source.split(text)).toHaveLength(2)
  expect(source.replace(text, replacement)).not.toBe(source)
  expect(existsSync(join(root, test))).toBe(true)
})

it.each(['auth', 'payments', 'inventory'])('breaks three rules of %s', (service) => {
  expect(mutations.filter(({ test }) => test.startsWith(`services/${service}/`))).toHaveLength(3)
})
