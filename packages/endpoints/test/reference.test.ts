import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Application } from '../src/endpoints.ts'
import { framework, moduleFolder } from './start.ts'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const examplesOf = (text: string, language: string) =>
  [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter((found) => found[1] === language).map(([, , code = '']) => code)

const reference = read('../../../docs/reference/endpoints.md')
const [firstRun = '', declared = '', several = '', controllerClass = '', ...others] = examplesOf(reference, 'ts')

/** The imports that the examples of declared handlers omit. */
const preamble = `
import { type Args, accepts, Controller, p } from ${JSON.stringify(framework)}
import { z } from "${import.meta.resolve('zod')}"
const Product = z.object({ id: z.int().optional(), limit: z.int(), tags: z.array(z.string()).optional() })
const list = ({ limit }) => ({ limit })
const find = (id) => ({ id })
`

let folder: ReturnType<typeof moduleFolder>
let app: Application
beforeAll(async () => {
  folder = moduleFolder({
    'declared.ts': preamble + declared.replace('/* typed */', 'return [{ id, limit, tags }]'),
    'several.ts': `${preamble}export class Default extends Controller {\n${several.replace(
      '{ … }',
      '{ keywords: z.object({ limit: p.int().default(2) }) }',
    )}}\n`,
  })
  app = new Application({ controllerPrefix: folder.path, strict: true })
  await app.ready()
})
afterAll(() => folder[Symbol.dispose]())

async function answer(path: string): Promise<unknown> {
  const response = await app.inject({ method: 'GET', path })
  return [response.status, await response.json()]
}

it('every example is tested', () => expect(others).toEqual([]))

it('the quick start is that of the README, which its own test runs', () => {
  expect(firstRun).toBe(examplesOf(read('../README.md'), 'ts')[0])
})

it('the declared handler gets converted values, with defaults and without an optional positional', async () => {
  expect(await answer('/declared/7?limit=2&tags=red,blue')).toEqual([200, [{ id: 7, limit: 2, tags: ['red', 'blue'] }]])
  expect(await answer('/declared')).toEqual([200, [{ limit: 50 }]])
})

it('the handler with two declarations takes either number of positionals', async () => {
  expect(await answer('/several')).toEqual([200, { limit: 2 }])
  expect(await answer('/several/3')).toEqual([200, { id: 3 }])
})

it('the class has the members of its source', () => {
  const membersOf = (text: string) =>
    text
      .split('\n')
      .filter((line) => /^ {2}(?!constructor|private )[a-z]/.test(line))
      .map((line) =>
        line
          .trim()
          .replace(/^declare /, '')
          .replace(/;| \{.*$/, ''),
      )
      .sort()
  expect(membersOf(controllerClass)).toEqual(membersOf(read('../src/controller.ts')))
})

it('404: an unknown URL is answered with the envelope of the example', async () => {
  expect(await answer('/nowhere')).toEqual([404, JSON.parse(examplesOf(reference, 'json')[0] ?? '')])
})
