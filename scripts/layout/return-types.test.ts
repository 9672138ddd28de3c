import { describe, expect, it } from 'vitest'
import { returnTypes } from './return-types.ts'
import { problemsOf } from './shop-tree.ts'

const path = 'services/shop/src/items/item.ts'
/** Only this item, without the shop's other functions, which have no return types. */
const onlyItem = (text: string) => ({
  'services/shop/src/routes/items.ts': '',
  'services/shop/src/items/item-view.ts': '',
  'packages/database/src/connect.ts': '',
  [path]: `${text}\n`,
})

describe('return types of exported functions', () => {
  it.each(['bench/src/shop.ts', 'scripts/prices.ts'])('refuses them in %s', async (file) => {
    const files = { ...onlyItem(''), [file]: 'export const price = () => 1n\n' }
    expect(await problemsOf(returnTypes, files)).toEqual([
      `${file}:1 exports price without a return type: name what it returns`,
    ])
  })

  it.each([
    'export function price() {}',
    'export async function price() {}',
    'export const price = () => 1n',
    'export const price = function () {}',
    'export function price(a: 1)\nexport function price(a: 1): bigint {\n  return 1n\n}',
  ])('refuses %j', async (text) => {
    expect(await problemsOf(returnTypes, onlyItem(text))).toEqual([
      `${path}:1 exports price without a return type: name what it returns`,
    ])
  })

  it.each([
    'export function price(): bigint {\n  return 1n\n}',
    'export const price = (): bigint => 1n',
    'export const price: () => bigint = () => 1n',
    'export const PRICE = 1n',
    'export interface Price {}',
    'function price() {}',
    'const price = () => 1n',
  ])('allows %j', async (text) => {
    expect(await problemsOf(returnTypes, onlyItem(text))).toEqual([])
  })

  it.each([
    'services/shop/src/items/item.test.ts',
    'services/shop/test/orders.ts',
    'migrations/shop/0002-create-orders.ts',
  ])('allows functions of %s without a return type', async (exempt) => {
    expect(await problemsOf(returnTypes, { ...onlyItem(''), [exempt]: 'export const price = () => 1n\n' })).toEqual([])
  })
})
