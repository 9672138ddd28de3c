import { readFileSync } from 'node:fs'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import { portOf } from '@trestle/testing/free-port.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { InventoryDeps } from '../../src/deps.ts'
import * as errors from '../../src/errors.ts'
import { buildOpenApi } from '../../src/openapi.ts'
import { anySeconds, jsonHeaders, withoutConnection } from '../bodies.ts'
import { startInventory, startReplica, type TestInventory, type TestReplica } from '../inventory-app.ts'
import { stockRequests } from '../stock-requests.ts'
import { connectionErrors } from './connection-errors.ts'
import type { ErrorCase, World } from './error-case.ts'
import { fileErrors } from './file-errors.ts'
import { recordErrors } from './record-errors.ts'
import { sharedErrors } from './shared-errors.ts'
import { stockErrors } from './stock-errors.ts'
import { valueErrors } from './value-errors.ts'

// Nothing throws the texts of a report.
const { RECORD_TEXTS: _ofRecords, IMPORT_TEXTS: _ofImports, ...catalogue } = errors
const tables = [sharedErrors, recordErrors, stockErrors, fileErrors, valueErrors, connectionErrors]
const names = Object.keys(catalogue) as (keyof typeof catalogue)[]
const makers = new Map<string, unknown>(Object.entries(catalogue))
const casesOf = (name: keyof typeof catalogue): readonly ErrorCase[] => tables.flatMap((table) => table[name] ?? [])

/** The error of a case: its own, or that of the catalogue. */
function expectedOf(name: keyof typeof catalogue, { expected }: ErrorCase): HttpError {
  if (expected !== undefined) return expected
  const make = makers.get(name)
  const made: unknown = typeof make === 'function' ? make() : undefined
  if (made instanceof HttpError) return made
  throw new Error(`the cases of ${name} must say which error they expect`)
}

/** The errors that the cases raise, by their operations. */
function raisedAnswers(membersOf: (error: HttpError) => readonly unknown[]): readonly string[] {
  const raised = names.flatMap((name) =>
    casesOf(name).flatMap((one) =>
      one.operation === undefined ? [] : [[one.operation, ...membersOf(expectedOf(name, one))].join(' ')],
    ),
  )
  return [...new Set(raised)].sort()
}

const Answer = z.looseObject({ $ref: z.string().optional(), content: z.unknown().optional() })
const Operation = z.looseObject({ responses: z.record(z.string(), Answer) })
const { paths, components } = z
  .looseObject({
    paths: z.record(z.string(), z.record(z.string(), Operation)),
    components: z.looseObject({ responses: z.record(z.string(), Answer) }),
  })
  .parse(await buildOpenApi())
const Failure = z.looseObject({
  'application/json': z.looseObject({ example: z.looseObject({ error: z.looseObject({ type: z.string() }) }) }),
})

/** The errors that the document gives as examples, by their operations. */
function documentedAnswers(membersOf: (status: number, type: string) => readonly unknown[]): readonly string[] {
  const documented = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { responses }]) =>
      Object.entries(responses)
        .filter(([status]) => Number(status) >= 400)
        .map(([status, { $ref = '', content }]) => {
          const shared = components.responses[$ref.replace('#/components/responses/', '')]
          const { example } = Failure.parse(shared?.content ?? content)['application/json']
          return [method, path, ...membersOf(Number(status), example.error.type)].join(' ')
        }),
    ),
  )
  return documented.sort()
}

let inventory: TestInventory
const replicas = new Map<string, Promise<TestReplica>>()
const ports = new Map<TestReplica, Promise<number>>()
const ids = new Map<Partial<InventoryDeps>[keyof InventoryDeps], number>()

/** Services with the same settings and the same replacements are one. */
function keyOf(settings: object, instead: Partial<InventoryDeps>): string {
  const replaced = Object.entries(instead).map(([name, value]) => {
    if (name === 'timeouts' || name === 'exports' || name === 'imports') return name
    ids.set(value, ids.get(value) ?? ids.size)
    return `${name} ${ids.get(value)}`
  })
  return JSON.stringify([settings, replaced])
}

const world: World = {
  service: (settings = {}, instead = {}) => {
    const key = keyOf(settings, instead)
    const replica = replicas.get(key) ?? startReplica(inventory.databaseUrl, settings, instead)
    replicas.set(key, replica)
    return replica
  },
  stock: async () => stockRequests(await world.service()),
  listen: (service) => {
    const port =
      ports.get(service) ?? service.app.listen({ host: '127.0.0.1', port: 0 }).then(() => portOf(service.app.server))
    ports.set(service, port)
    return port
  },
  query: (text, values) => inventory.query(text, values),
  databaseUrl: () => inventory.databaseUrl,
}

beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(async () => {
  for (const replica of replicas.values()) await (await replica).close()
  await inventory?.close()
})

it('has a case for every error of the catalogue', () => {
  const raised = names.filter((name) => casesOf(name).length > 0)
  expect([...raised].sort()).toEqual([...names].sort())
})

const reference = readFileSync(new URL('../../../../docs/reference/inventory.md', import.meta.url), 'utf8')

it('names every code of the catalogue in the reference', () => {
  const codes = [...makers.values()].flatMap((make) =>
    typeof make === 'function' && 'code' in make ? [String(make.code)] : [],
  )
  expect(codes.filter((code) => !reference.includes(`\`${code}\``))).toEqual([])
})

it('names every text of the catalogue without values in the reference', () => {
  const texts = [...makers.values()].flatMap((make) =>
    typeof make === 'function' && 'message' in make ? [String(make.message)] : [],
  )
  expect(texts.filter((text) => !reference.includes(`\`${text}\``))).toEqual([])
})

it('has a case for every error status that an operation documents, and no other', () => {
  expect(raisedAnswers(({ status }) => [status])).toEqual(documentedAnswers((status) => [status]))
})

it('has a case for the very error that an operation documents as the example of a status', () => {
  const raised = new Set(raisedAnswers(({ status, code }) => [status, code]))
  const documented = documentedAnswers((status, type) => [status, type])
  expect(documented.filter((answer) => !raised.has(answer))).toEqual([])
})

describe.each(names.filter((name) => casesOf(name).length > 0))('the error %s', (name) => {
  const cases = casesOf(name).map((one) => {
    const { status, code, message, details, headers } = expectedOf(name, one)
    return { operation: one.operation ?? 'no operation', status, code, message, details, headers, raise: one.raise }
  })
  it.concurrent.each(cases)(
    '$status: answers $code from $operation: $message',
    async ({ status, code, message, details, headers, raise }) => {
      const answer = await raise(world)
      expect([answer.status, JSON.parse(answer.body)]).toEqual([
        status,
        { statusCode: status, error: { type: code, description: message, ...details } },
      ])
      const lowerCase = Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]))
      expect(withoutConnection(answer.headers)).toEqual(
        jsonHeaders({ 'retry-after': status === 429 || status === 503 ? anySeconds : undefined, ...lowerCase }),
      )
    },
    60_000,
  )
})
