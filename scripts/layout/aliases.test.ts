import { expect, it } from 'vitest'
import { aliases } from './aliases.ts'
import { problemsOf } from './shop-tree.ts'

const path = 'services/shop/src/items/item.ts'
const imports = "import * as other from './other.ts'\nimport { price, type Price } from './price.ts'\n"
const read = (text: string) => problemsOf(aliases, { [path]: `${imports}${text}\n` })

it.each([
  ['Input', 'export type Input = other.Input'],
  ['Cost', 'export type Cost = Price'],
  ['Cost', 'export interface Cost extends Price {}'],
  ['Cost', 'export interface Cost extends other.Cost {}'],
  ['cost', 'export const cost = price'],
  ['cost', 'export const cost = other.price'],
])('refuses %s of: %s', async (name, text) => {
  expect(await read(text)).toEqual([`${path}:3 ${name} only renames an import: import it where it is used`])
})

it.each([
  'type Cost = Price',
  'const cost = price',
  'export type Costs = readonly Price[]',
  'export type Cost = other.Cost<Price>',
  'export interface Cost extends Price { readonly tax: number }',
  'export const tax = price.tax',
  'export const tax: number = other.taxOf(price)',
  'export type Own = string\nexport type Same = Own',
])('allows a declaration that adds something, is not exported, or renames no import: %s', async (text) => {
  expect(await read(text)).toEqual([])
})
