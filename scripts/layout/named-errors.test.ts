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

  const callee = '/** Checks. @throws itemGone when nothing is left */\nexport function check() {}\n'
  const CALL = "import { check } from './check.ts'\n/** Buys. */\n"
  const withCheck = (text: string, doc = callee) => ({
    [path]: `${text}\n`,
    'services/shop/src/items/check.ts': doc,
    'services/shop/src/item-errors.ts': 'export const itemGone = 1\nexport const itemSold = 2\n',
  })

  it.each([
    [withCheck(`${CALL}export function buy() {\n  check()\n}`), 3],
    [withCheck(`${CALL}export const buy = () => check()`), 3],
    [withCheck(`${CALL}export function buy() {\n  pay()\n}\nfunction pay() {\n  check()\n}`), 3],
    [withCheck(`${CALL.replace('Buys.', '@throws itemSold')}export const buy = () => check()`), 3],
    [{ ...withCheck(''), [path]: `${callee}/** Buys. */\nexport function buy() {\n  check()\n}\n` }, 4],
  ])('refuses to pass on silently what a called function throws: %j', async (files, line) => {
    expect(await problemsOf(namedErrors, files)).toEqual([
      `${path}:${line} buy calls check, which throws itemGone: its @throws names neither`,
    ])
  })

  it.each([
    withCheck(
      "import { check } from './check.ts'\n/** @throws what `check` throws */\nexport const buy = () => check()",
    ),
    withCheck(`${CALL.replace('Buys.', '@throws itemGone')}export const buy = () => check()`),
    withCheck(`${CALL}export function buy() {\n  try {\n    check()\n  } catch {}\n}`),
    withCheck(`${CALL}export const buy = () => check().catch(ignore)`),
    withCheck(`${CALL}export const buy = (run) => run(() => check())`),
    withCheck(`${CALL}export const buy = () => check.name()`),
    withCheck(`${CALL}const pay = () => check()`),
    withCheck(`${CALL}export const buy = () => check()`, callee.replace('itemGone', 'Error')),
  ])('allows a call whose errors are caught, named or no part of a catalogue: %j', async (files) => {
    expect(await problemsOf(namedErrors, files)).toEqual([])
  })

  it('refuses to pass on silently a class of ours', async () => {
    const files = withCheck(`${CALL}export const buy = () => check()`, callee.replace('itemGone', 'ItemGone'))
    expect(await problemsOf(namedErrors, files)).toEqual([
      `${path}:3 buy calls check, which throws ItemGone: its @throws names neither`,
    ])
  })

  it('allows a route, whose schema lists its errors', async () => {
    const text = `${IMPORT}export function buy() {\n  throw itemGone()\n}\n`
    expect(await problemsOf(namedErrors, { 'services/shop/src/routes/items.ts': text })).toEqual([])
  })
})
