import { expect, it } from 'vitest'
import { loneImplementations } from './lone-implementations.ts'
import { problemsOf } from './shop-tree.ts'

const path = 'services/shop/src/items/till.ts'
const till = 'export interface Till {\n  ring(): void\n}\n'

it('refuses an interface of ours with one class', async () => {
  const one = 'export class RealTill implements Till {\n  ring() {}\n}\n'
  expect(await problemsOf(loneImplementations, { [path]: till + one })).toEqual([
    `${path}:4 is the only class that implements Till: use the class as the type`,
  ])
})

it('allows two classes, in whatever files', async () => {
  const other = { 'services/shop/test/tills.ts': 'export class TestTill implements Till {}\n' }
  expect(
    await problemsOf(loneImplementations, { [path]: `${till}class RealTill implements Till {}\n`, ...other }),
  ).toEqual([])
})

it('allows an interface of a library or of the language', async () => {
  const text = "import type { Plugin } from 'kysely'\nexport class Prefix implements Plugin, AsyncIterable<string> {}\n"
  expect(await problemsOf(loneImplementations, { [path]: text })).toEqual([])
})
