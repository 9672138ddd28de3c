import { describe, expect, it } from 'vitest'
import { namedErrors } from './named-errors.ts'
import { problemsOf } from './shop-tree.ts'

const path = 'services/shop/src/items/item.ts'
const IMPORT = "import { itemGone, itemSold } from '../item-errors.ts'\n"
const refused = (name: string, line = 2) => `${path}:${line} buy throws ${name}, which its @throws does not name`

describe('the errors of exported functions', () => {
  it.each([
    ['export function buy() {\n  throw itemGone()\n}', [refused('itemGone')]],
    ['export const buy = () => {\n  throw itemGone()\n}', [refused('itemGone')]],
    ['/** @throws itemSold */\nexport function buy() {\n  throw itemGone()\n}', [refused('itemGone', 3)]],
    ['export function buy(a) {\n  throw a ? itemGone() : itemSold()\n}', [refused('itemGone'), refused('itemSold')]],
    ['export function buy() {\n  check()\n}\nfunction check() {\n  throw itemGone()\n}', [refused('itemGone')]],
    [
      'export function buy(a) {\n  throw errors[a]()\n}\nconst errors = { gone: itemGone, sold: itemSold }',
      [refused('itemGone'), refused('itemSold')],
    ],
    [
      '/** Buys. */\nexport function buy() {\n  throw new Error()\n}',
      [`${path}:3 buy throws Error, and its docstring has no @throws`],
    ],
    [
      '/** Buys. @throws sold_out */\nfunction buy() {}',
      [`${path}:2 @throws sold_out is no name of an error: name the error of the catalogue`],
    ],
    [
      '/** Buys. @throws 409 when sold */\nfunction buy() {}',
      [`${path}:2 @throws 409 is no name of an error: name the error of the catalogue`],
    ],
  ])('refuses %j', async (text, problems) => {
    expect(await problemsOf(namedErrors, { [path]: `${IMPORT}${text}\n` })).toEqual(problems)
  })

  it.each([
    '/** @throws itemGone */\nexport function buy() {\n  throw itemGone()\n}',
    '/** @throws itemSold, itemGone when nothing is left */\nexport function buy(a) {\n  throw a ? itemGone() : itemSold()\n}',
    'function buy() {\n  throw itemGone()\n}',
    'export function buy(run) {\n  return run(() => {\n    throw itemGone()\n  })\n}',
    'export function buy() {\n  try {\n    throw itemGone()\n  } catch {}\n}',
    'export function buy() {\n  return itemGone()\n}',
    '/** @throws Error, never itemGone */\nexport function buy() {\n  throw new Error(itemGone())\n}',
    '/** @throws the violation of ITEMS_KEY, or of `items_key` */\nexport function buy() {}',
  ])('allows %j', async (text) => {
    expect(await problemsOf(namedErrors, { [path]: `${IMPORT}${text}\n` })).toEqual([])
  })

  it('allows a route, whose schema lists its errors', async () => {
    const text = `${IMPORT}export function buy() {\n  throw itemGone()\n}\n`
    expect(await problemsOf(namedErrors, { 'services/shop/src/routes/items.ts': text })).toEqual([])
  })
})
