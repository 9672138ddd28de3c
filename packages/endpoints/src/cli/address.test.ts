import { expect, it } from 'vitest'
import { formatAddress, parseAddress } from './address.ts'

it.each([
  ['', '127.0.0.1:8000'],
  ['localhost:8000', 'localhost:8000'],
  ['localhost', 'localhost:8000'],
  [':80', '127.0.0.1:80'],
  ['80', '127.0.0.1:80'],
  ['0', '127.0.0.1:0'],
  ['[::1]:80', '[::1]:80'],
  ['[::]', '[::]:8000'],
  ['0.0.0.0:65535', '0.0.0.0:65535'],
])('reads "%s" as the address %s, with the usual parts', (text, expected) => {
  const address = parseAddress(text)
  expect(address && formatAddress(address)).toBe(expected)
})

it.each([['a:b'], [':65536'], ['::1'], ['[::1'], ['a b'], ['a:1:2'], ['65536']])('refuses "%s"', (text) => {
  expect(parseAddress(text)).toBeUndefined()
})
