import { expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { useCaseNames } from './use-case-names.ts'

const useCase = 'services/shop/src/use-cases/pay-out.ts'
const refusal = `${useCase} exports no payOut: name the file after its act, or split it by its acts`

it.each([
  'export function payOut(): void {}\n',
  'export async function payOut(): Promise<void> {}\n',
  'export async function* payOut(): AsyncGenerator<string> {}\n',
  'export const payOut = (): void => {}\n',
  'async function payOut(): Promise<void> {}\nexport function startPayouts(): void { queue(payOut) }\n',
])('accepts a use case that has a function of the name of its file: %j', async (text) => {
  expect(await problemsOf(useCaseNames, { [useCase]: text })).toEqual([])
})

it.each([
  'export function payEveryone(): void {}\n',
  'export function payOutAll(): void {}\n',
  'function payOut(): void {}\nexport function payEveryone(): void { payOut() }\n',
  'export function startPayouts(): void {}\n',
])('refuses a use case whose name no function of it has: %j', async (text) => {
  expect(await problemsOf(useCaseNames, { [useCase]: text })).toEqual([refusal])
})

it('leaves tests and other folders alone', async () => {
  const text = 'export function payEveryone(): void {}\n'
  const files = { 'services/shop/src/use-cases/pay-out.test.ts': text, 'services/shop/src/items/pay-out.ts': text }
  expect(await problemsOf(useCaseNames, files)).toEqual([])
})
