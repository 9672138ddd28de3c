import { describe, expect, it } from 'vitest'
import { booleanChoices } from './boolean-choices.ts'
import { problemsOf } from './shop-tree.ts'

const path = 'services/shop/src/items/item.ts'
const refused = (name: string, flag: string) =>
  `${path}:1 ${name} chooses by the boolean ${flag}: take a named member or words, or make two functions`

describe('booleans by position', () => {
  it.each([
    ['a condition', 'export function price(isNet: boolean) {\n  if (!isNet) return 2\n  return 1\n}'],
    ['a choice of values', 'export const price = (isNet: boolean) => (isNet ? 1 : 2)'],
    ['a private function', 'const price = function (isNet: boolean) {\n  return isNet ? 1 : 2\n}'],
    ['a later parameter', 'function price(item: Item, isNet: boolean) {\n  return isNet && item\n}'],
    ['a condition of several parts', 'function price(isNet: boolean) {\n  return DAY > 1 && isNet ? 1 : 2\n}'],
    ['a loop', 'function price(isNet: boolean) {\n  while (isNet) pay()\n}'],
    ['a boolean that may be missing', 'function price(isNet: boolean | undefined) {\n  return isNet ?? 1\n}'],
    ['a boolean that is optional', 'function price(isNet?: boolean) {\n  return isNet ? 1 : 2\n}'],
    ['the word true', 'function price(isNet: true | null) {\n  return isNet ? 1 : 2\n}'],
    ['a default', 'function price(isNet = false) {\n  return isNet ? 1 : 2\n}'],
  ])('are refused where a function chooses by them: %s', async (_what, text) => {
    expect(await problemsOf(booleanChoices, { [path]: text })).toEqual([refused('price', 'isNet')])
  })

  it('are refused in methods', async () => {
    const text = 'class Till { ring(isLoud: boolean) { if (isLoud) shout() } }'
    expect(await problemsOf(booleanChoices, { [path]: text })).toEqual([refused('ring', 'isLoud')])
  })

  it.each([
    ['that are stored', 'export const setNet = (db: Db, isNet: boolean) => update(db, { isNet })'],
    ['that are members', 'export const price = ({ isNet }: { readonly isNet: boolean }) => (isNet ? 1 : 2)'],
    ['of an assertion', 'function requireNet(isNet: boolean): asserts isNet {\n  if (!isNet) throw none()\n}'],
    ['of an argument', 'items.map((isNet: boolean) => (isNet ? 1 : 2))'],
    ['beside other types', 'function price(tax: boolean | Tax) {\n  return tax ? 1 : 2\n}'],
    [
      'that another function chooses by',
      'const store = (isNet: boolean) => isNet\nconst price = () => (isNet ? 1 : 2)',
    ],
  ])('are allowed %s', async (_what, text) => {
    expect(await problemsOf(booleanChoices, { [path]: text })).toEqual([])
  })

  it('are allowed in tests', async () => {
    const text = 'const price = (isNet: boolean) => (isNet ? 1 : 2)'
    expect(await problemsOf(booleanChoices, { 'services/shop/test/orders.ts': text })).toEqual([])
  })
})
