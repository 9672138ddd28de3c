import { expect, it } from 'vitest'
import { namedFirst } from './named-first.ts'
import { problemsOf } from './shop-tree.ts'

const useCase = 'services/shop/src/use-cases/pay-out.ts'
const act = 'export async function payOut() {}'

it.each([
  ['a private function', 'function readBalance() {}', 'readBalance'],
  ['an exported function', 'export function isPayable() {}', 'isPayable'],
  ['a constant that is a function', 'const toMoney = (amount) => amount', 'toMoney'],
])('refuses a file whose function stands below %s', async (_, helper, name) => {
  expect(await problemsOf(namedFirst, { [useCase]: `${helper}\n\n${act}\n` })).toEqual([
    `${useCase}:3 payOut stands below ${name}: the function that a file is named after comes first`,
  ])
})

it('refuses a use case whose private act stands below another function', async () => {
  const text = 'export function startPayouts() {}\nasync function payOut() {}\n'
  expect(await problemsOf(namedFirst, { [useCase]: text })).toEqual([
    `${useCase}:2 payOut stands below startPayouts: the function that a file is named after comes first`,
  ])
})

it('allows types, values and calls above the function, and helpers below it', async () => {
  const text = `interface Input {}\nconst LIMIT = 10\nconst query = prepare('pay_out', () => 1)\n${act}\nfunction readBalance() {}\n`
  expect(await problemsOf(namedFirst, { [useCase]: text })).toEqual([])
})

it('leaves tests alone, and files that are named after no exported function', async () => {
  const text = 'export function helper() {}\nexport function payOut() {}\n'
  const files = {
    'services/shop/src/use-cases/pay-out.test.ts': text,
    'services/shop/src/items/prices.ts': text,
    'services/shop/src/commands/helper.ts': 'export function helperCommand() {}\nfunction helper() {}\n',
  }
  expect(await problemsOf(namedFirst, files)).toEqual([])
})
