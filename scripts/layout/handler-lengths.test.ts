import { expect, it } from 'vitest'
import { handlerLengths } from './handler-lengths.ts'
import { problemsOf } from './shop-tree.ts'

const route = 'services/shop/src/routes/carts.ts'
const controller = 'services/shop/src/controllers/carts.ts'
const body = (lines: number) => `{\n${'  item()\n'.repeat(lines)}}`
const refused = (path: string, lines: number, line = 1) =>
  `${path}:${line} the handler has ${lines} lines, more than 10: give what it decides to a use case`

it.each([
  [route, (lines: number) => `app.get('/carts', {}, async (request) => ${body(lines)})\n`],
  [route, (lines: number) => `app.post('/carts', async function () ${body(lines)})\n`],
  [route, (lines: number) => `export async function showCart(request, reply) ${body(lines)}\n`],
  [route, (lines: number) => `const showCart = async (_request, reply) => ${body(lines)}\n`],
  [route, (lines: number) => `export const showCart = async (req, rep) => ${body(lines)}\n`],
  [route, (lines: number) => `app.route({ url: '/carts', handler: async (asked) => ${body(lines)} })\n`],
  [route, (lines: number) => `app.get('/carts', { async handler() ${body(lines)} })\n`],
  [controller, (lines: number) => `export class Carts { async GET() ${body(lines)} }\n`],
])('refuses a handler of more than ten lines: %s %#', async (path, handlerOf) => {
  expect(await problemsOf(handlerLengths, { [path]: handlerOf(11) })).toEqual([refused(path, 11)])
  expect(await problemsOf(handlerLengths, { [path]: handlerOf(10) })).toEqual([])
})

it('counts the lines of an expression, at the line where the handler begins', async () => {
  const text = `app.get('/carts', {}, () =>\n  list([\n${'    1,\n'.repeat(9)}  ]))\n`
  expect(await problemsOf(handlerLengths, { [route]: `\n${text}` })).toEqual([refused(route, 11, 2)])
})

it('allows long functions that are no handlers, and long calls elsewhere', async () => {
  const helper = `function plan(link, query) ${body(20)}\nmap.set('a', () => ${body(20)})\n`
  expect(await problemsOf(handlerLengths, { [route]: helper })).toEqual([])
  const elsewhere = 'services/shop/src/plugins/carts.ts'
  expect(await problemsOf(handlerLengths, { [elsewhere]: `app.get('/a', () => ${body(20)})\n` })).toEqual([])
})
