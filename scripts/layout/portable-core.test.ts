import { expect, it } from 'vitest'
import { portableCore } from './portable-core.ts'
import { problemsOf } from './shop-tree.ts'

const core = 'packages/endpoints/src/core.ts'

it.each([
  ["import { readFileSync } from 'node:fs'", 'node:fs'],
  ["import Fastify from 'fastify'", 'fastify'],
  ["export { sync } from 'zod-like'", 'zod-like'],
  ["export { parse } from 'acorn'\nimport { make } from 'multipasta'\nimport { z } from 'zod'", undefined],
  ["import './other.ts'", undefined],
  ["import type { FastifyInstance } from 'fastify'\nexport type { Server } from 'node:http'", undefined],
  ['export const load = (url) => import(url)', undefined],
])('refuses in %j the import of %s', async (text, specifier) => {
  const message = 'the core of the framework imports zod, acorn, leven and multipasta alone'
  const problems = specifier === undefined ? [] : [`${core}:1 ${message} (${specifier})`]
  expect(await problemsOf(portableCore, { [core]: `${text}\n` })).toEqual(problems)
})

it.each(['src/main.ts', 'src/cli/watch.ts', 'src/core.test.ts', 'examples/a/server.ts', 'scripts/b.ts'])(
  'leaves %s alone',
  async (file) => {
    const text = "import { readFileSync } from 'node:fs'\nexport const read = readFileSync\n"
    expect(await problemsOf(portableCore, { [`packages/endpoints/${file}`]: text })).toEqual([])
  },
)
